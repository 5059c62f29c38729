/**
 * Housekeeping: one timer for the whole limiter that sweeps expired cells while nobody claims new ones.
 *
 * The timer runs only while the table holds something: an idle limiter wakes nobody. Steps are bounded: looking at 65,536
 * slots takes 1 to 2 ms, freeing 8,192 takes 3 to 4. A step that met its bound of freed slots is soon followed by another,
 * so four million expired keys are gone within half a minute.
 */
import type { Timers } from "../core/clock.ts";
import { Alarm } from "../core/repeat.ts";
import type { Engine } from "../engine/engine.ts";

const INTERVAL_MS = 1_000;
const INTERVAL_BUSY_MS = 50;
const SLOTS_PER_STEP = 65_536;
const FREED_PER_STEP = 8_192;

export class Housekeeping {
  readonly #engine: Engine;
  readonly #alarm: Alarm;
  #isStopped = false;

  constructor(engine: Engine, timers: Timers) {
    this.#engine = engine;
    this.#alarm = new Alarm(timers);
  }

  /** Called after every decision: must cost next to nothing. */
  wake(): void {
    if (!this.#alarm.isSet) this.#arm(INTERVAL_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm.clear();
  }

  #arm(delayMs: number): void {
    if (this.#isStopped || this.#engine.table.size === 0) return;
    try {
      this.#alarm.set(() => this.#tick(), delayMs);
    } catch {
      // Timers that cannot be set must not fail a request that is decided and counted: the next one tries again.
    }
  }

  #tick(): void {
    if (this.#isStopped) return;
    let delayMs = INTERVAL_MS;
    try {
      if (this.#engine.sweepOnce(SLOTS_PER_STEP, FREED_PER_STEP) === FREED_PER_STEP) delayMs = INTERVAL_BUSY_MS;
    } catch {
      // A clock that fails is reported to whoever asks for a decision next; a timer has nobody to tell. The sweep goes on.
    }
    this.#arm(delayMs);
  }
}
