/**
 * The answer to a denied request: status, headers and body, whatever the framework.
 *
 * The default body is a problem of RFC 9457, with the types and the member `violated-policies` of
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import { type HeaderList, secondsUntil } from "./rate-headers.ts";
import type { RateLimitDecision } from "./verdict.ts";

export interface Answer {
  readonly status: number;
  /** Names and values by turns. */
  readonly headers: HeaderList;
  readonly body: string;
}

/** A body: a string is sent as plain text, anything else as JSON. */
export type Message = string | object;

const TYPES = "https://iana.org/assignments/http-problem-types#";
const STATUS_DENIED = 429;
const STATUS_REFUSED = 403;
const STATUS_DEGRADED = 503;

/** The status of a denial: 403 for a request that no waiting helps, 503 while a store is unavailable, 429 otherwise. */
function statusOf({ reason }: RateLimitDecision): number {
  if (reason === "address" || reason === "key") return STATUS_REFUSED;
  return reason === "degraded" ? STATUS_DEGRADED : STATUS_DENIED;
}

/** Whole seconds, rounded up: never before the decision's reset. Undefined if the same request never fits. */
export function retryAfterSeconds(verdict: RateLimitDecision): number | undefined {
  if (verdict.retryAfterMs === 0) return undefined;
  const neverFits = verdict.policies.some(({ decision }) => decision.reason === "cost");
  return neverFits ? undefined : secondsUntil(verdict.retryAfterMs, 0);
}

/** The answer, without the headers of limits. */
export function answerOf(
  verdict: RateLimitDecision,
  options: { readonly status: number | undefined; readonly message: Message | undefined },
): Answer {
  const { status = statusOf(verdict), message } = options;
  const retryAfterS = retryAfterSeconds(verdict);
  const retry = retryAfterS === undefined ? [] : ["Retry-After", String(retryAfterS)];
  const [type, body] =
    message === undefined
      ? ["application/problem+json", JSON.stringify(problemOf(verdict, status, retryAfterS))]
      : typeof message === "string"
        ? ["text/plain; charset=utf-8", message]
        : ["application/json; charset=utf-8", JSON.stringify(message)];
  return { status, headers: [...retry, "Content-Type", type], body };
}

function problemOf(verdict: RateLimitDecision, status: number, retryAfterS: number | undefined): object {
  const { reason } = verdict;
  if (reason === "address")
    return { type: "about:blank", title: "Forbidden", status, detail: "This client is denied." };
  if (reason === "key") return { type: "about:blank", title: "Forbidden", status, detail: "The request has no key." };
  const violated = verdict.policies.filter(({ decision }) => !decision.success).map(({ name }) => name);
  if (reason === "degraded") {
    return {
      type: `${TYPES}temporary-reduced-capacity`,
      title: "Request cannot be satisfied due to temporary server capacity constraints",
      status,
      detail: "The limits cannot be checked at the moment.",
      "violated-policies": verdict.policies.map(({ name }) => name),
    };
  }
  return {
    type: `${TYPES}quota-exceeded`,
    title: "Request cannot be satisfied as assigned quota has been exceeded",
    status,
    detail:
      retryAfterS === undefined
        ? "The cost of this request is above the limit."
        : `Try again in ${retryAfterS} ${retryAfterS === 1 ? "second" : "seconds"}.`,
    "violated-policies": violated,
  };
}
