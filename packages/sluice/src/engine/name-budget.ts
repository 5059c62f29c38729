/**
 * The name budget: how many bytes the names of keys may take together, whatever clients call themselves.
 *
 * A slot has a fixed size, but the name that a layer needs of its key (ledger.ts) may take from 200 bytes to 6 KB. The budget is a share
 * for every slot of the table. A name that takes more than its share is large, and when the budget is used up, only keys with large names
 * are evicted for it (eviction.ts): all names that are not large always fit. So long identifiers cannot push out short ones.
 *
 * Invariant: `bytes` exceeds `bytesMax` by less than one name. If large names are pinned and nothing may go, new keys get no slot until
 * the origin has confirmed their counts: `whenFull` decides.
 */
import type { Slot } from "../core/brands.ts";
import type { Key } from "./key.ts";
import { SlotSet } from "./slot-set.ts";

/**
 * Bytes of a name without its texts, measured on 64-bit V8: the two objects, the identifier's header, a writer id of its own (after every
 * eviction there is a new one), the place in the array.
 */
const FIXED_BYTES = 208;

/** Bytes for every slot of the table: 112 of them for the texts of the key. */
export const NAME_SHARE_BYTES = 320;

export class NameBudget {
  readonly bytesMax: number;
  /** What all names take now. Texts that several names share count for each of them, so it may be less. */
  bytes = 0;
  /** Slots whose names are large. The order changes as they are considered for eviction. */
  readonly large: SlotSet;

  constructor(capacity: number) {
    this.bytesMax = capacity * NAME_SHARE_BYTES;
    this.large = new SlotSet(capacity);
  }

  get hasRoom(): boolean {
    return this.bytes < this.bytesMax;
  }

  add(slot: Slot, bytes: number): void {
    this.bytes += bytes;
    if (bytes > NAME_SHARE_BYTES) this.large.add(slot);
  }

  remove(slot: Slot, bytes: number): void {
    this.bytes -= bytes;
    this.large.delete(slot);
  }
}

/** What the name of a key takes. */
export function nameBytes({ workspace, namespace, identifier }: Omit<Key, "durationMs">): number {
  return FIXED_BYTES + textBytes(workspace) + textBytes(namespace) + textBytes(identifier);
}

/** What a text takes on the heap, beside its header: two bytes per unit if any unit needs them. */
export function textBytes(text: string): number {
  const { length } = text;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 0xff) return 2 * length;
  return length;
}
