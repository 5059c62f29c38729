/** Seeded chance, for simulated worlds, tests and benchmarks: the same seed gives the same draws. */
import type { Random } from "sluice";

export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** The mulberry32 step: 32 well-mixed bits from a counter. */
  uint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** A number from 0 up to, but not including, 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  /** An integer from 0 to `bound - 1`. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Exponentially distributed around `mean`: the time to the next of many independent arrivals. */
  wait(mean: number): number {
    return -Math.log(1 - this.fraction()) * mean;
  }

  /** A stream that further draws of this one do not disturb. */
  fork(): SeededRandom {
    return new SeededRandom(this.uint32());
  }
}
