/**
 * The headers that tell a client its limits: those of draft-ietf-httpapi-ratelimit-headers-10, or an older form.
 *
 * Times are whole seconds, rounded up: a client that waits for that long is never early. The older forms have room for one limit, which
 * is the one that decided.
 */
import type { RateLimitDecision } from "./verdict.ts";

/** `draft-10` is the newest draft of the IETF; `legacy` are the `X-RateLimit-*` fields, with Unix seconds as reset. */
export type HeaderFormat = "draft-10" | "draft-7" | "draft-6" | "legacy";

/** Names and values by turns: what every framework can set without another object. */
export type HeaderList = readonly string[];

export const HEADER_FORMATS: readonly HeaderFormat[] = ["draft-10", "draft-7", "draft-6", "legacy"];

/** The fields of each format, for `Access-Control-Expose-Headers`. */
const FIELDS: Readonly<Record<HeaderFormat, string>> = {
  "draft-10": "RateLimit, RateLimit-Policy",
  "draft-7": "RateLimit, RateLimit-Policy",
  "draft-6": "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy",
  legacy: "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
};

export function exposedFields(format: HeaderFormat): string {
  return `${FIELDS[format]}, Retry-After`;
}

/** The headers of a decision that asked at least one policy. `nowMs`: by the clock of the limiter that decided. */
export function rateHeaders(verdict: RateLimitDecision, format: HeaderFormat, nowMs: number): HeaderList {
  switch (format) {
    case "draft-10":
      return newest(verdict, nowMs);
    case "draft-7": {
      const { limit, remaining, reset } = verdict;
      const rate = `limit=${limit}, remaining=${remaining}, reset=${secondsUntil(reset, nowMs)}`;
      return ["RateLimit-Policy", quotas(verdict), "RateLimit", rate];
    }
    case "draft-6": {
      const policy = ["RateLimit-Policy", quotas(verdict)];
      return [...policy, ...three("RateLimit", verdict, secondsUntil(verdict.reset, nowMs))];
    }
    case "legacy":
      return three("X-RateLimit", verdict, Math.ceil(verdict.reset / 1_000));
  }
}

/** Whole seconds until then, rounded up, never negative. */
export function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((atMs - nowMs) / 1_000));
}

function newest({ policies }: RateLimitDecision, nowMs: number): HeaderList {
  let quota = "";
  let rate = "";
  for (const { name, durationMs, decision } of policies) {
    const comma = quota === "" ? "" : ", ";
    const label = quoted(name);
    quota += `${comma}${label};q=${decision.limit};w=${windowSeconds(durationMs)}`;
    rate += `${comma}${label};r=${decision.remaining};t=${secondsUntil(decision.reset, nowMs)}`;
  }
  return ["RateLimit-Policy", quota, "RateLimit", rate];
}

/** A name as a string of RFC 9651. Names are printable ASCII: options.ts sees to it. */
function quoted(name: string): string {
  return `"${/["\\]/.test(name) ? name.replaceAll(/["\\]/g, "\\$&") : name}"`;
}

function windowSeconds(durationMs: number): number {
  return Math.ceil(durationMs / 1_000);
}

function quotas({ policies }: RateLimitDecision): string {
  return policies.map(({ decision, durationMs }) => `${decision.limit};w=${windowSeconds(durationMs)}`).join(", ");
}

function three(prefix: string, { limit, remaining }: RateLimitDecision, reset: number): HeaderList {
  return [`${prefix}-Limit`, `${limit}`, `${prefix}-Remaining`, `${remaining}`, `${prefix}-Reset`, `${reset}`];
}
