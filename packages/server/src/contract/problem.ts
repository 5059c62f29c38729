/**
 * The table of problems: everything that a request can be refused with, and the form in which it is told.
 *
 * A denial is no problem: it is an answer. `type` is stable and ends as the clients of the API expect; docs/http-api.md lists the
 * same table, and a test holds the two together.
 */

export const PROBLEMS = {
  invalid_input: { status: 400, title: "Bad Request", type: "application/invalid_input" },
  cost_above_quota: { status: 400, title: "Bad Request", type: "limits/cost_above_quota" },
  malformed_authorization: { status: 400, title: "Bad Request", type: "authentication/malformed" },
  key_not_found: { status: 401, title: "Unauthorized", type: "authentication/key_not_found" },
  insufficient_permissions: {
    status: 403,
    title: "Insufficient Permissions",
    type: "authorization/insufficient_permissions",
  },
  key_disabled: { status: 403, title: "Key is disabled", type: "authorization/key_disabled" },
  workspace_disabled: { status: 403, title: "Workspace is disabled", type: "authorization/workspace_disabled" },
  namespace_limit_reached: { status: 403, title: "Too Many Namespaces", type: "limits/namespace_limit_reached" },
  override_limit_reached: { status: 403, title: "Too Many Overrides", type: "limits/override_limit_reached" },
  key_limit_reached: { status: 403, title: "Too Many Keys", type: "limits/key_limit_reached" },
  route_not_found: { status: 404, title: "Not Found", type: "application/route_not_found" },
  namespace_not_found: { status: 404, title: "Not Found", type: "data/ratelimit_namespace_not_found" },
  override_not_found: { status: 404, title: "Not Found", type: "data/ratelimit_override_not_found" },
  managed_key_not_found: { status: 404, title: "Not Found", type: "data/key_not_found" },
  hitters_off: { status: 404, title: "Not Found", type: "application/hitters_off" },
  method_not_allowed: { status: 405, title: "Method Not Allowed", type: "application/method_not_allowed" },
  request_timeout: { status: 408, title: "Request Timeout", type: "application/request_timeout" },
  namespace_name_taken: { status: 409, title: "Conflict", type: "data/ratelimit_namespace_name_taken" },
  key_not_rotatable: { status: 409, title: "Conflict", type: "data/key_not_rotatable" },
  namespace_gone: { status: 410, title: "Resource Gone", type: "data/ratelimit_namespace_gone" },
  body_too_large: { status: 413, title: "Payload Too Large", type: "application/body_too_large" },
  unsupported_media_type: {
    status: 415,
    title: "Unsupported Media Type",
    type: "application/unsupported_media_type",
  },
  misdirected_request: { status: 421, title: "Misdirected Request", type: "application/misdirected_request" },
  quota_exceeded: { status: 429, title: "Too Many Requests", type: "limits/workspace_quota_exceeded" },
  stream_limit_reached: { status: 429, title: "Too Many Streams", type: "limits/stream_limit_reached" },
  authentication_failures: { status: 429, title: "Too Many Requests", type: "authentication/too_many_failures" },
  headers_too_large: { status: 431, title: "Request Header Fields Too Large", type: "application/headers_too_large" },
  internal_error: { status: 500, title: "Internal Server Error", type: "application/internal_error" },
  unavailable: { status: 503, title: "Service Unavailable", type: "application/unavailable" },
} as const;

export type ProblemKind = keyof typeof PROBLEMS;

/** One place of a request that is wrong. */
export interface Flaw {
  /** Where: `body.cost`, `body[3].limit`. */
  readonly location: string;
  readonly message: string;
  readonly fix?: string | undefined;
}

/** Thrown inside a route, told to the caller. Nothing was counted. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly kind: ProblemKind;
  readonly flaws: readonly Flaw[] | undefined;
  /** Seconds after which asking again makes sense. */
  readonly retryAfterS: number | undefined;

  constructor(
    kind: ProblemKind,
    detail: string,
    more: { readonly flaws?: readonly Flaw[]; readonly retryAfterS?: number } = {},
  ) {
    super(detail);
    this.kind = kind;
    this.flaws = more.flaws;
    this.retryAfterS = more.retryAfterS;
  }

  /** A 400 for one place. */
  static at(location: string, message: string, fix?: string): Problem {
    return new Problem("invalid_input", `${location} ${message}`, { flaws: [{ location, message, fix }] });
  }

  get status(): number {
    return PROBLEMS[this.kind].status;
  }

  /** The body of the answer. */
  toBody(requestId: string): object {
    const { status, title, type } = PROBLEMS[this.kind];
    const errors = this.flaws === undefined ? {} : { errors: this.flaws };
    return { meta: { requestId }, error: { title, detail: this.message, status, type: `/errors/${type}`, ...errors } };
  }
}
