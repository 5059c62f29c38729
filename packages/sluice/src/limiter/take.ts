/**
 * Takes: requests that would rather wait than be denied, first come, first served per key within this process.
 *
 * Invariant: only the first of a line asks, and only when memory has room for it; the others wait for their turn, however little they
 * cost. It wakes when its cost fits, by `reset`, and not before: nothing is polled. A request that asks is decided like any other, so `limit`
 * may overtake a line, and an answer of the origin may send the first one back to wait.
 *
 * A waiting take keeps the process alive. What an aborted or closed one leaves behind is nothing: no timer, no listener, no place in line.
 * One that is being decided at that moment is answered first, within the read timeout: what was counted for it is not lost.
 */
import type { Clock, Timers } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import { Alarm } from "../core/repeat.ts";
import type { Decision } from "../engine/decision.ts";
import type { Engine } from "../engine/engine.ts";
import { fitsInMs, type GivenUp, giveUp } from "../engine/fit.ts";
import { encodeKey } from "../engine/key.ts";
import { TALLY } from "../engine/tally.ts";
import type { HashedRequest } from "../engine/view.ts";

/** Takes that wait, of one key and in all: some hundred bytes each. */
export const WAITERS_MAX = 1_000;
export const WAITERS_TOTAL_MAX = 10_000;
/** What a timer of Node takes at most. A longer wait looks again then. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** How long a take may wait. */
export interface Patience {
  /** Infinity: as long as it takes. */
  readonly maxWaitMs: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  readonly request: HashedRequest;
  /** Monotonic clock. */
  readonly deadlineMs: number;
  readonly alarm: Alarm;
  /** Whether it is being decided: it cannot be taken back now. */
  isAsking: boolean;
  /** Why it must not wait any longer, once it has been decided. */
  ended: { readonly reason: unknown } | null;
  readonly settle: (answer: { readonly decision: Decision } | { readonly error: unknown }) => void;
}

interface Line {
  readonly name: string;
  readonly waiters: Waiter[];
}

export interface TakesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Decides a request as `limit` does. */
  readonly decide: (request: HashedRequest) => Decision | Promise<Decision>;
}

export class Takes {
  readonly #engine: Engine;
  readonly #options: TakesOptions;
  readonly #lines = new Map<string, Line>();
  #waiting = 0;
  #isClosed = false;

