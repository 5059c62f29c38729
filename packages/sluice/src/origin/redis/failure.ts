/**
 * Kinds of Redis failures: classified by the error code at the start of a reply, or by the text of a client error.
 *
 * Kinds are for counting, for events and for the few places that act on one. A failure never reaches a caller of the
 * limiter: the layer above decides without the origin.
 */

export type RedisFailureKind =
  /** Refused, reset, closed, not resolved, or not connected now. */
  | "connection"
  /** No response in time. The command may have been executed anyway. */
  | "timeout"
  | "tls"
  /** Wrong or missing user or password. */
  | "auth"
  /** The user lacks a permission: docs/operating.md lists those that are needed. */
  | "permission"
  /** The server does not support a required command. */
  | "version"
  | "loading"
  | "readonly"
  /** Out of memory, and the eviction policy is noeviction. */
  | "oom"
  /** Temporarily unable to write: a script is running, the disk is full, or a replica is missing. */
  | "busy"
  /** A Cluster is moving slots, or is down. */
  | "cluster"
  /** The key of a cell holds a value of another type. */
  | "wrongtype"
  /** An impossible value or reply. */
  | "junk"
  /** Too many commands are waiting. */
  | "overload"
  | "other";

export class RedisFailure extends Error {
  override readonly name = "RedisFailure";
  readonly kind: RedisFailureKind;

  constructor(kind: RedisFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

const BY_CODE: ReadonlyMap<string, RedisFailureKind> = new Map(
  Object.entries({
    WRONGPASS: "auth",
    NOAUTH: "auth",
    NOPERM: "permission",
    LOADING: "loading",
    READONLY: "readonly",
    MASTERDOWN: "readonly",
    OOM: "oom",
    BUSY: "busy",
    MISCONF: "busy",
    NOREPLICAS: "busy",
    TRYAGAIN: "cluster",
    MOVED: "cluster",
    ASK: "cluster",
    CLUSTERDOWN: "cluster",
    CROSSSLOT: "cluster",
    WRONGTYPE: "wrongtype",
    JUNK: "junk",
    NOPROTO: "version",
  } as const),
);

/** Errors without a code: the first pattern that matches. */
const BY_TEXT: readonly (readonly [RegExp, RedisFailureKind])[] = [
  [/has no permissions|ACL failure|the user executing the script can't/i, "permission"],
  [/unknown command/i, "version"],
  [/without any password configured|invalid (username|password)|AUTH failed/i, "auth"],
  [/queue is full/i, "overload"],
  [/certificate|SSL|TLS|EPROTO/i, "tls"],
  [
    /ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|EPIPE|closed|disconnect|offline|max number of clients/i,
    "connection",
  ],
  [/time(d )?out|timeout/i, "timeout"],
];

export function failureOf(error: unknown): RedisFailure {
  if (error instanceof RedisFailure) return error;
  const { code, message } = describe(error);
  return new RedisFailure(kindOf(message, code), message === "" ? code : message);
}

/** Within how many words of a message its code is looked for. */
const WORDS_MAX = 16;

/** The kind of an error reply, or of a client's complaint. Scripts of old servers put their own words before the code. */
function kindOf(message: string, code: string): RedisFailureKind {
  for (const word of message.split(/[\s:-]+/, WORDS_MAX)) {
    const kind = BY_CODE.get(word);
    if (kind !== undefined) return kind;
  }
  return BY_TEXT.find(([pattern]) => pattern.test(message) || pattern.test(code))?.[1] ?? "other";
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const code = "code" in error ? String(error.code) : "";
  // Several addresses were tried: each failed in its own way, and the first says why.
  if (error instanceof AggregateError && error.message === "") return { code, message: String(error.errors[0]) };
  return { code, message: error.message };
}
