/**
 * Follows a store that answers in pages: what changed since the last time, and everything from time to time.
 *
 * Invariant: the cursor moves only when every page of an answer was read, so a failure in the middle loses nothing. A full pass
 * finds what incremental reads missed (late commits, cells that had no room). A pass that does not fit the budget of a call
 * continues in the next one, after the changes since. The next call after a failure begins a full pass.
 *
 * It does not merge anything: `read` does, and returns the page.
 */
import type { Clock } from "../core/clock.ts";

/** The part of a page that says where to go on. */
export interface FollowedPage {
  /** Pass it next time to get only what changed since. */
  readonly cursor: string;
  /** Pass it, in place of a cursor, to get the next page of this answer. The last page has none. */
  readonly rest?: string;
  /** The store lost its rows and answers as for no cursor: this is the first page of everything. */
  readonly isAll?: true;
}

export interface FollowerOptions {
  /** Every how many calls everything is read. */
  readonly fullEvery: number;
  readonly clock: Clock;
  /** Reads one page and merges it. */
  read(cursor: string | null): Promise<FollowedPage>;
}

export class PageFollower {
  readonly #options: FollowerOptions;
  #cursor: string | null = null;
  /** Calls until the next full pass; 0: the next one begins it. */
  #untilFull = 0;
  /** What is left of the full pass under way. */
  #rest: string | undefined;
  #isDone = false;
  /** When an answer was last read to its end, or when this was made. Monotonic clock. */
  #lastMs: number;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#lastMs = options.clock.monoMs();
  }

  /** Whether a first pass came to its end. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** How long ago an answer was last read to its end; before the first, how long ago this was made. */
  get ageMs(): number {
    return this.#options.clock.monoMs() - this.#lastMs;
  }

  /** Reads what changed, or everything. A full pass is interrupted after `budgetMs`. Rejects if the store fails. */
  async followOnce(budgetMs: number): Promise<void> {
    const { clock, read } = this.#options;
    const untilMs = clock.monoMs() + budgetMs;
    try {
      if (this.#untilFull === 0 && this.#rest === undefined) await this.#beginPass();
      else await this.#readChanges();
      while (this.#rest !== undefined && clock.monoMs() < untilMs) this.#passed(await read(this.#rest));
    } catch (error) {
      this.#untilFull = 0;
      this.#rest = undefined;
      throw error;
    }
  }

  async #readChanges(): Promise<void> {
    this.#untilFull = Math.max(0, this.#untilFull - 1);
    let next = this.#cursor;
    for (let page: FollowedPage; next !== null; next = page.rest ?? null) {
      page = await this.#options.read(next);
      if (page.rest === undefined || page.isAll === true) this.#cursor = page.cursor;
      if (page.isAll !== true) continue;
      this.#untilFull = this.#options.fullEvery - 1;
      this.#passed(page);
      return;
    }
    this.#lastMs = this.#options.clock.monoMs();
  }

  async #beginPass(): Promise<void> {
    this.#untilFull = this.#options.fullEvery - 1;
    const page = await this.#options.read(null);
    // With several pages, changes from before the pass began must still be read from the old cursor, if there is one.
    if (page.rest === undefined || this.#cursor === null) this.#cursor = page.cursor;
    this.#passed(page);
  }

  #passed({ rest }: FollowedPage): void {
    this.#rest = rest;
    if (rest !== undefined) return;
    this.#isDone = true;
    this.#lastMs = this.#options.clock.monoMs();
  }
}
