/** The true count over time, in steps of equal length: the largest of each, so that no peak is lost. */

/** Four points for each column of a terminal. */
const STEPS = 288;

export class Timeline {
  readonly everyMs: number;
  /** As many as have passed. */
  readonly counts: number[] = [];
  readonly #countAt: (sinceMs: number) => number;
  #largest = 0;

  constructor(spanMs: number, countAt: (sinceMs: number) => number) {
    this.everyMs = spanMs / STEPS;
    this.#countAt = countAt;
  }

  /** An allow raised the count to this. */
  saw(count: number): void {
    this.#largest = Math.max(this.#largest, count);
  }

  /** Time has come to `sinceMs`: steps that lie before it are closed. Between allows the count can only sink. */
  advance(sinceMs: number): void {
    while (this.counts.length < STEPS && (this.counts.length + 1) * this.everyMs <= sinceMs) {
      const atMs = (this.counts.length + 1) * this.everyMs;
      this.counts.push(Math.max(this.#largest, this.#countAt(atMs - 1)));
      this.#largest = 0;
    }
  }
}
