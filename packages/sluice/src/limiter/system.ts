/** The real clock, timers, randomness and warnings: the only file of the library that touches them. */
import type { Clock, Environment, Random, Timers } from "../core/clock.ts";

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monoMs: () => performance.now(),
};

export const systemTimers: Timers = {
  set(callback, delayMs, keepsAlive = false) {
    const handle: unknown = setTimeout(callback, delayMs);
    if (!keepsAlive) unref(handle);
    return handle;
  },
  clear(handle) {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

/** Where a timer is a number, as in browsers: Deno has a function for it, and elsewhere no timer keeps a process alive. */
function unref(handle: unknown): void {
  const timer = handle as { unref?: () => void } | number;
  if (typeof timer === "object") timer.unref?.();
  else (globalThis as { Deno?: { unrefTimer?: (timer: number) => void } }).Deno?.unrefTimer?.(timer);
}

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

/** A warning for whoever runs the process: on standard error, once per call. */
export function systemWarn(message: string, code: string): void {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  if (process?.emitWarning !== undefined) process.emitWarning(message, { code });
  // biome-ignore lint/suspicious/noConsole: where there is no process to warn, the console is all there is.
  else console.warn(`${message} (${code})`);
}
