/**
 * A set of slots in the order in which they came, in memory of a fixed size.
 *
 * A `Set` does the same until it is large: at half a million it stands still for 30 ms to grow, at a million for 60. This one
 * links its slots into a ring and never moves anything. Pages are paid for as slots are first used.
 *
 * ```
 *   after    ring ─▶ 7 ─▶ 2 ─▶ 5 ─▶ ring      a slot's link is slot + 1, the ring's own is 0;
 *   before   ring ◀─ 7 ◀─ 2 ◀─ 5 ◀─ ring      a slot outside has 0 for both, and is not the last one
 * ```
 * While it is looked through, the slot that was just given may leave it, and no other.
 */
import type { Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";

const RING = 0;

export class SlotSet {
  size = 0;
  readonly #after: Int32Array;
  readonly #before: Int32Array;

  constructor(capacity: number) {
    this.#after = new Int32Array(capacity + 1);
    this.#before = new Int32Array(capacity + 1);
  }

  has(slot: Slot): boolean {
    return this.#after[slot + 1] !== RING || this.#before[RING] === slot + 1;
  }

  /** Puts a slot behind all others; one that is there already stays where it is. */
  add(slot: Slot): void {
    if (this.has(slot)) return;
    const link = slot + 1;
    const last = this.#before[RING]!;
    this.#before[link] = last;
    this.#after[last] = link;
    this.#before[RING] = link;
    this.size++;
  }

  delete(slot: Slot): void {
    if (!this.has(slot)) return;
    const link = slot + 1;
    const before = this.#before[link]!;
    const after = this.#after[link]!;
    this.#after[before] = after;
    this.#before[after] = before;
    this.#after[link] = RING;
    this.#before[link] = RING;
    this.size--;
  }

  /** The slot that came first, which goes behind all others; NONE if there is none. */
  rotate(): Slot {
    const first = (this.#after[RING]! - 1) as Slot;
    if (first === NONE) return NONE;
    this.delete(first);
    this.add(first);
    return first;
  }

  *[Symbol.iterator](): IterableIterator<Slot> {
    for (let link = this.#after[RING]!; link !== RING; ) {
      const after = this.#after[link]!;
      yield (link - 1) as Slot;
      link = after;
    }
  }
}
