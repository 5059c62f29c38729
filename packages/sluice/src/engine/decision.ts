/** The answer to one request: a value, never an exception. */

/**
 * Why a decision is what it is.
 *
 * - `allowed`: it fits, and its cost was counted
 * - `limit`: denied, the window is too full for this cost
 * - `cost`: denied, the cost (in a batch: with the earlier items of its cell) is above the limit and never fits
 * - `batch`: it fits by itself, but another item of its batch does not: nothing was counted
 * - `full`: the cell table had no room for a record, and `whenFull` decided
 * - `reserved`: denied, the window has no room for this cost beside the reservations of the key
 * - `holds`: a reservation was denied, because the key or this process has too many
 * - `charged`: the answer to a charge, which is counted whether it fits or not
 * - `timeout`: denied, a take did not fit within the time that it may wait
 * - `waiters`: denied, too many takes wait already
 */
export type Reason =
  | "allowed"
  | "limit"
  | "cost"
  | "batch"
  | "full"
  | "charged"
  | "timeout"
  | "waiters"
  | "reserved"
  | "holds";

/** Where the counts came from: this process's memory alone, or a read of the origin made for this request. */
export type Source = "local" | "origin";

export interface Decision {
  readonly success: boolean;
  readonly limit: number;
  /** What is left after this request: `limit - current`, never below 0. */
  readonly remaining: number;
  /**
   * Unix milliseconds. Allowed: the end of the current window. Denied: the earliest moment at which this same cost would
   * fit if nothing else arrived; for a cost above the limit, which never fits, the end of the current window.
   */
  readonly reset: number;
  /** The effective count: the current window, the previous one's share, and the cost of this request. */
  readonly current: number;
  readonly reason: Reason;
  readonly source: Source;
  /**
   * Decided without information the rules asked for: a store was away, other regions were not read yet after a start, or the cell
   * table was full.
   */
  readonly degraded: boolean;
  /**
   * Milliseconds from the decision until `reset`; 0 if `success` is true. The same cost fits then, unless other requests are counted
   * first. For reason `cost` it does not: that cost never fits this limit. For reason `full` it depends on room in the cell table.
   */
  readonly retryAfterMs: number;
}

export interface BatchDecision {
  /** True: every item fits and all were counted. False: none was counted. */
  readonly success: boolean;
  /** One a request, in order. An item's `success` says whether it fits on top of the earlier items of its cell that fit. */
  readonly decisions: readonly Decision[];
}

/** The state of a key after a charge. */
export interface Charge extends Decision {
  /** Whether the key is still within its limit: `current` is at most `limit`. The cost was counted either way. */
  readonly success: boolean;
  /** How far the key is above its limit; 0 if `success` is true. */
  readonly over: number;
  /**
   * Unix milliseconds. Within the limit: the end of the current window. Above it: the earliest moment at which a request of cost 1
   * fits if nothing else arrives; for a limit of 0, under which nothing fits, the end of the current window.
   */
  readonly reset: number;
  /** `charged`; `full` if the cell table had no room for a record: then nothing was counted. */
  readonly reason: "charged" | "full";
}

export interface ChargesDecision {
  /** Whether every key is still within its limit. */
  readonly success: boolean;
  /** One per request, in order, each as of the moment after it and all before it were counted. */
  readonly decisions: readonly Charge[];
}

/** All decisions are made here, so that they share one hidden class. */
export function decision(
  success: boolean,
  limit: number,
  remaining: number,
  reset: number,
  current: number,
  reason: Reason,
  source: Source,
  degraded: boolean,
  retryAfterMs: number,
): Decision {
  return {
    success,
    limit: small(limit),
    remaining: small(remaining),
    reset,
    current: small(current),
    reason,
    source,
    degraded,
    retryAfterMs: small(retryAfterMs),
  };
}

/** All charges are made here, for the same reason. `current`: with this charge. */
export function charged(
  limit: number,
  resetMs: number,
  current: number,
  reason: Charge["reason"],
  success: boolean,
  retryAfterMs: number,
): Charge {
  return {
    success,
    limit: small(limit),
    remaining: small(Math.max(0, limit - current)),
    over: small(Math.max(0, current - limit)),
    reset: resetMs,
    current: small(current),
    reason,
    source: "local",
    degraded: reason === "full",
    retryAfterMs: small(retryAfterMs),
  };
}

/**
 * A number that came from a typed array, as a small integer if it is one: stored as they come, doubles would make the
 * fields of every decision boxed ones, two more objects each.
 */
function small(count: number): number {
  const int = count | 0;
  // Stryker disable next-line ConditionalExpression: the same number, kept as a double; true was killed
  return int === count ? int : count;
}
