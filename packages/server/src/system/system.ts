/** The real clock, timers and randomness of the server and its commands: passed in everywhere, so that a test can pass its own. */
import { randomFillSync } from "node:crypto";
import type { Clock, Random, Timers } from "sluice";

export interface Environment {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Unguessable: keys are made of it. */
  readonly random: Random;
}

const STARTED_MS = performance.timeOrigin;

/** Unix time as of the start of this process, and the monotonic clock since: it never goes back, and processes of a machine agree. */
export function steadyMs(): number {
  return STARTED_MS + performance.now();
}

const word = new Uint32Array(1);

export const SYSTEM: Environment = {
  clock: { wallMs: () => Date.now(), monoMs: () => performance.now() },
  timers: {
    set: (callback, delayMs, keepsAlive = false) => {
      const handle = setTimeout(callback, delayMs);
      if (!keepsAlive) handle.unref();
      return handle;
    },
    clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
  },
  random: { uint32: () => randomFillSync(word)[0]! },
};
