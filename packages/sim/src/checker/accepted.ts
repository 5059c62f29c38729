/**
 * What was accepted, in order of time, with running sums: how much of it lies before a moment takes one search.
 *
 *  atMs   10  25  40        before(25) = 3: what came at 10
 *  sums    3   4   9        upTo(25)   = 4: and what came at 25
 *
 * The bound E asks this at every allow beyond a limit. Walking all accepts instead took four fifths of the time of a plan that
 * spreads twice a limit of 5,000 over ten regions, and the part grows with the limit.
 *
 * Invariant: times do not fall: a history is told in order of time. Asserted with every cost.
 */
import { assert } from "../model/internals.ts";

export class Accepted {
  readonly #atMs: number[] = [];
  readonly #sums: number[] = [];
  total = 0;

  add(atMs: number, cost: number): void {
    const lastMs = this.#atMs.at(-1) ?? Number.NEGATIVE_INFINITY;
    assert(atMs >= lastMs, "a history that goes back in time");
    this.total += cost;
    // Costs of one moment are one.
    if (atMs === lastMs) {
      this.#sums[this.#sums.length - 1] = this.total;
      return;
    }
    this.#atMs.push(atMs);
    this.#sums.push(this.total);
  }

  /** Accepted earlier than this. */
  before(ms: number): number {
    return this.#sumOf(this.#count((atMs) => atMs < ms));
  }

  /** Accepted at this moment or earlier. */
  upTo(ms: number): number {
    return this.#sumOf(this.#count((atMs) => atMs <= ms));
  }

  #sumOf(count: number): number {
    return count === 0 ? 0 : this.#sums[count - 1]!;
  }

  /** How many of the first moments `isEarly` is true of: of those and no later ones. */
  #count(isEarly: (atMs: number) => boolean): number {
    let from = 0;
    let to = this.#atMs.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isEarly(this.#atMs[middle]!)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
