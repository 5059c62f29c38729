/** The requests of a limiter, and the checks before anything is counted. */
import { COST_MAX, LIMIT_MAX } from "../core/bounds.ts";
import type { Duration } from "../core/duration.ts";
import { SluiceError } from "../core/errors.ts";

/** Names a key: what is being limited. */
export interface KeyRequest {
  /** The tenant, default `"default"`. */
  readonly workspace?: string | undefined;
  readonly namespace: string;
  readonly identifier: string;
  /** The window: milliseconds, or a string such as `"10s"`, `"5m"`, `"1h"`, `"30d"`. From 1 s to 30 d. */
  readonly duration: Duration;
}

export interface LimitRequest extends KeyRequest {
  /** Maximum total cost per window: an integer from 0 (a ban) to 2^40. Not part of the key. */
  readonly limit: number;
  /** Cost of this request: an integer from 0 (a peek: nothing is counted) to 2^40, default 1. */
  readonly cost?: number | undefined;
}

export interface InspectRequest extends KeyRequest {
  /** The limit to compute `remaining` for. Default: the lowest limit that allowed a request in the last window of the key. */
  readonly limit?: number | undefined;
}

export function checkRequest(request: unknown): asserts request is object {
  if (typeof request !== "object" || request === null) {
    throw new SluiceError("RL_REQUEST_INVALID", "request", request);
  }
}

export function checkLimit(limit: unknown): asserts limit is number {
  if (typeof limit === "number" && limit >= 0 && limit <= LIMIT_MAX && Math.floor(limit) === limit) return;
  throw new SluiceError("RL_LIMIT_INVALID", "limit", limit);
}

export function checkCost(cost: unknown, field = "cost"): asserts cost is number {
  if (typeof cost === "number" && cost >= 0 && cost <= COST_MAX && Math.floor(cost) === cost) return;
  throw new SluiceError("RL_COST_INVALID", field, cost);
}
