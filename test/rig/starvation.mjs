/**
 * How long processes have waited for a processor that others had: what a figure on a busy machine must allow for.
 *
 * A call to a store that was slow because of that is told by arithmetic, not by a guess: the kernel says how long the caller and the
 * store waited for a processor during the call, and that must be all of the time beyond what a call takes in calm.
 */
import { readFileSync } from "node:fs";

/** How long a test waits for what takes a moment on a machine that is not starved. */
export const STARVED_MAX_MS = 60_000;

/**
 * Of the thread that asks, or of another process's main one, since its start. 0 where the kernel does not tell.
 *
 * @param {number | "thread-self"} pid
 * @returns {number}
 */
export function starvedMs(pid) {
  try {
    // Nanoseconds on a processor, nanoseconds waiting for one, and how often.
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Makes a call, and reports it if it took longer than `calmMs` for want of a processor alone.
 *
 * @template T
 * @param {() => Promise<T>} call
 * @param {number} storePid the process that answers
 * @param {number} calmMs
 * @param {(tookMs: number) => void} onStarved
 * @param {Set<() => void>} [pending] looks at the calls that are under way, and reports those that have taken too long already
 * @returns {Promise<T>}
 */
export async function watched(call, storePid, calmMs, onStarved, pending) {
  const starved = () => starvedMs("thread-self") + starvedMs(storePid);
  const beganMs = performance.now();
  const before = starved();
  const look = () => {
    const tookMs = performance.now() - beganMs;
    if (tookMs > calmMs && starved() - before >= tookMs - calmMs) onStarved(tookMs);
  };
  pending?.add(look);
  try {
    return await call();
  } finally {
    pending?.delete(look);
    look();
  }
}
