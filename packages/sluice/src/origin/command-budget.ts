/**
 * The command budget: how many cells may be replayed now, so that over any time no more than `commandsPerSecond` are.
 *
 * Budget accrues with time and is spent in whole cells. What is left of a cell is carried to the next flush: at 20 per second and a
 * flush every 5 ms, every tenth flush sends one. Flushes and hurried flushes spend the same budget.
 *
 * Unused budget is not saved up, so that a flush stays small: a flush that is on time has at most one interval's budget and the carried
 * part of a cell. A flush that is late, because the one before it took long, also has the budget of the intervals it missed, up to
 * `FLUSHES_MADE_UP` in all. So in any span of T ms at most `rate · T + FLUSHES_MADE_UP · rate · flushMs + 1` cells are sent.
 */

/** A flush that comes late has the budget of at most this many intervals. */
const FLUSHES_MADE_UP = 4;

/** Sums of a hundred thousand fractions are exact to this. */
const ROUNDING = 1e-6;

export class CommandBudget {
  readonly #perMs: number;
  readonly #flushMs: number;
  /** What may be spent, as of `#atMs`. */
  #left: number;
  #atMs: number;
  /** When the last flush began. */
  #flushedMs: number;

  /** The first flush has the budget of one interval. */
  constructor(commandsPerSecond: number, flushMs: number, monoMs: number) {
    this.#perMs = commandsPerSecond / 1_000;
    this.#flushMs = flushMs;
    this.#left = this.#perMs * flushMs;
    this.#atMs = monoMs;
    this.#flushedMs = monoMs;
  }

  /** How many cells may be sent now: none while the clock is invalid, whose reading must not stay in the sums. */
  cells(monoMs: number): number {
    if (!Number.isFinite(monoMs)) return 0;
    const flushes = Math.min(FLUSHES_MADE_UP, Math.max(1, Math.floor((monoMs - this.#flushedMs) / this.#flushMs)));
    const most = this.#perMs * this.#flushMs * flushes + 1;
    this.#left = Math.min(most, this.#left + this.#perMs * Math.max(0, monoMs - this.#atMs));
    this.#atMs = monoMs;
    return Math.max(0, Math.floor(this.#left + ROUNDING));
  }

  /** The same, at the beginning of a flush. */
  cellsOfFlush(monoMs: number): number {
    const cells = this.cells(monoMs);
    if (Number.isFinite(monoMs)) this.#flushedMs = monoMs;
    return cells;
  }

  spend(cells: number): void {
    this.#left -= cells;
  }
}
