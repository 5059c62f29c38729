/**
 * Options of a Redis origin: checked at construction, with an error that names the option and never shows a password.
 *
 * A server that is unavailable, refuses the password or is too old is not misuse: an event reports it, and the origin retries.
 */
import { OPTION_RULES, SluiceError } from "../../core/errors.ts";
import { isPart } from "../../core/part.ts";
import { type IoredisClient, isIoredis, whyNot } from "./ioredis-client.ts";

export interface RedisAddress {
  readonly host: string;
  /** Default 6379, or 26379 for a Sentinel. */
  readonly port?: number | undefined;
}

/** Options of Node's `tls.connect`: `ca`, `cert`, `key`, `servername`, `rejectUnauthorized`, … */
export type RedisTls = Readonly<Record<string, unknown>>;

export interface RedisSentinels {
  /** The name of the master in the configuration of the Sentinels. */
  readonly name: string;
  readonly nodes: readonly RedisAddress[];
  /** The user of the Sentinels themselves. Default: none. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** A client of `@redis/client` (or `redis`) that you connect and close: for one server, a Cluster or Sentinels. */
export interface RedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: each of the three kinds has its own order of arguments.
  sendCommand(...args: any[]): Promise<unknown>;
}

export interface RedisOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]` */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** A Unix socket. */
  readonly path?: string | undefined;
  readonly sentinel?: RedisSentinels | undefined;
  /** Some nodes of a Cluster; the origin discovers the others. */
  readonly cluster?: readonly RedisAddress[] | undefined;
  /** A client that you connect and close: `@redis/client`, `redis`, or `ioredis` with `autoResendUnfulfilledCommands: false`. */
  readonly client?: RedisClient | IoredisClient | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: number | undefined;
  readonly tls?: boolean | RedisTls | undefined;
  /** Prefix of all keys: default `"sluice:"`. Braces are not allowed. */
  readonly keyPrefix?: string | undefined;
  /** Maximum time to connect and authenticate: 10 to 60,000 ms, default 1000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Timeout of a command: 10 to 60,000 ms, default 1000. A connection without any reply for this long is closed and made again. */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * Whether a proxy stands before Redis that keeps connections while it replaces the servers behind them: default false. A connection then does not
   * show that its server is the same, so what Redis has counted itself is sent again with the next flush.
   */
  readonly proxy?: boolean | undefined;
}

export type RedisPlace =
  | { readonly kind: "server"; readonly address: RedisAddress | { readonly path: string } }
  | { readonly kind: "sentinel"; readonly sentinels: RedisSentinels }
  | { readonly kind: "cluster"; readonly nodes: readonly RedisAddress[] }
  | { readonly kind: "client"; readonly client: RedisClient | IoredisClient };

export interface RedisSettings {
  readonly place: RedisPlace;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: RedisTls | null;
  readonly keyPrefix: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly proxy: boolean;
}

export const REDIS_OPTIONS: readonly (keyof RedisOptions)[] = [
  "url",
  "host",
  "port",
  "path",
  "sentinel",
  "cluster",
  "client",
  "username",
  "password",
  "database",
  "tls",
  "keyPrefix",
  "connectTimeoutMs",
  "commandTimeoutMs",
  "proxy",
];

const PORT_DEFAULT = 6379;
const PREFIX_DEFAULT = "sluice:";
const PREFIX_LENGTH_MAX = 128;
const TIMEOUT_DEFAULT_MS = 1_000;
const TIMEOUT_MIN_MS = 10;
const TIMEOUT_MAX_MS = 60_000;
const DATABASE_MAX = 65_535;

export function readRedisOptions(given: RedisOptions): RedisSettings {
  const options = { ...given, ...fromUrl(given.url) };
  checkAgainstUrl(given, options);
  const { keyPrefix = PREFIX_DEFAULT, database = 0, username, password, proxy = false } = options;
  // `rediss:` turns TLS on; an object configures it.
  const tls = given.tls ?? options.tls ?? false;
  const isPrefix = keyPrefix === "" || (isPart(keyPrefix) && keyPrefix.length <= PREFIX_LENGTH_MAX);
  if (!isPrefix || /[{}]/.test(keyPrefix)) throw new SluiceError("RL_REDIS_PREFIX_INVALID", "keyPrefix", keyPrefix);
  for (const [field, value] of Object.entries({ username, password })) {
    if (value !== undefined && typeof value !== "string") throw wrongOption(field as "username" | "password", value);
  }
  if (!Number.isInteger(database) || database < 0 || database > DATABASE_MAX) throw wrongOption("database", database);
  if (options.cluster !== undefined && database !== 0) throw wrongOption("database", database, "databaseOfCluster");
  if (typeof tls !== "boolean" && (typeof tls !== "object" || tls === null)) throw wrongOption("tls", tls);
  if (typeof proxy !== "boolean") throw wrongOption("proxy", proxy);
  return {
    place: placeOf(given, options),
    username,
    password,
    database,
    tls: tls === true ? {} : tls === false ? null : tls,
    keyPrefix,
    connectTimeoutMs: timeout("connectTimeoutMs", options.connectTimeoutMs),
    commandTimeoutMs: timeout("commandTimeoutMs", options.commandTimeoutMs),
    proxy,
  };
}

/**
 * An option must not contradict the URL. Nor can `tls: false` override a URL that asks for TLS: a password must not be sent
 * unencrypted by mistake.
 */
function checkAgainstUrl(given: RedisOptions, options: RedisOptions): void {
  if (given.url === undefined) return;
  for (const field of ["username", "password", "database"] as const) {
    if (given[field] === undefined || given[field] === options[field]) continue;
    throw wrongOption(field, given[field], "besideUrl");
  }
  if (options.tls === true && given.tls === false) throw wrongOption("tls", given.tls, "tlsBesideUrl");
}

/** The one way to reach Redis that the options name. */
function placeOf(given: RedisOptions, options: RedisOptions): RedisPlace {
  const { host, port, path, sentinel, cluster, client } = options;
  const ways = { url: given.url, host: given.host, path, sentinel, cluster, client };
  const chosen = Object.entries(ways).flatMap(([name, way]) => (way === undefined ? [] : [name]));
  if (chosen.length !== 1)
    throw wrongAddress("options", chosen.length === 0 ? "none" : chosen.join(" and "), "options");
  if (client !== undefined) {
    if (isIoredis(client)) {
      const why = whyNot(client);
      if (why !== undefined) throw wrongAddress("client", why, "client");
    } else if (typeof client?.sendCommand !== "function") throw wrongAddress("client", client, "client");
    return { kind: "client", client };
  }
  if (sentinel !== undefined) {
    if (!isPart(sentinel?.name)) throw wrongAddress("sentinel.name", sentinel?.name, "sentinelName");
    checkNodes("sentinel.nodes", sentinel.nodes);
    return { kind: "sentinel", sentinels: sentinel };
  }
  if (cluster !== undefined) {
    checkNodes("cluster", cluster);
    return { kind: "cluster", nodes: cluster };
  }
  if (path !== undefined) {
    if (typeof path !== "string" || path === "") throw wrongAddress("path", path, "path");
    return { kind: "server", address: { path } };
  }
  const address = { host: host as string, port: port ?? PORT_DEFAULT };
  checkAddress("host", address, "host");
  return { kind: "server", address };
}

function checkNodes(field: string, nodes: unknown): void {
  if (!Array.isArray(nodes) || nodes.length === 0) throw wrongAddress(field, nodes, "nodes");
  nodes.forEach((node: unknown, i) => {
    checkAddress(`${field}[${i}]`, node, "node");
  });
}

function checkAddress(field: string, address: unknown, rule: "host" | "node"): void {
  if (typeof address !== "object" || address === null) throw wrongAddress(field, address, rule);
  const { host, port } = address as Partial<RedisAddress>;
  if (typeof host !== "string" || host === "") throw wrongAddress(field, host, rule);
  if (port !== undefined && !isPort(port)) throw wrongAddress("port", port, "port");
}

function isPort(port: unknown): boolean {
  return Number.isInteger(port) && (port as number) > 0 && (port as number) < 65_536;
}

/** The options that a URL contains. */
function fromUrl(url: string | undefined): Partial<RedisOptions> {
  if (url === undefined) return {};
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  const isRedis = parsed !== null && ["redis:", "rediss:"].includes(parsed.protocol) && parsed.hostname !== "";
  // Even an invalid URL may contain a password: show at most its protocol.
  if (!isRedis) throw wrongAddress("url", parsed === null ? "not a URL" : `${parsed.protocol}//…`, "url");
  const { protocol, hostname, port, username, password, pathname } = parsed;
  const database = pathname.length > 1 ? Number(pathname.slice(1)) : undefined;
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(port === "" ? {} : { port: Number(port) }),
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(database === undefined ? {} : { database }),
    tls: protocol === "rediss:",
  };
}

type TimeoutOption = "connectTimeoutMs" | "commandTimeoutMs";

function timeout(field: TimeoutOption, valueMs: number = TIMEOUT_DEFAULT_MS): number {
  if (Number.isFinite(valueMs) && valueMs >= TIMEOUT_MIN_MS && valueMs <= TIMEOUT_MAX_MS) return valueMs;
  throw wrongOption(field, valueMs);
}

const { RL_REDIS_ADDRESS_INVALID: ADDRESS_RULES, RL_REDIS_OPTION_INVALID: RULES } = OPTION_RULES;

function wrongAddress(field: string, value: unknown, rule: keyof typeof ADDRESS_RULES): SluiceError {
  return new SluiceError("RL_REDIS_ADDRESS_INVALID", field, value, { rule: ADDRESS_RULES[rule] });
}

type CheckedOption = "username" | "password" | "database" | "tls" | "proxy" | TimeoutOption;

/** A password is never shown. */
function wrongOption(field: CheckedOption, value: unknown, rule: keyof typeof RULES = field): SluiceError {
  const shown = field === "password" ? typeof value : value;
  return new SluiceError("RL_REDIS_OPTION_INVALID", field, shown, { rule: RULES[rule] });
}
