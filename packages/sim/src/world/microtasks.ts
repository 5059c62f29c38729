/**
 * Lets the promises of the code under test run to their end: the one place where the simulator meets the real event loop.
 *
 * Node runs the queue of ticks only when no microtask is left, so a tick set from a microtask comes after every
 * continuation, however long the chain. 0.5 µs; a turn of `setImmediate` does the same for 2 µs, and counting `await`s
 * guesses how deep a chain may be.
 */
export function microtasksDone(): Promise<void> {
  // biome-ignore lint/style/noRestrictedGlobals: nothing real is observed, only the end of what is under way
  return new Promise((resolve) => process.nextTick(resolve));
}
