/**
 * Options of a database server: checked at construction, with an error that names the option and never shows a password.
 *
 * A server that is unavailable, refuses the password or lacks the tables is not misuse: it is counted as a failure and retried.
 */
import { OPTION_RULES, SluiceError } from "../../core/errors.ts";
import { PREFIX_DEFAULT } from "./schema.ts";
import type { SqlCountersSettings } from "./sql-counters.ts";
import { readSqlUrl, type SqlAddress, type SqlTls } from "./url.ts";

export interface SqlPlace<Pool> {
  /** `mysql://[user[:password]@]host[:port]/database`, or `postgres://…`. */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: string | undefined;
  readonly tls?: boolean | SqlTls | undefined;
  /** A pool that you create and close. */
  readonly pool?: Pool | undefined;
}

export interface SqlOptions<Pool> extends SqlPlace<Pool>, SqlTableOptions {
  /** A replica to read imports from. It may lag. Default: the server that counts are written to. */
  readonly read?: SqlPlace<Pool> | undefined;
  /** Maximum time to connect and authenticate: 10 to 60,000 ms, default 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Timeout of a statement: 10 to 60,000 ms, default 5000. After a timeout its connection is closed. */
  readonly statementTimeoutMs?: number | undefined;
}

export interface SqlTableOptions {
  /** Prefix of all table names: default `"sluice_"`. */
  readonly tablePrefix?: string | undefined;
  /** Whether to create missing tables at startup, if the user has the permission: default true. */
  readonly migrate?: boolean | undefined;
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

type AddressRule = keyof (typeof OPTION_RULES)["RL_SQL_ADDRESS_INVALID"];

/** How the options of one database server differ from the others'. */
export interface SqlScheme {
  readonly protocols: readonly string[];
  readonly port: number;
  /** The rules of `url` and `pool`, for errors. */
  readonly rules: { readonly url: AddressRule; readonly pool: AddressRule };
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

/** It is written into statements without quotes, so it is a plain name; index names, the longest, stay within PostgreSQL's 63. */
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

/** The one way to reach the server that the options name. */
function endpointOf<Pool>(given: SqlPlace<Pool>, scheme: SqlScheme, path: string): SqlEndpoint<Pool> {
  const { url, host, pool } = given ?? {};
  const chosen = Object.entries({ url, host, pool }).flatMap(([name, way]) => (way === undefined ? [] : [name]));
  if (chosen.length !== 1) {
    throw wrongAddress(`${path}options`, chosen.length === 0 ? "none" : chosen.join(" and "), "options");
  }
  if (pool !== undefined) {
    if (!scheme.isPool(pool)) throw wrongAddress(`${path}pool`, pool, scheme.rules.pool);
    return { kind: "pool", pool };
  }
  const place = { ...given, ...fromUrl(url, scheme, path) };
  const { port = scheme.port, user, password, database, tls = false } = place;
  if (typeof place.host !== "string" || place.host === "") throw wrongAddress(`${path}host`, place.host, "host");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw wrongAddress(`${path}port`, port, "port");
  for (const [field, value] of Object.entries({ user, password, database })) {
    if (value === undefined || typeof value === "string") continue;
    throw wrongOption(field as "user" | "password" | "database", value, path);
  }
  if (typeof tls !== "boolean" && (typeof tls !== "object" || tls === null)) throw wrongOption("tls", tls, path);
  const how = tls === true ? {} : tls === false ? null : tls;
  return { kind: "server", address: { host: place.host, port, user, password, database, tls: how } };
}

/** The options that a URL contains. */
function fromUrl(url: string | undefined, scheme: SqlScheme, path: string): Partial<SqlPlace<never>> {
  if (url === undefined) return {};
  const parsed = readSqlUrl(url);
  const isKnown = parsed !== null && scheme.protocols.includes(parsed.protocol) && parsed.host !== "";
  const wrongUrl = (shown: string) => wrongAddress(`${path}url`, shown, scheme.rules.url);
  // Even an invalid URL may contain a password: show at most its protocol.
  if (!isKnown) throw wrongUrl(parsed === null ? "not a URL" : `${parsed.protocol}//…`);
  // The parameters of a URL would be ignored silently.
  if (parsed.hasParameters) throw wrongUrl("a URL with parameters: pass them as options");
  const { host, port, user, password, database } = parsed;
  return {
    host,
    ...(port === undefined ? {} : { port }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
  };
}

function timeout(field: "connectTimeoutMs" | "statementTimeoutMs", valueMs: number = TIMEOUT_DEFAULT_MS): number {
  if (Number.isFinite(valueMs) && valueMs >= TIMEOUT_MIN_MS && valueMs <= TIMEOUT_MAX_MS) return valueMs;
  throw wrongOption(field, valueMs);
}

const { RL_SQL_ADDRESS_INVALID: ADDRESS_RULES, RL_SQL_OPTION_INVALID: RULES } = OPTION_RULES;

function wrongAddress(field: string, value: unknown, rule: AddressRule): SluiceError {
  return new SluiceError("RL_SQL_ADDRESS_INVALID", field, value, { rule: ADDRESS_RULES[rule] });
}

/** A password is never shown. */
function wrongOption(option: keyof typeof RULES, value: unknown, path = ""): SluiceError {
  const shown = option === "password" ? typeof value : value;
  return new SluiceError("RL_SQL_OPTION_INVALID", `${path}${option}`, shown, { rule: RULES[option] });
}
