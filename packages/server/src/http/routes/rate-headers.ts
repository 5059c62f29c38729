/**
 * The standard headers for the limit that was checked: RateLimit and RateLimit-Policy of
 * draft-ietf-httpapi-ratelimit-headers-10, and Retry-After on a denial.
 *
 * A policy is named by its override's or its namespace's id: ids are plain ASCII, names may be anything.
 */
export interface CheckedLimit {
  readonly policy: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly remaining: number;
  readonly reset: number;
  readonly success: boolean;
}

export interface RateHeaders {
  readonly policy: string;
  readonly rateLimit: string;
  /** Undefined unless denied. */
  readonly retryAfter: string | undefined;
}

export function rateHeadersOf(checked: CheckedLimit, nowMs: number): RateHeaders {
  const { policy, limit, durationMs, remaining, reset, success } = checked;
  // Whole seconds, rounded up: who comes back then must not be early.
  const windowS = Math.ceil(durationMs / 1000);
  const resetS = Math.max(0, Math.ceil((reset - nowMs) / 1000));
  return {
    policy: `"${policy}";q=${limit};w=${windowS}`,
    rateLimit: `"${policy}";r=${remaining};t=${resetS}`,
    retryAfter: success ? undefined : String(resetS),
  };
}
