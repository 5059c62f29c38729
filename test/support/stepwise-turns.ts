/** Turns of the event loop, one by one: what is set for the next turn runs when the test says so. */
import type { Timers } from "../../packages/sluice/src/core/clock.ts";
import type { ManualTime } from "./manual-time.ts";

export class StepwiseTurns {
  readonly timers: Timers = {
    set: (callback) => {
      this.#waiting.push(callback);
      return callback;
    },
    clear: (handle) => {
      const at = this.#waiting.indexOf(handle as () => void);
      if (at >= 0) this.#waiting.splice(at, 1);
    },
  };
  readonly #waiting: (() => void)[] = [];
  readonly #time: ManualTime;

  constructor(time: ManualTime) {
    this.#time = time;
  }

  /** Looks at every turn once all its promises have settled, until none is asked for. */
  async each(look: () => void): Promise<void> {
    for (;;) {
      await this.#time.settle();
      look();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next();
    }
  }
}
