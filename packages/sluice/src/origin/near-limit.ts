/**
 * Near a limit, with an origin that is near: a process asks before it allows, and reports before it answers.
 *
 * Invariant: an answered allow is in the origin before its caller can send another request. The next request, to whatever process, reads
 * after its arrival, so it is decided with that cost. Requests that come one after the other are therefore exact near a limit. Requests
 * at the same moment in several processes are not: each may miss what the others have accepted and not yet reported.
 *
 * Only accepted cost is reported, as an absolute total like any other. It stays unreplayed, because only a flush has the heartbeat.
 */
import type { Sequence } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { withDeadline } from "../core/deadline.ts";
import type { Key } from "../engine/key.ts";
import type { CellMerge } from "./cell-merge.ts";
import type { Raise } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";

/** A limit is near if an allow leaves less than this of it, or less than this part. */
const NEAR_LEFT = 10;
const NEAR_PART = 0.1;

export interface NearLimitOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly readTimeoutMs: number;
}

export class NearLimit {
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #options: NearLimitOptions;
  /** Keys that the next report carries. */
  #waiting: Key[] = [];
  /** The report under way, and the next one, which begins when that is answered: one message for all that wait. */
  #sent: Promise<unknown> = Promise.resolve();
  #next: Promise<boolean> | null = null;

  constructor(calls: OriginCalls, merge: CellMerge, options: NearLimitOptions) {
    this.#calls = calls;
    this.#merge = merge;
    this.#options = options;
  }

  isNear(left: number, limit: number): boolean {
    return left < NEAR_LEFT || left < limit * NEAR_PART;
  }

  /** Resolves with whether the origin has the cost of these keys. A request waits one read timeout in all, its read included. */
  async report(keys: readonly Key[], arrivedMs: number): Promise<boolean> {
    const { clock, timers, readTimeoutMs } = this.#options;
    const leftMs = readTimeoutMs - (clock.monoMs() - arrivedMs);
    const report = this.#join(keys);
    // A caller waits for it: the deadline keeps the process alive.
    const outcome = await withDeadline(() => report, Math.max(0, leftMs), timers, undefined, true);
    return outcome.kind === "done" && outcome.value;
  }

  /** The same for a cost whose caller does not wait. */
  send(key: Key): void {
    void this.#join([key]);
  }

  #join(keys: readonly Key[]): Promise<boolean> {
    this.#waiting.push(...keys);
    this.#next ??= this.#sent.then(() => {
      const all = this.#waiting;
      this.#waiting = [];
      this.#next = null;
      const sent = this.#send(all);
      this.#sent = sent;
      return sent;
    });
    return this.#next;
  }

  async #send(keys: readonly Key[]): Promise<boolean> {
    try {
      const raises = keys.flatMap((key) => this.#raises(key));
      if (raises.length === 0) return true;
      const answers = await this.#calls.raise(raises, this.#options.readTimeoutMs);
      return answers !== null && !answers.includes(null);
    } catch {
      // A clock that fails.
      return false;
    }
  }

  /** The window may have ended since the decision: its cell is the previous one then. */
  #raises(key: Key): readonly Raise[] {
    const sequence = this.#merge.sequenceOf(key);
    const both = [sequence, (sequence - 1) as Sequence].map((at) => this.#merge.unreplayed(key, at));
    return both.filter((raise) => raise !== null);
  }
}
