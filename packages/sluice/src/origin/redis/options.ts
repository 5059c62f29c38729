/**
 * How to reach a Redis: checked at construction, with an error that names the option and never shows a password.
 *
 * A server that is away, refuses the password or is too old is no misuse: that is told by an event, and tried again.
 */
import { SluiceError } from "../../core/errors.ts";
import { isPart } from "../../core/part.ts";
import { type IoredisClient, isIoredis, whyNot } from "./ioredis-client.ts";

export interface RedisAddress {
  readonly host: string;
  /** Default 6379; of a Sentinel 26379. */
  readonly port?: number | undefined;
}

/** What Node's `tls.connect` takes: `ca`, `cert`, `key`, `servername`, `rejectUnauthorized`, … */
export type RedisTls = Readonly<Record<string, unknown>>;

export interface RedisSentinels {
  /** What the Sentinels call the master. */
  readonly name: string;
  readonly nodes: readonly RedisAddress[];
  /** The Sentinels' own user; none if not given. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** A client of `@redis/client` (or `redis`) that its owner connects and closes: a single one, a Cluster or a Sentinel client. */
export interface RedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: the three kinds take their arguments in three ways.
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
  /** Some nodes of a Cluster; the others are found. */
  readonly cluster?: readonly RedisAddress[] | undefined;
  /** A client that you connect and close: of `@redis/client` or `redis`, or of `ioredis` with `autoResendUnfulfilledCommands: false`. */
  readonly client?: RedisClient | IoredisClient | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: number | undefined;
  readonly tls?: boolean | RedisTls | undefined;
  /** What every key begins with: default `"sluice:"`. No braces. */
  readonly keyPrefix?: string | undefined;
  /** How long a connection may take, sign-in included: 10 to 60,000 ms, default 1000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a command may take: 10 to 60,000 ms, default 1000. A connection that is silent for so long is given up. */
  readonly commandTimeoutMs?: number | undefined;
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
  const { keyPrefix = PREFIX_DEFAULT, database = 0, username, password } = options;
  // `rediss:` says that there is TLS; an object says how.
  const tls = given.tls ?? options.tls ?? false;
  const isPrefix = keyPrefix === "" || (isPart(keyPrefix) && keyPrefix.length <= PREFIX_LENGTH_MAX);
  if (!isPrefix || /[{}]/.test(keyPrefix)) throw new SluiceError("RL_REDIS_PREFIX_INVALID", "keyPrefix", keyPrefix);
  for (const [field, value] of Object.entries({ username, password })) {
    if (value !== undefined && typeof value !== "string") throw signIn(field, value);
  }
  if (!Number.isInteger(database) || database < 0 || database > DATABASE_MAX) throw signIn("database", database);
  if (options.cluster !== undefined && database !== 0) throw signIn("database", database);
  if (typeof tls !== "boolean" && (typeof tls !== "object" || tls === null)) throw signIn("tls", tls);
  return {
    place: placeOf(given, options),
    username,
    password,
    database,
    tls: tls === true ? {} : tls === false ? null : tls,
    keyPrefix,
    connectTimeoutMs: timeout("connectTimeoutMs", options.connectTimeoutMs),
    commandTimeoutMs: timeout("commandTimeoutMs", options.commandTimeoutMs),
  };
}

/**
 * What an option says must not be at odds with the URL. One that says TLS is not taken back by an option either: a password must
 * not go out in the clear by mistake.
 */
function checkAgainstUrl(given: RedisOptions, options: RedisOptions): void {
  if (given.url === undefined) return;
  for (const field of ["username", "password", "database"] as const) {
    if (given[field] !== undefined && given[field] !== options[field]) throw signIn(field, given[field]);
  }
  if (options.tls === true && given.tls === false) throw signIn("tls", given.tls);
}

/** Which of the ways was chosen: exactly one. */
function placeOf(given: RedisOptions, options: RedisOptions): RedisPlace {
  const { host, port, path, sentinel, cluster, client } = options;
  const ways = { url: given.url, host: given.host, path, sentinel, cluster, client };
  const chosen = Object.entries(ways).flatMap(([name, way]) => (way === undefined ? [] : [name]));
  if (chosen.length !== 1) throw wrongAddress("options", chosen.length === 0 ? "none" : chosen.join(" and "));
  if (client !== undefined) {
    if (isIoredis(client)) {
      const why = whyNot(client);
      if (why !== undefined) throw wrongAddress("client", why);
    } else if (typeof client?.sendCommand !== "function") throw wrongAddress("client", client);
    return { kind: "client", client };
  }
  if (sentinel !== undefined) {
    if (!isPart(sentinel?.name)) throw wrongAddress("sentinel.name", sentinel?.name);
    checkNodes("sentinel.nodes", sentinel.nodes);
    return { kind: "sentinel", sentinels: sentinel };
  }
  if (cluster !== undefined) {
    checkNodes("cluster", cluster);
    return { kind: "cluster", nodes: cluster };
  }
  if (path !== undefined) {
    if (typeof path !== "string" || path === "") throw wrongAddress("path", path);
    return { kind: "server", address: { path } };
  }
  const address = { host: host as string, port: port ?? PORT_DEFAULT };
  checkAddress("host", address);
  return { kind: "server", address };
}

function checkNodes(field: string, nodes: unknown): void {
  if (!Array.isArray(nodes) || nodes.length === 0) throw wrongAddress(field, nodes);
  nodes.forEach((node: unknown, i) => {
    checkAddress(`${field}[${i}]`, node);
  });
}

function checkAddress(field: string, address: unknown): void {
  if (typeof address !== "object" || address === null) throw wrongAddress(field, address);
  const { host, port } = address as Partial<RedisAddress>;
  if (typeof host !== "string" || host === "") throw wrongAddress(field, host);
  if (port !== undefined && !isPort(port)) throw wrongAddress("port", port);
}

function isPort(port: unknown): boolean {
  return Number.isInteger(port) && (port as number) > 0 && (port as number) < 65_536;
}

/** What a URL says, as options. */
function fromUrl(url: string | undefined): Partial<RedisOptions> {
  if (url === undefined) return {};
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  const isRedis = parsed !== null && ["redis:", "rediss:"].includes(parsed.protocol) && parsed.hostname !== "";
  // A wrong URL may hold a password all the same: of a text that is none, nothing is shown.
  if (!isRedis) throw wrongAddress("url", parsed === null ? "a text that is no URL" : `${parsed.protocol}//…`);
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

function timeout(field: string, valueMs: number = TIMEOUT_DEFAULT_MS): number {
  if (Number.isFinite(valueMs) && valueMs >= TIMEOUT_MIN_MS && valueMs <= TIMEOUT_MAX_MS) return valueMs;
  throw signIn(field, valueMs);
}

function wrongAddress(field: string, value: unknown): SluiceError {
  return new SluiceError("RL_REDIS_ADDRESS_INVALID", field, value);
}

/** A password is never shown. */
function signIn(field: string, value: unknown): SluiceError {
  return new SluiceError("RL_REDIS_OPTION_INVALID", field, field === "password" ? typeof value : value);
}
