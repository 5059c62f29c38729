/** A small seeded generator for long random runs: the same seed gives the same run. */
export class SeededRandom {
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

  /** An integer from 0 to `bound - 1`. */
  below(bound: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * bound);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  chance(probability: number): boolean {
    return this.uint32() < probability * 2 ** 32;
  }
}
