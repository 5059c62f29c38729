/**
 * The engine's own counts of what it did: what `stats()` reports and metrics export.
 *
 * Doubles in a typed array, because a number field that passes 2^31 would become a heap object made anew by every
 * increment on the decision path.
 */
export const TALLY = {
  allowed: 0,
  deniedLimit: 1,
  deniedCost: 2,
  deniedFull: 3,
  deniedBatch: 4,
  unrecorded: 5,
  evicted: 6,
  expired: 7,
  degraded: 8,
  charged: 9,
  overdrawn: 10,
  deniedTimeout: 11,
  deniedWaiters: 12,
  deniedReserved: 13,
} as const;

type TallyName = keyof typeof TALLY;

export class Tally {
  readonly #counts = new Float64Array(Object.keys(TALLY).length);

  add(place: (typeof TALLY)[TallyName]): void {
    this.#counts[place] = this.#counts[place]! + 1;
  }

  /** What was added a moment ago turned out not to be one. Before anybody can have read it. */
  takeBack(place: (typeof TALLY)[TallyName]): void {
    this.#counts[place] = this.#counts[place]! - 1;
  }

  read(name: TallyName): number {
    return this.#counts[TALLY[name]]!;
  }
}
