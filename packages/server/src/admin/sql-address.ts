/** Where a database server is, out of a URL; what is wrong with one is said without showing a password. */
import { InputError } from "../input/input-error.ts";

export interface SqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string;
  /** What Node's `tls.connect` takes; null: no TLS. */
  readonly tls: Readonly<Record<string, unknown>> | null;
  readonly timeoutMs: number;
}

/** What a connection, sign-in included, and each statement may take, before the connection is given up. */
export const TIMEOUT_MS = 5_000;
/** A lock of somebody else's: less than a statement may take, so that it is told apart. */
export const LOCK_TIMEOUT_S = 2;

export type SqlManner = Pick<SqlAddress, "tls" | "timeoutMs">;

export function sqlAddress(url: string, portDefault: number, { tls, timeoutMs }: SqlManner): SqlAddress {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const form = "scheme://user:password@host:port/database";
  if (parsed === null || parsed.hostname === "") {
    throw new InputError(`the SQL URL must be ${form}; got a text that is not a URL`, "see docs/configuration.md");
  }
  const { hostname, port, username, password, pathname, search } = parsed;
  if (pathname.length < 2) throw new InputError(`the SQL URL must be ${form}; got no database`, "add /database");
  if (search !== "")
    throw new InputError(`the SQL URL must be ${form}; got parameters`, "remove the parameters (from ? on)");
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? portDefault : Number(port),
    user: username === "" ? undefined : decodeURIComponent(username),
    password: password === "" ? undefined : decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    tls,
    timeoutMs,
  };
}
