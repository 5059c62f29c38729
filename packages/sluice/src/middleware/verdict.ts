/** What a middleware decided about one request: every policy's decision, and the one that matters most. */
import type { Decision, Reason } from "../engine/decision.ts";

/**
 * Why a request was allowed or denied: the reason of the policy that decided, or
 *
 * - `skipped`: no policy was asked: `skip` or `allowList` said so, or no policy has a key for this request
 * - `address`: denied, the client's address is in `denyList`
 * - `key`: denied, the request has no key and `onMissingKey` is `"deny"`
 * - `degraded`: denied, a store is unavailable and `degraded` is `"deny"`
 */
export type VerdictReason = Reason | "skipped" | "address" | "key" | "degraded";

/** One policy's part of a decision. */
export interface PolicyDecision {
  readonly name: string;
  readonly identifier: string;
  readonly durationMs: number;
  readonly cost: number;
  /** True if a request that is counted by its outcome was counted before it. */
  readonly isCounted?: boolean;
  readonly decision: Decision;
}

/**
 * The decision on a request: `req.rateLimit` and its like. The numbers are those of the policy that decided: the first one that denies, or
 * else the one with the least remaining. They are 0 where no policy was asked.
 */
export interface RateLimitDecision {
  /** Whether the request is allowed. With `shadow` it is let through even if this is false. */
  readonly success: boolean;
  /** The name of the policy that decided; undefined if none was asked. */
  readonly policy: string | undefined;
  readonly reason: VerdictReason;
  readonly limit: number;
  readonly remaining: number;
  /** Unix milliseconds by the limiter's clock; see `Decision.reset`. */
  readonly reset: number;
  /** Milliseconds until every policy that denied would allow the same request, if nothing else arrives; 0 if it is allowed. */
  readonly retryAfterMs: number;
  /** Whether a store was unavailable, or another reason of `Decision.degraded` applies, for one of the policies. */
  readonly degraded: boolean;
  /** One for each policy that was asked, in their order. */
  readonly policies: readonly PolicyDecision[];
}

/** No policy was asked. */
export function unasked(success: boolean, reason: "skipped" | "address" | "key"): RateLimitDecision {
  return {
    success,
    policy: undefined,
    reason,
    limit: 0,
    remaining: 0,
    reset: 0,
    retryAfterMs: 0,
    degraded: false,
    policies: [],
  };
}

/** One policy was asked. Apart from `verdictOf`, because nearly every middleware has one. */
export function verdictOfOne(policy: PolicyDecision): RateLimitDecision {
  const { success, reason, limit, remaining, reset, retryAfterMs, degraded } = policy.decision;
  return {
    success,
    policy: policy.name,
    reason,
    limit,
    remaining,
    reset,
    retryAfterMs,
    degraded,
    policies: [policy],
  };
}

/** Several policies were asked as one batch. */
export function verdictOf(policies: readonly PolicyDecision[]): RateLimitDecision {
  const denied = policies.filter(({ decision }) => !decision.success);
  const [first] = policies;
  if (first === undefined) return unasked(true, "skipped");
  const least = (a: PolicyDecision, b: PolicyDecision) => (b.decision.remaining < a.decision.remaining ? b : a);
  const deciding = denied[0] ?? policies.reduce(least);
  return {
    ...verdictOfOne(deciding),
    retryAfterMs: Math.max(0, ...denied.map(({ decision }) => decision.retryAfterMs)),
    degraded: policies.some(({ decision }) => decision.degraded),
    policies,
  };
}
