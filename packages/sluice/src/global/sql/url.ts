/** Where a database server is, and what its URL says of it. What is wrong with a URL is the caller's to say, without a password. */

/** Options of Node's `tls.connect`: `ca`, `cert`, `key`, `servername`, `rejectUnauthorized`, … */
export type SqlTls = Readonly<Record<string, unknown>>;

export interface SqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** Null: no TLS. */
  readonly tls: SqlTls | null;
}

/** The parts of a URL; undefined: not in it. */
export interface SqlUrl {
  /** With its colon: `mysql:`. */
  readonly protocol: string;
  /** Without the brackets of an IPv6 address; may be empty. */
  readonly host: string;
  readonly port: number | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** Whether it has parameters (from the question mark on). */
  readonly hasParameters: boolean;
}

/** Null if the text is not a URL, or has a percent sign that encodes nothing. */
export function readSqlUrl(url: unknown): SqlUrl | null {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null) return null;
  const { protocol, hostname, port, username, password, pathname, search } = parsed;
  try {
    return {
      protocol,
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? undefined : Number(port),
      user: decoded(username),
      password: decoded(password),
      database: decoded(pathname.slice(1)),
      hasParameters: search !== "",
    };
  } catch {
    return null;
  }
}

function decoded(text: string): string | undefined {
  return text === "" ? undefined : decodeURIComponent(text);
}
