/**
 * Why a request is not carried out, without any protocol in it. Each listener translates it into its own words: HTTP into a problem with a
 * status (http/pipeline/refusal.ts).
 *
 * A denial is not a refusal: it is a decision. After a refusal nothing was counted.
 */
import { AdminStoreAway, NamespaceLimitReached, TooManyChanges } from "../admin/admin-store.ts";

export type RefusalKind =
  | "invalid_input"
  | "key_not_found"
  | "key_disabled"
  | "workspace_disabled"
  | "insufficient_permissions"
  | "quota_exceeded"
  | "stream_limit_reached"
  | "cost_above_quota"
  | "namespace_not_found"
  | "namespace_gone"
  | "namespace_limit_reached"
  | "unavailable";

/** The part of a request that is invalid. */
export interface RefusedField {
  readonly field: string;
  /** Its place in a batch; undefined for a single request. */
  readonly item: number | undefined;
  /** What the caller can do about it. */
  readonly fix: string | undefined;
}

/** Long enough for a store or a server to recover, short enough that callers try again. */
const RETRY_AFTER_S = 1;

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: RefusalKind;
  /** Set if one field is invalid; the message then continues its name. */
  readonly at: RefusedField | undefined;
  /** Seconds after which trying again makes sense. */
  readonly retryAfterS: number | undefined;

  constructor(
    kind: RefusalKind,
    message: string,
    more: { readonly at?: RefusedField; readonly retryAfterS?: number } = {},
  ) {
    super(message);
    this.kind = kind;
    this.at = more.at;
    this.retryAfterS = more.retryAfterS;
  }

  /** `message` continues the name of the field: "is missing". */
  static at(
    field: string,
    message: string,
    more: { readonly item?: number | undefined; readonly fix?: string } = {},
  ): Refusal {
    return new Refusal("invalid_input", message, { at: { field, item: more.item, fix: more.fix } });
  }

  static unavailable(message: string): Refusal {
    return new Refusal("unavailable", `${message} Try again.`, { retryAfterS: RETRY_AFTER_S });
  }
}

/** The refusal that an error of a store or of the limiter amounts to; undefined if it is a defect of the server. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof AdminStoreAway) {
    return Refusal.unavailable("The store of namespaces, overrides and keys is unavailable.");
  }
  if (error instanceof TooManyChanges) return Refusal.unavailable(`The change was not made: ${error.message}.`);
  if (error instanceof NamespaceLimitReached) {
    const advice = "Delete some, or increase the server's setting namespacesMax.";
    return new Refusal("namespace_limit_reached", `The namespace was not created: ${error.message}. ${advice}`);
  }
  if ((error as { code?: unknown } | null)?.code === "RL_CLOSED") return Refusal.unavailable("The server is stopping.");
  return undefined;
}
