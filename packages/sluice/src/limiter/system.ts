/** The real clock, timers and randomness: the only file of the library that touches them. */
import type { Clock, Environment, Random, Timers } from "../core/clock.ts";

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monoMs: () => performance.now(),
};

export const systemTimers: Timers = {
  set(callback, delayMs, keepsAlive = false) {
    const handle = setTimeout(callback, delayMs);
    if (!keepsAlive) handle.unref();
    return handle;
  },
  clear(handle) {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

/** Drawn in blocks: a call into the generator costs far more than the numbers it gives. */
const block = new Uint32Array(64);
let used = block.length;

export const systemRandom: Random = {
  uint32() {
    if (used === block.length) {
      crypto.getRandomValues(block);
      used = 0;
    }
    return block[used++]!;
  },
};

/** All three, for stores that run by themselves. */
export const SYSTEM: Environment = { clock: systemClock, timers: systemTimers, random: systemRandom };
