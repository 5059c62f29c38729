/**
 * What takes part: a limiter, or its in-memory store, called directly and without HTTP.
 *
 * `call` returns what the package itself returns, and the loop keeps that value, so that no compiler can drop the
 * object a caller would have received. Reading the answer (`isAllowed`, `used`) happens outside the timed loop.
 *
 * These are methods and not function-typed fields so that an `Instance<string, RateLimiterRes>` fits where the harness,
 * which never looks inside, asks for an `Instance`. No implementation may use `this`.
 */
export interface Instance<Key = unknown, Result = unknown> {
  /** One decision, as the package's middleware asks for it. A promise exactly when the contender is async. */
  call(key: Key): Result | Promise<Result>;
  isAllowed(result: Result): boolean;
  /** How much of the limit the key (of a batch: its first) has used, read right after `result` was returned. */
  used(result: Result, key: Key): number;
  close(): void | Promise<void>;
}

export interface Load {
  /** Keys the instance must be able to hold at once. */
  readonly keysMax: number;
  /** Calls allowed per key and window. */
  readonly limit: number;
}

/**
 * The window of every contender. A day: no run crosses its end by chance more than once a day, and timers that peers
 * set per key (24.8 days at most) still hold it.
 */
export const WINDOW_MS = 86_400_000;
