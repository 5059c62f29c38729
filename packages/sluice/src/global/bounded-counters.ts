/**
 * Counters whose every call ends: with an answer, a failure, or after a deadline. What a late call does to the store stays done.
 *
 * A round of many calls may take as long as it needs, but never waits for a store that has fallen silent.
 */
import type { Timers } from "../core/clock.ts";
import { type Pending, withDeadline } from "../core/deadline.ts";
import type { Counters, Registration } from "./counters.ts";

const CALL_DEADLINE_MS = 10_000;
/** For a store that does not implement `register`. */
const NOT_REGISTERED: Registration = { aliases: [], conflict: null };

export class BoundedCounters implements Counters {
  readonly publish: Counters["publish"];
  readonly read: Counters["read"];
  readonly cleanUp: Counters["cleanUp"];
  readonly register: (region: string, origin: string) => Promise<Registration>;
  readonly denials: Counters["denials"];
  readonly #timers: Timers;
  readonly #pending: Pending = new Set();
  #isClosed = false;

  constructor(counters: Counters, timers: Timers) {
    this.#timers = timers;
    this.publish = (region, rows) => this.#call(() => counters.publish(region, rows));
    this.read = (region, cursor) => this.#call(() => counters.read(region, cursor));
    this.cleanUp = (nowMs, rowsMax) => this.#call(() => counters.cleanUp(nowMs, rowsMax));
    this.register = (region, origin) =>
      this.#call(async () => (await counters.register?.(region, origin)) ?? NOT_REGISTERED);
    this.denials = {
      write: (region, rows) => this.#call(() => counters.denials.write(region, rows)),
      active: (nowMs) => this.#call(() => counters.denials.active(nowMs)),
      ...(counters.denials.read === undefined
        ? {}
        : { read: (region, cursor) => this.#call(() => counters.denials.read!(region, cursor)) }),
    };
  }

  /** Whoever waits for a call waits no longer. */
  giveUp(): void {
    for (const expire of this.#pending) expire();
  }

  /** The same, and no further call is made. The store itself is closed by whoever owns it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.giveUp();
  }

  async #call<T>(start: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error("the global layer is closed");
    const outcome = await withDeadline(start, CALL_DEADLINE_MS, this.#timers, this.#pending);
    if (outcome.kind === "done") return outcome.value;
    throw outcome.kind === "failed" ? outcome.error : new Error(`no response within ${CALL_DEADLINE_MS} ms`);
  }
}