  constructor(engine: Engine, options: TakesOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Takes that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  async take(request: HashedRequest, { maxWaitMs, signal }: Patience): Promise<Decision> {
    signal?.throwIfAborted();
    // It never fits: that is the answer.
    if (request.cost > request.limit) return this.#options.decide(request);
    const name = encodeKey(request.key);
    const line = this.#lines.get(name) ?? { name, waiters: [] };
    const isFirst = line.waiters.length === 0;
    const inMs = fitsInMs(this.#engine, request);
    if (inMs > maxWaitMs) return giveUp(this.#engine, request, "timeout");
    const mustWait = !isFirst || inMs > 0;
    if (mustWait && (line.waiters.length >= WAITERS_MAX || this.#waiting >= WAITERS_TOTAL_MAX)) {
      return giveUp(this.#engine, request, "waiters");
    }
    return new Promise((resolve, reject) => {
      const waiter = this.#waiter(line, request, { maxWaitMs, signal }, resolve, reject);
      this.#lines.set(name, line);
      this.#waiting++;
      line.waiters.push(waiter);
      if (isFirst) this.#serve(line);
      else this.#sleep(line, waiter);
    });
  }

  /** Every take that waits is refused; one that is being decided, if it is not allowed. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) {
      for (const waiter of [...line.waiters])
        this.#end(line, waiter, new SluiceError("RL_CLOSED", "limiter", "closed"));
    }
  }

  #waiter(
    line: Line,
    request: HashedRequest,
    { maxWaitMs, signal }: Patience,
    resolve: (decision: Decision) => void,
    reject: (error: unknown) => void,
  ): Waiter {
    const onAbort = () => this.#end(line, waiter, signal!.reason);
    const waiter: Waiter = {
      request,
      deadlineMs: this.#options.clock.monoMs() + maxWaitMs,
      alarm: new Alarm(this.#options.timers),
      isAsking: false,
      ended: null,
      settle: (answer) => {
        signal?.removeEventListener("abort", onAbort);
        if ("decision" in answer) resolve(answer.decision);
        else reject(answer.error);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    return waiter;
  }

  /** Lets the first of a line ask if its cost fits, and the next one after it. */
  #serve(line: Line): void {
    if (this.#isClosed) return;
    for (let [first] = line.waiters; first !== undefined && !first.isAsking; [first] = line.waiters) {
      first.alarm.clear();
      try {
        if (!this.#ask(line, first)) return;
      } catch (error) {
        // The clock fails.
        this.#leave(line, first);
        first.settle({ error });
      }
    }
  }

  /** False if it waits: for its cost to fit, or for the answer of the origin. */
  #ask(line: Line, waiter: Waiter): boolean {
    const inMs = fitsInMs(this.#engine, waiter.request);
    if (inMs > waiter.deadlineMs - this.#options.clock.monoMs()) {
      this.#giveUp(line, waiter, "timeout");
      return true;
    }
    if (inMs > 0) {
      waiter.alarm.set(() => this.#serve(line), Math.min(inMs, TIMER_MAX_MS), true);
      return false;
    }
    const answer = this.#options.decide(waiter.request);
    if (!(answer instanceof Promise)) return this.#answered(line, waiter, answer);
    waiter.isAsking = true;
    answer.then(
      (decision) => {
        waiter.isAsking = false;
        this.#answered(line, waiter, decision);
        this.#serve(line);
      },
      (error: unknown) => {
        this.#leave(line, waiter);
        waiter.settle({ error });
        this.#serve(line);
      },
    );
    return false;
  }

  /** What was decided for the first of a line. A full window is not its last word: it stays, unless it must not wait any longer. */
  #answered(line: Line, waiter: Waiter, decision: Decision): true {
    if (!decision.success && decision.reason === "limit") {
      // It has not given up: only then is it a denial.
      this.#engine.tally.takeBack(TALLY.deniedLimit);
      if (waiter.ended !== null) this.#end(line, waiter, waiter.ended.reason);
      return true;
    }
    this.#leave(line, waiter);
    waiter.settle({ decision });
    return true;
  }

  /** Until its turn or its deadline: the first of the line wakes it. */
  #sleep(line: Line, waiter: Waiter): void {
    const leftMs = waiter.deadlineMs - this.#options.clock.monoMs();
    if (leftMs === Number.POSITIVE_INFINITY) return;
    waiter.alarm.set(
      () => {
        if (this.#options.clock.monoMs() >= waiter.deadlineMs) this.#giveUp(line, waiter, "timeout");
        else this.#sleep(line, waiter);
      },
      Math.min(Math.max(0, leftMs), TIMER_MAX_MS),
      true,
    );
  }

  #giveUp(line: Line, waiter: Waiter, reason: GivenUp): void {
    this.#leave(line, waiter);
    try {
      waiter.settle({ decision: giveUp(this.#engine, waiter.request, reason) });
    } catch (error) {
      waiter.settle({ error });
    }
  }

  /** The caller aborted, or the limiter closes. */
  #end(line: Line, waiter: Waiter, reason: unknown): void {
    if (waiter.isAsking) {
      waiter.ended ??= { reason };
      return;
    }
    this.#leave(line, waiter);
    waiter.settle({ error: reason });
    this.#serve(line);
  }

  #leave(line: Line, waiter: Waiter): void {
    waiter.alarm.clear();
    line.waiters.splice(line.waiters.indexOf(waiter), 1);
    this.#waiting--;
    if (line.waiters.length === 0) this.#lines.delete(line.name);
  }
}
