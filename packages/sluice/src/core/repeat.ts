/**
 * Timers that are kept: one call that is pending, or a call again and again. Both run on the timers that were passed in.
 *
 * Invariant: at most one timer per alarm, and none after `clear` or `stop`. Whether a timer is pending is a field here and never read
 * from its handle, because a handle may be any value. Deadlines of promises are in deadline.ts, turns and pauses in turns.ts.
 */
import type { Timers } from "./clock.ts";

/** A call that is pending, or none. */
export class Alarm {
  readonly #timers: Timers;
  #isSet = false;
  #handle: unknown = undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get isSet(): boolean {
    return this.#isSet;
  }

  /** Calls back once, after `delayMs`. An alarm that is set stays as it is. Throws if the timers do, and is then not set. */
  set(callback: () => void, delayMs: number, keepsAlive = false): void {
    if (this.#isSet) return;
    const ring = () => {
      this.#isSet = false;
      callback();
    };
    this.#handle = this.#timers.set(ring, delayMs, keepsAlive);
    this.#isSet = true;
  }

  clear(): void {
    if (!this.#isSet) return;
    this.#isSet = false;
    this.#timers.clear(this.#handle);
  }
}

/** A call at an interval. The next one is set before each runs, so a call that throws does not end the repetition. */
export class Repeat {
  readonly #alarm: Alarm;
  readonly #run: () => void;
  readonly #intervalMs: () => number;

  /** @param intervalMs called before each interval, which may differ from the last one. */
  constructor(timers: Timers, run: () => void, intervalMs: () => number) {
    this.#alarm = new Alarm(timers);
    this.#run = run;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#alarm.set(() => {
      this.start();
      this.#run();
    }, this.#intervalMs());
  }

  stop(): void {
    this.#alarm.clear();
  }
}
