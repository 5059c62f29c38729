/**
 * The highest limit under which each cell accepted cost: what over-admission is judged by.
 *
 * Not in the cell table, whose hot record is full, and which a bare engine pays for too: this exists only with a global layer, and
 * takes 24 bytes per key. A slot has two entries, one for even and one for odd windows; a stamp says which window an entry is of, so
 * nothing has to be rotated, and a window that is over keeps its own limit while the next one accepts under another.
 *
 * It also knows whether any of that cost was charged: such a cell may exceed its limit, which is then no mistake. Limits are integers,
 * so a half on top of one says so.
 */
import type { Sequence, Slot } from "../core/brands.ts";

const CHARGED = 0.5;

export class AcceptedLimits {
  readonly #limits: Float64Array;
  /** The window of each entry, plus 1; 0: none. */
  readonly #stamps: Uint32Array;

  constructor(capacity: number) {
    this.#limits = new Float64Array(2 * capacity);
    this.#stamps = new Uint32Array(2 * capacity);
  }

  /** Cost was accepted under this limit. Called for every accepted request, so it writes only what changes. */
  raise(slot: Slot, sequence: Sequence, limit: number): void {
    const at = 2 * slot + (sequence & 1);
    const stamp = sequence + 1;
    const isSame = this.#stamps[at] === stamp;
    if (isSame && this.#limits[at]! >= limit) return;
    this.#stamps[at] = stamp;
    this.#limits[at] = isSame && isCharged(this.#limits[at]!) ? limit + CHARGED : limit;
  }

  /** Cost was charged under this limit. */
  charge(slot: Slot, sequence: Sequence, limit: number): void {
    this.raise(slot, sequence, limit);
    const at = 2 * slot + (sequence & 1);
    if (!isCharged(this.#limits[at]!)) this.#limits[at] = this.#limits[at]! + CHARGED;
  }

  /** Whether this process charged cost in that window. */
  isCharged(slot: Slot, sequence: Sequence): boolean {
    const at = 2 * slot + (sequence & 1);
    return this.#stamps[at] === sequence + 1 && isCharged(this.#limits[at]!);
  }

  /** Infinity: this process accepted nothing in that window. */
  read(slot: Slot, sequence: Sequence): number {
    const at = 2 * slot + (sequence & 1);
    return this.#stamps[at] === sequence + 1 ? Math.floor(this.#limits[at]!) : Number.POSITIVE_INFINITY;
  }

  /** The slot is released: its next key has accepted nothing. */
  forget(slot: Slot): void {
    this.#stamps[2 * slot] = 0;
    this.#stamps[2 * slot + 1] = 0;
  }
}

function isCharged(limit: number): boolean {
  return limit % 1 !== 0;
}
