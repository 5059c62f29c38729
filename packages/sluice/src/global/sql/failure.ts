/**
 * Kinds of database failures, the same for all databases. Each driver maps its own codes to them.
 *
 * Kinds are for counting and for the few places that act on one. A failure never reaches a caller of the limiter: a round of
 * the global layer fails, and the next one does its work.
 */

export type SqlFailureKind =
  /** Refused, reset, closed, not resolved, shutting down, or no connection available. */
  | "connection"
  /** No response in time. The statement may have been executed anyway. */
  | "timeout"
  | "tls"
  /** Wrong or missing user, password or database. */
  | "auth"
  /** The user lacks a permission: docs/operating.md lists those that are needed. */
  | "permission"
  /** The tables do not exist, or belong to a newer release. */
  | "schema"
  | "deadlock"
  /** Another session held a lock for too long. */
  | "lock"
  /** A replica, or a former primary. */
  | "readonly"
  /** The server refused this row. */
  | "refused"
  /** A statement is larger than the server accepts (max_allowed_packet). */
  | "packet"
  /** The disk of the server is full. */
  | "full"
  /** Two origins use one region's name. */
  | "region"
  | "other";

export class SqlFailure extends Error {
  override readonly name = "SqlFailure";
  readonly kind: SqlFailureKind;

  constructor(kind: SqlFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Worth doing again at once: the statement was not done, and somebody else is through by now. */
export const PASSING: ReadonlySet<SqlFailureKind> = new Set(["deadlock", "lock"]);

/** The connection is of no more use; another one may do. */
export const BROKEN: ReadonlySet<SqlFailureKind> = new Set(["connection", "timeout", "tls", "readonly"]);

/** Complaints of sockets and of TLS, which are the same in all drivers: the first that matches. */
const BY_TEXT: readonly (readonly [RegExp, SqlFailureKind])[] = [
  [/certificate|self.signed|EPROTO|\bSSL\b|\bTLS\b/i, "tls"],
  [
    /ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|EPIPE|ENOENT|clos(ed|ing)|terminated|disconnect|lost|ended|not queryable/i,
    "connection",
  ],
  [/time(d ?)?out/i, "timeout"],
];

/** The failure of an error, by the code of the driver first. */
export function sqlFailure(error: unknown, kinds: ReadonlyMap<string, SqlFailureKind>): SqlFailure {
  if (error instanceof SqlFailure) return error;
  const { code, message } = describe(error);
  const kind =
    kinds.get(code) ??
    // SQLSTATE: the first two characters are the class.
    kinds.get(code.slice(0, 2)) ??
    BY_TEXT.find(([pattern]) => pattern.test(code) || pattern.test(message))?.[1] ??
    "other";
  return new SqlFailure(kind, message === "" ? code : message);
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const { code, errno, errcode } = error as { code?: unknown; errno?: unknown; errcode?: unknown };
  // Several addresses were tried: each failed in its own way, and the first says why.
  if (error instanceof AggregateError && error.message === "") return describe(error.errors[0]);
  // node:sqlite and mysql2 tell by number, the others by text.
  const told = typeof errcode === "number" ? errcode : typeof errno === "number" && errno > 0 ? errno : code;
  return { code: String(told ?? ""), message: error.message };
}
