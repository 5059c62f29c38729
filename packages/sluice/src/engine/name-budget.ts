/**
 * The name budget: how many bytes the names of keys may take together, whatever clients call themselves.
 *
 * A slot has a fixed size, but the name that a layer needs of its key (ledger.ts) may take from 200 bytes to 6 KB. The budget is a share
 * for every slot of the table. A name that takes more than its share is large, and only keys with large names are evicted for the sake of
 * names (eviction.ts). So long identifiers cannot push out short ones.
 *
 * What large names take beyond their shares has a maximum of its own, a quarter of the budget. Large names may all be pinned, for as long as the
 * origin is away; names that are not large still have the other three quarters, which is the whole table for names of 240 bytes.
 *
 * Invariant: `bytes` exceeds `bytesMax`, and `excess` exceeds `excessMax`, by less than one name. If large names are pinned and nothing may
 * go, a key without room gets no slot until the origin has confirmed some counts: `whenFull` decides.
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

/** The part of the budget that large names may use beyond their shares: 80 bytes for every slot. */
export const EXCESS_PART: number = 1 / 4;

export class NameBudget {
  readonly bytesMax: number;
  /** What all names take now. Texts that several names share count for each of them, so it may be less. */
  bytes = 0;
  readonly excessMax: number;
  /** What large names take beyond their shares. */
  excess = 0;
  /** Slots whose names are large. The order changes as they are considered for eviction. */
  readonly large: SlotSet;

  constructor(capacity: number) {
    this.bytesMax = capacity * NAME_SHARE_BYTES;
    this.excessMax = this.bytesMax * EXCESS_PART;
    this.large = new SlotSet(capacity);
  }

  /** Whether a name with this excess finds room without an eviction. */
  hasRoom(excess: number): boolean {
    return this.bytes < this.bytesMax && (excess === 0 || this.excess < this.excessMax);
  }

  /** What names may still take: negative by less than one name. */
  get free(): { readonly bytes: number; readonly excess: number } {
    return { bytes: this.bytesMax - this.bytes, excess: this.excessMax - this.excess };
  }

  add(slot: Slot, bytes: number): void {
    this.bytes += bytes;
    this.excess += excessOf(bytes);
    if (bytes > NAME_SHARE_BYTES) this.large.add(slot);
  }

  remove(slot: Slot, bytes: number): void {
    this.bytes -= bytes;
    this.excess -= excessOf(bytes);
    this.large.delete(slot);
  }
}

/** What the name of a key takes. */
export function nameBytes({ workspace, namespace, identifier }: Omit<Key, "durationMs">): number {
  return FIXED_BYTES + textBytes(workspace) + textBytes(namespace) + textBytes(identifier);
}

/** What the name of a key takes beyond its share. */
export function nameExcess(key: Omit<Key, "durationMs">): number {
  return excessOf(nameBytes(key));
}

/** What a name of so many bytes takes beyond its share: 0 unless it is large. */
export function excessOf(bytes: number): number {
  return Math.max(0, bytes - NAME_SHARE_BYTES);
}

/** What a text takes on the heap, beside its header: two bytes per unit if any unit needs them. */
export function textBytes(text: string): number {
  const { length } = text;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 0xff) return 2 * length;
  return length;
}
