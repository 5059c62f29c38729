/**
 * The real clock, timers and randomness of the server and its commands: passed in everywhere, so that a test can pass its own. They are
 * the library's. Its randomness is of cryptographic quality, which the server relies on: keys are made of it.
 */
export { type Environment, SYSTEM } from "sluice/internal";

const STARTED_MS = performance.timeOrigin;

/** Unix time as of the start of this process, and the monotonic clock since: it never goes back, and processes of a machine agree. */
export function steadyMs(): number {
  return STARTED_MS + performance.now();
}
