/**
 * The heaviest names of a stream, with a fixed number of counters: the Space-Saving sketch (Metwally, Agrawal, El Abbadi, 2005).
 *
 * A name that has no counter, when all are taken, takes over the smallest one with what it holds: its own count is that much or less
 * too high, and the counter remembers by how much.
 *
 * Invariant: for a name with a counter, `count - error ≤ truth ≤ count`; for every other, `truth ≤ least`; and `least` is at most the
 * total divided by the number of counters. So every name above that part of the total has a counter.
 *
 * The smallest is found by going round: counts only grow, so a count that equals the smallest of the last round is the smallest still.
 * With checks of cost 1 a round takes over most counters; a heap would cost more, for those who have a counter too.
 */
import type { Ranking } from "./ranking.ts";

export class SpaceSaving {
  readonly #counts: Float64Array;
  readonly #errors: Float64Array;
  readonly #names: string[] = [];
  readonly #slots = new Map<string, number>();
  #total = 0;
  /** The smallest count, when the round began; and how far it has come. */
  #least = 0;
  #next = 0;

  constructor(counters: number) {
    this.#counts = new Float64Array(counters);
    this.#errors = new Float64Array(counters);
    this.#next = counters;
  }

  /** @param weight above 0. */
  add(name: string, weight: number): void {
    this.#total += weight;
    const slot = this.#slots.get(name) ?? this.#slotFor(name);
    this.#counts[slot] = this.#counts[slot]! + weight;
  }

  read(): Ranking {
    const isFull = this.#names.length === this.#counts.length;
    const entries = this.#names.map((name, slot) => {
      const atMost = this.#counts[slot]!;
      return { name, atLeast: atMost - this.#errors[slot]!, atMost };
    });
    return { total: this.#total, absentAtMost: isFull ? Math.min(...this.#counts) : 0, entries };
  }

  #slotFor(name: string): number {
    const isFull = this.#names.length === this.#counts.length;
    const slot = isFull ? this.#smallest() : this.#names.length;
    if (isFull) {
      this.#slots.delete(this.#names[slot]!);
      this.#errors[slot] = this.#counts[slot]!;
    }
    this.#names[slot] = name;
    this.#slots.set(name, slot);
    return slot;
  }

  #smallest(): number {
    const counts = this.#counts;
    for (;;) {
      for (; this.#next < counts.length; this.#next++) if (counts[this.#next] === this.#least) return this.#next++;
      this.#next = 0;
      this.#least = Math.min(...counts);
    }
  }
}
