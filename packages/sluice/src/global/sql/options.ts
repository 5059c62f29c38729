/**
 * How to reach a database server: checked at construction, with an error that names the option and never shows a password.
 *
 * A server that is away, refuses the password or lacks the tables is no misuse: that is counted, and tried again.
 */
import { SluiceError } from "../../core/errors.ts";
import type { SqlCountersSettings } from "./sql-counters.ts";

/** What Node's `tls.connect` takes: `ca`, `cert`, `key`, `servername`, `rejectUnauthorized`, … */
export type SqlTls = Readonly<Record<string, unknown>>;

export interface SqlPlace<Pool> {
  /** `mysql://[user[:password]@]host[:port]/database`, or `postgres://…`. */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: string | undefined;
  readonly tls?: boolean | SqlTls | undefined;
  /** A pool that its owner makes and closes. */
  readonly pool?: Pool | undefined;
}

export interface SqlOptions<Pool> extends SqlPlace<Pool>, SqlTableOptions {
  /** Where imports are read, if not where counts are written: a replica. It may lag. */
  readonly read?: SqlPlace<Pool> | undefined;
  /** How long a connection may take, sign-in included: 10 to 60,000 ms, default 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a statement may take: 10 to 60,000 ms, default 5000. Its connection is given up then. */
  readonly statementTimeoutMs?: number | undefined;
}

export interface SqlTableOptions {
  /** What the names of all tables begin with: default `"sluice_"`. */
  readonly tablePrefix?: string | undefined;
  /** Whether missing tables are made at the start, where the user may: default true. */
  readonly migrate?: boolean | undefined;
}

export interface SqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly tls: SqlTls | null;
}

export type SqlEndpoint<Pool> =
  | { readonly kind: "server"; readonly address: SqlAddress }
  | { readonly kind: "pool"; readonly pool: Pool };

export interface SqlSettings<Pool> extends SqlCountersSettings {
  readonly write: SqlEndpoint<Pool>;
  readonly read: SqlEndpoint<Pool> | null;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** What tells the servers apart. */
export interface SqlScheme {
  readonly protocols: readonly string[];
  readonly port: number;
  isPool(pool: unknown): boolean;
}

export const SQL_TABLE_OPTIONS: readonly (keyof SqlTableOptions)[] = ["tablePrefix", "migrate"];
export const SQL_PLACE_OPTIONS: readonly (keyof SqlPlace<unknown>)[] = [
  "url",
  "host",
  "port",
  "user",
  "password",
  "database",
  "tls",
  "pool",
];
export const SQL_OPTIONS: readonly (keyof SqlOptions<unknown>)[] = [
  ...SQL_PLACE_OPTIONS,
  ...SQL_TABLE_OPTIONS,
  "read",
  "connectTimeoutMs",
  "statementTimeoutMs",
];

const PREFIX_DEFAULT = "sluice_";
/** It stands in statements as it is, so it is a plain name; index names, the longest, stay within PostgreSQL's 63. */
const IS_PREFIX = /^[a-z_][a-z0-9_]{0,31}$/;
/** Longer than a statement waits for locks: 1 s. */
const OVERLAP_MS = 1_000;
const TIMEOUT_DEFAULT_MS = 5_000;
const TIMEOUT_MIN_MS = 10;
const TIMEOUT_MAX_MS = 60_000;

export function readSqlOptions<Pool>(options: SqlOptions<Pool>, scheme: SqlScheme): SqlSettings<Pool> {
  return {
    ...readTableOptions(options),
    write: endpointOf(options, scheme, ""),
    read: options.read === undefined ? null : endpointOf(options.read, scheme, "read."),
    connectTimeoutMs: timeout("connectTimeoutMs", options.connectTimeoutMs),
    statementTimeoutMs: timeout("statementTimeoutMs", options.statementTimeoutMs),
  };
}

export function readTableOptions(options: SqlTableOptions): SqlCountersSettings {
  const { tablePrefix = PREFIX_DEFAULT, migrate = true } = options;
  if (typeof tablePrefix !== "string" || !IS_PREFIX.test(tablePrefix)) throw wrongOption("tablePrefix", tablePrefix);
  if (typeof migrate !== "boolean") throw wrongOption("migrate", migrate);
  return { tablePrefix, migrate, overlapMs: OVERLAP_MS };
}

/** Which of the ways was chosen: exactly one. */
function endpointOf<Pool>(given: SqlPlace<Pool>, scheme: SqlScheme, path: string): SqlEndpoint<Pool> {
  const { url, host, pool } = given ?? {};
  const chosen = Object.entries({ url, host, pool }).flatMap(([name, way]) => (way === undefined ? [] : [name]));
  if (chosen.length !== 1) throw wrongAddress(`${path}options`, chosen.length === 0 ? "none" : chosen.join(" and "));
  if (pool !== undefined) {
    if (!scheme.isPool(pool)) throw wrongAddress(`${path}pool`, pool);
    return { kind: "pool", pool };
  }
  const place = { ...given, ...fromUrl(url, scheme, path) };
  const { port = scheme.port, user, password, database, tls = false } = place;
  if (typeof place.host !== "string" || place.host === "") throw wrongAddress(`${path}host`, place.host);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw wrongAddress(`${path}port`, port);
  for (const [field, value] of Object.entries({ user, password, database })) {
    if (value !== undefined && typeof value !== "string") throw wrongOption(`${path}${field}`, value);
  }
  if (typeof tls !== "boolean" && (typeof tls !== "object" || tls === null)) throw wrongOption(`${path}tls`, tls);
  const how = tls === true ? {} : tls === false ? null : tls;
  return { kind: "server", address: { host: place.host, port, user, password, database, tls: how } };
}

/** What a URL says, as options. */
function fromUrl(url: string | undefined, scheme: SqlScheme, path: string): Partial<SqlPlace<never>> {
  if (url === undefined) return {};
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  const isKnown = parsed !== null && scheme.protocols.includes(parsed.protocol) && parsed.hostname !== "";
  // A wrong URL may hold a password all the same: of a text that is none, nothing is shown.
  if (!isKnown) throw wrongAddress(`${path}url`, parsed === null ? "a text that is no URL" : `${parsed.protocol}//…`);
  // What stands behind a question mark would silently mean nothing.
  if (parsed.search !== "") throw wrongAddress(`${path}url`, "a url with parameters: give them as options");
  const { hostname, port, username, password, pathname } = parsed;
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(port === "" ? {} : { port: Number(port) }),
    ...(username === "" ? {} : { user: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { database: decodeURIComponent(pathname.slice(1)) } : {}),
  };
}

function timeout(field: string, valueMs: number = TIMEOUT_DEFAULT_MS): number {
  if (Number.isFinite(valueMs) && valueMs >= TIMEOUT_MIN_MS && valueMs <= TIMEOUT_MAX_MS) return valueMs;
  throw wrongOption(field, valueMs);
}

function wrongAddress(field: string, value: unknown): SluiceError {
  return new SluiceError("RL_SQL_ADDRESS_INVALID", field, value);
}

/** A password is never shown. */
function wrongOption(field: string, value: unknown): SluiceError {
  return new SluiceError("RL_SQL_OPTION_INVALID", field, field.endsWith("password") ? typeof value : value);
}
