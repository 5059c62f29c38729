/**
 * The strict deadlines of keys that have no slot: evicted ones, and ones that were denied without having a slot (the table was full).
 *
 * A key with a slot has its deadline in the cell table, and the sweep leaves such a slot in place. So this table is used only when a
 * strict key is evicted, and it is looked at only when a slot is claimed, or a key without one is read or inspected.
 *
 * Bounded: 1,024 sets of 16, 24 bytes each, 384 KiB, allocated when the first deadline is kept and never again. A key belongs to one set.
 * In a full set the deadline that ends first is dropped and counted (`stats().origin.strictDropped`): that key is read like any other
 * cold key once, and then when it is stale. Eviction prefers keys that use little of their limit, which strict keys do not: the table
 * fills only if nearly all keys of a full cell table were denied.
 */
import type { DurationMs } from "../core/brands.ts";

const SETS = 1_024;
const WAYS = 16;
export const STRICT_KEPT_MAX: number = SETS * WAYS;

/** Words of a key: h0, h1, h2, duration. */
const KEY_INTS = 4;

export class StrictDeadlines {
  /** Deadlines that were dropped before they had passed. */
  dropped = 0;
  #keys = new Int32Array(0);
  /** Monotonic clock; 0: the place is empty. */
  #untilMs = new Float64Array(0);

  /** What is allocated. */
  get bytes(): number {
    return this.#keys.byteLength + this.#untilMs.byteLength;
  }

  /** 0: none is kept for this key. */
  untilMs(h0: number, h1: number, h2: number, durationMs: DurationMs): number {
    const at = this.#find(h0, h1, h2, durationMs);
    return at === -1 ? 0 : this.#untilMs[at]!;
  }

  /** The same, and forgets it: the key has a slot from now on. */
  take(h0: number, h1: number, h2: number, durationMs: DurationMs): number {
    const at = this.#find(h0, h1, h2, durationMs);
    if (at === -1) return 0;
    const untilMs = this.#untilMs[at]!;
    this.#untilMs[at] = 0;
    return untilMs;
  }

  raise(h0: number, h1: number, h2: number, durationMs: DurationMs, untilMs: number, nowMs: number): void {
    if (this.#untilMs.length === 0) {
      this.#keys = new Int32Array(STRICT_KEPT_MAX * KEY_INTS);
      this.#untilMs = new Float64Array(STRICT_KEPT_MAX);
    }
    const found = this.#find(h0, h1, h2, durationMs);
    if (found !== -1) {
      this.#untilMs[found] = Math.max(this.#untilMs[found]!, untilMs);
      return;
    }
    const at = this.#first(h2);
    const isFull = this.#untilMs[at]! > nowMs;
    if (isFull) this.dropped++;
    if (isFull && this.#untilMs[at]! > untilMs) return;
    this.#untilMs[at] = untilMs;
    this.#keys[at * KEY_INTS] = h0;
    this.#keys[at * KEY_INTS + 1] = h1;
    this.#keys[at * KEY_INTS + 2] = h2;
    this.#keys[at * KEY_INTS + 3] = durationMs | 0;
  }

  /** The place in the set of `h2` whose deadline ends first, or has passed, or is empty. */
  #first(h2: number): number {
    const begin = setOf(h2);
    let first = begin;
    for (let at = begin + 1; at < begin + WAYS; at++) {
      if (this.#untilMs[at]! < this.#untilMs[first]!) first = at;
    }
    return first;
  }

  /** The place of a key, or -1. */
  #find(h0: number, h1: number, h2: number, durationMs: DurationMs): number {
    if (this.#untilMs.length === 0) return -1;
    const keys = this.#keys;
    const duration = durationMs | 0;
    const begin = setOf(h2);
    for (let at = begin; at < begin + WAYS; at++) {
      const k = at * KEY_INTS;
      if (this.#untilMs[at] === 0 || keys[k] !== h0 || keys[k + 1] !== h1) continue;
      if (keys[k + 2] === h2 && keys[k + 3] === duration) return at;
    }
    return -1;
  }
}

function setOf(h2: number): number {
  return (h2 & (SETS - 1)) * WAYS;
}
