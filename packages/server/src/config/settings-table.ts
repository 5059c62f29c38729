/** Every setting of `sluice serve`. docs/configuration.md lists the same, and a test holds the two together. */
import { integerWithin, numberWithin, oneOf, type ReadValue, wholeSpanWithin } from "../input/readings.ts";
import { CONVERGENCE_SETTINGS } from "./convergence-table.ts";
import { type Setting, suggestion } from "./setting.ts";
import { optional, setting } from "./setting-row.ts";

const DAY_MS = 86_400_000;
const KIB = 1_024;
const LEVELS = ["debug", "info", "warn", "error"] as const;

/** A text of visible characters, without blanks at its ends. */
function textWithin(low: number, high: number): ReadValue<string> {
  return (value) => {
    if (typeof value !== "string" || value.trim() !== value || !value.isWellFormed() || /\p{Cc}/u.test(value)) {
      return undefined;
    }
    const { length } = [...value];
    return length >= low && length <= high ? value : undefined;
  };
}

function urlOf(...protocols: string[]): ReadValue<string> {
  return (value) => {
    if (typeof value !== "string" || !URL.canParse(value)) return undefined;
    const url = new URL(value);
    const isPlain = protocols.includes(url.protocol) && url.search === "" && url.hash === "" && isDecodable(url);
    return isPlain && isWhole(url) ? value : undefined;
  };
}

function isWhole({ protocol, hostname, pathname }: URL): boolean {
  // A database in memory would be another one for every connection.
  if (protocol === "sqlite:") return hostname === "" && pathname !== "" && pathname !== ":memory:";
  return hostname !== "" && (protocol.startsWith("redis") ? /^\/?\d{0,5}$/.test(pathname) : pathname.length > 1);
}

/** A per cent sign in a password must be written as %25. */
function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    decodeURIComponent(username + password + pathname);
    return true;
  } catch {
    return false;
  }
}

/** 0 and 1 are what environments have for it. */
const isOn: ReadValue<boolean> = (value) => {
  if (typeof value === "boolean") return value;
  if (value === "true" || value === "1") return true;
  return value === "false" || value === "0" ? false : undefined;
};

/** Commas between, or a list in a file. */
const listOf: ReadValue<readonly string[]> = (value) => {
  const items: unknown[] = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  const names = items.map((item) => (typeof item === "string" ? item.trim() : ""));
  return names.length > 0 && names.every((name) => /^[^\s,/]{1,253}$/.test(name)) ? names : undefined;
};

/** OpenTelemetry's way to write several names with a value each; a value may be empty, and a comma may stand at the end. */
function pairsOf(name: RegExp, allowed: RegExp): ReadValue<Readonly<Record<string, string>>> {
  return (value) => {
    if (typeof value !== "string" || !value.isWellFormed()) return undefined;
    const pairs: Record<string, string> = {};
    for (const pair of value.split(",").filter((item) => item.trim() !== "")) {
      const [, key = "", text = ""] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      const plain = decoded(text);
      if (!name.test(key) || plain === undefined || !allowed.test(plain)) return undefined;
      pairs[key] = plain;
    }
    return Object.keys(pairs).length > 0 ? pairs : undefined;
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Bytes: a number of them, or with KiB or MiB. */
function bytesWithin(low: number, high: number): ReadValue<number> {
  const plain = integerWithin(low, high);
  return (value) => {
    const [, count, unit] = typeof value === "string" ? (/^(\d+)(KiB|MiB)$/.exec(value) ?? []) : [];
    return plain(count === undefined ? value : Number(count) * (unit === "KiB" ? KIB : KIB * KIB));
  };
}

const ROOT_KEY = /^[\x21-\x7e]{20,512}$/;
const IDENTIFIER_KEY = /^[\x21-\x7e]{16,512}$/;
const REQUESTS = ["off", "errors", "all"] as const;
const IDENTIFIERS = ["hashed", "plain"] as const;

export const SETTINGS = {
  host: setting({
    path: "host",
    value: "<address>",
    help: "the address to listen on; any address other than loopback needs TLS or --allow-plain-http",
    rule: "an address or a name of this machine",
    read: textWithin(1, 253),
    initialText: "127.0.0.1",
    hint: "127.0.0.1 listens on this machine only, 0.0.0.0 on all its networks",
  }),
  port: setting({
    path: "port",
    value: "<n>",
    help: "the port to listen on; 0 takes any free port, and prints it",
    rule: "an integer from 0 to 65535",
    read: integerWithin(0, 65_535),
    initialText: "8080",
    hint: (value) =>
      /^tcp:/.test(String(value))
        ? "Kubernetes sets this for a Service named sluice: give the pod enableServiceLinks: false"
        : "such as 8080",
  }),
  data: setting({
    path: "data",
    value: "<dir>",
    help: "the folder of the embedded store; created if it does not exist",
    rule: "a folder",
    read: textWithin(1, 4_096),
    initialText: "sluice-data",
    hint: "such as /var/lib/sluice",
  }),
  workers: setting({
    path: "workers",
    value: "<n>",
    help: "the number of worker processes; they share the port and the counts",
    rule: "an integer from 1 to 256",
    read: integerWithin(1, 256),
    initialText: "1",
    hint: "start with one per core",
  }),
  region: setting({
    path: "region",
    value: "<name>",
    help: "the region that this server counts for; servers that share a Redis are one region",
    rule: "1 to 64 characters",
    read: textWithin(1, 64),
    initialText: "default",
    hint: "such as eu-west",
  }),
  redisUrl: optional<string>({
    path: "redis.url",
    value: "<url>",
    help: "the Redis that the servers of this region share",
    rule: "a redis:// or rediss:// URL with a host, and a database number if it is not 0; without parameters",
    read: urlOf("redis:", "rediss:"),
    hint: "such as redis://redis.internal:6379/0; with redis://user:password@… only in the environment or a separate file; write % in a password as %25",
    secret: "url",
  }),
  sqlUrl: optional<string>({
    path: "sql.url",
    value: "<url>",
    help: "the database that all regions share: counts, namespaces, overrides and keys",
    rule: "a mysql:// or postgres:// URL with a host and a database, or sqlite: with the path of a file; without parameters",
    read: urlOf("mysql:", "mariadb:", "postgres:", "postgresql:", "sqlite:"),
    hint: "such as mysql://db.internal/sluice or sqlite:/var/lib/sluice/shared.db; with mysql://user:password@… only in the environment or a separate file; write % in a password as %25",
    secret: "url",
  }),
  redisCaFile: optional<string>({
    path: "redis.caFile",
    value: "<path>",
    help: "the certificate authority (PEM) that the certificate of a rediss:// server is checked against",
    rule: "a file",
    read: textWithin(1, 4_096),
    hint: "such as /etc/sluice/redis-ca.pem",
  }),
  redisProxy: setting({
    path: "redis.proxy",
    value: "",
    help: "a proxy stands before Redis and keeps connections while it replaces the servers behind them",
    rule: "true or false",
    read: isOn,
    initialText: "false",
    hint: "true or false",
  }),
  sqlTls: setting({
    path: "sql.tls",
    value: "",
    help: "use TLS for the connections to the database",
    rule: "true or false",
    read: isOn,
    initialText: "false",
    hint: "true or false",
  }),
  sqlCaFile: optional<string>({
    path: "sql.caFile",
    value: "<path>",
    help: "the certificate authority (PEM) that the certificate of the database is checked against; with sql.tls",
    rule: "a file",
    read: textWithin(1, 4_096),
    hint: "such as /etc/sluice/sql-ca.pem",
  }),
  rootKey: optional<string>(
    {
      path: "rootKey",
      value: "<key>",
      help: "the first root key of the workspace default, instead of a generated one",
      rule: "20 to 512 printable ASCII characters without spaces",
      read: (value) => (typeof value === "string" && ROOT_KEY.test(value) ? value : undefined),
      hint: "such as the output of: openssl rand -hex 32",
      secret: "token",
    },
    "generated at the first start",
  ),
  tlsCertFile: optional<string>({
    path: "tls.certFile",
    value: "<path>",
    help: "the certificate with its chain (PEM); turns HTTPS on",
    rule: "a file",
    read: textWithin(1, 4_096),
    hint: "such as /etc/sluice/cert.pem",
  }),
  tlsKeyFile: optional<string>({
    path: "tls.keyFile",
    value: "<path>",
    help: "the private key of the certificate (PEM)",
    rule: "a file",
    read: textWithin(1, 4_096),
    hint: "such as /etc/sluice/key.pem",
  }),
  allowPlainHttp: setting({
    path: "allowPlainHttp",
    value: "",
    help: "allow an address other than loopback without TLS; keys can then be read on the network, unless a proxy terminates TLS",
    rule: "true or false",
    read: isOn,
    initialText: "false",
    hint: "true or false",
  }),
  hosts: optional<readonly string[]>(
    {
      path: "http.hosts",
      value: "<names>",
      help: "the accepted values of the Host header, separated by commas",
      rule: "a list of names, separated by commas",
      read: listOf,
      hint: "such as limits.example.com,10.0.0.7",
    },
    "localhost, 127.0.0.1 and [::1] if it listens on loopback, otherwise any",
  ),
  bodyMax: setting({
    path: "http.bodyMax",
    value: "<size>",
    help: "maximum size of a request body",
    rule: "from 1KiB to 64MiB",
    read: bytesWithin(KIB, 64 * KIB * KIB),
    initialText: "1MiB",
    hint: "bytes, or a number with KiB or MiB",
  }),
  connectionsMax: setting({
    path: "http.connectionsMax",
    value: "<n>",
    help: "maximum open connections per worker",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "10000",
    hint: "such as 10000",
  }),
  requestTimeout: setting({
    path: "http.requestTimeout",
    value: "<time>",
    help: "maximum time to receive a complete request",
    rule: "whole milliseconds from 1s to 5m",
    read: wholeSpanWithin(1_000, 300_000),
    initialText: "10s",
    hint: 'milliseconds, or a number with a unit: "10s", "1m"',
  }),
  quotaLimit: optional<number>(
    {
      path: "quota.limit",
      value: "<n>",
      help: "maximum requests of a workspace per quota.duration, unless the workspace has its own quota",
      rule: "an integer from 1 to 1099511627776",
      read: integerWithin(1, 2 ** 40),
      hint: "such as 10000",
    },
    "unlimited",
  ),
  quotaDuration: setting({
    path: "quota.duration",
    value: "<time>",
    help: "the window of quota.limit",
    rule: "whole milliseconds from 1s to 30d",
    read: wholeSpanWithin(1_000, 30 * DAY_MS),
    initialText: "10s",
    hint: 'milliseconds, or a number with a unit: "10s", "1m"',
  }),
  cells: setting({
    path: "cells",
    value: "<n>",
    help: "maximum keys in the memory of a worker, about 350 bytes each, never more than 690",
    rule: "an integer from 1 to 16000000",
    read: integerWithin(1, 16_000_000),
    initialText: "1048576",
    hint: "such as 1048576",
  }),
  ...CONVERGENCE_SETTINGS,
  namespacesMax: setting({
    path: "namespacesMax",
    value: "<n>",
    help: "maximum namespaces per workspace; every server holds all of them in memory",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "10000",
    hint: "such as 10000",
  }),
  namespacesKeep: setting({
    path: "namespacesKeep",
    value: "<time>",
    help: "how long a deleted namespace can be restored; later it is purged, as is the oldest beyond namespacesMax deleted ones",
    rule: "whole milliseconds from 1d to 36500d",
    read: wholeSpanWithin(DAY_MS, 36_500 * DAY_MS),
    initialText: "90d",
    hint: 'milliseconds, or a number with a unit: "90d"',
  }),
  overridesMax: setting({
    path: "overrides.max",
    value: "<n>",
    help: "maximum overrides per namespace; every server holds all of them in memory, about 700 bytes each; a long identifier counts once per 128 characters",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "20000",
    hint: "such as 20000",
  }),
  overridesWorkspaceMax: setting({
    path: "overrides.workspaceMax",
    value: "<n>",
    help: "maximum overrides per workspace, in all its namespaces",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "100000",
    hint: "such as 100000",
  }),
  overridesStarsMax: setting({
    path: "overrides.starsMax",
    value: "<n>",
    help: "maximum stars in the patterns of a namespace; each one adds to the cost of a new identifier",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "20000",
    hint: "such as 20000",
  }),
  overridesWorkspaceStarsMax: setting({
    path: "overrides.workspaceStarsMax",
    value: "<n>",
    help: "maximum stars in the patterns of a workspace",
    rule: "an integer from 1 to 1000000",
    read: integerWithin(1, 1_000_000),
    initialText: "100000",
    hint: "such as 100000",
  }),
  adminAgeMax: optional<number>(
    {
      path: "admin.ageMax",
      value: "<time>",
      help: "maximum age of keys, namespaces and overrides while their store is unavailable; after it, requests get status 503",
      rule: "whole milliseconds from 10s to 365d",
      read: wholeSpanWithin(10_000, 365 * DAY_MS),
      hint: 'milliseconds, or a number with a unit: "1h"',
    },
    "any age",
  ),
  auditKeep: setting({
    path: "audit.keep",
    value: "<time>",
    help: "how long changes stay in the audit trail; older entries are deleted when new ones are added",
    rule: "whole milliseconds from 1d to 36500d",
    read: wholeSpanWithin(DAY_MS, 36_500 * DAY_MS),
    initialText: "400d",
    hint: 'milliseconds, or a number with a unit: "90d"',
  }),
  auditMax: setting({
    path: "audit.max",
    value: "<size>",
    help: "the largest audit trail of a workspace; beyond it the oldest changes are deleted, even before audit.keep",
    rule: "from 1MiB to 1048576MiB",
    read: bytesWithin(KIB * KIB, KIB ** 4),
    initialText: "256MiB",
    hint: "bytes, or a number with KiB or MiB",
  }),
  hittersNamespaces: setting({
    path: "hitters.namespaces",
    value: "<n>",
    help: "maximum namespaces per worker with top identifiers, about 100 KiB each, at most 420 KiB; 0 turns top identifiers off",
    rule: "an integer from 0 to 10000",
    read: integerWithin(0, 10_000),
    initialText: "64",
    hint: "such as 64",
  }),
  usageEnabled: setting({
    path: "usage.enabled",
    value: "<true|false>",
    help: "keep a history of use by namespace in the store of namespaces and keys",
    rule: "true or false",
    read: isOn,
    initialText: "true",
    hint: "true or false",
  }),
  usageMinutes: setting({
    path: "usage.minutes",
    value: "<time>",
    help: "how long the history of use is kept by the minute",
    rule: "whole milliseconds from 1h to 7d",
    read: wholeSpanWithin(DAY_MS / 24, 7 * DAY_MS),
    initialText: "6h",
    hint: 'milliseconds, or a number with a unit: "6h"',
  }),
  usageHours: setting({
    path: "usage.hours",
    value: "<time>",
    help: "how long the history of use is kept by the hour",
    rule: "whole milliseconds from 1d to 366d",
    read: wholeSpanWithin(DAY_MS, 366 * DAY_MS),
    initialText: "30d",
    hint: 'milliseconds, or a number with a unit: "30d"',
  }),
  usageDays: setting({
    path: "usage.days",
    value: "<time>",
    help: "how long the history of use is kept by the day",
    rule: "whole milliseconds from 1d to 3650d",
    read: wholeSpanWithin(DAY_MS, 3_650 * DAY_MS),
    initialText: "400d",
    hint: 'milliseconds, or a number with a unit: "400d"',
  }),
  uiEnabled: optional<boolean>(
    {
      path: "ui.enabled",
      value: "<true|false>",
      help: "serve the live page at /ui; it needs a key, and every call is checked as any other",
      rule: "true or false",
      read: isOn,
      hint: "true or false",
    },
    "true if it listens on loopback, otherwise false",
  ),
  opsHost: setting({
    path: "ops.host",
    value: "<address>",
    help: "the address of the operators' listener (health, readiness, metrics); it has no authentication",
    rule: "an address or a name of this machine",
    read: textWithin(1, 253),
    initialText: "127.0.0.1",
    hint: "127.0.0.1 listens on this machine only",
  }),
  opsPort: optional<number>(
    {
      path: "ops.port",
      value: "<n>",
      help: "the port of the operators' listener; 0 takes any free port, and logs it",
      rule: "an integer from 0 to 65535",
      read: integerWithin(0, 65_535),
      hint: "such as 9080",
    },
    "9080, or any free port if it is in use or --port is 0",
  ),
  shutdownTimeout: setting({
    path: "shutdownTimeout",
    value: "<time>",
    help: "maximum time of a shutdown: first requests in flight, then (closeTimeoutMs of it) replaying and publishing the remaining counts",
    rule: "whole milliseconds from 1s to 2m",
    read: wholeSpanWithin(1_000, 120_000),
    initialText: "8s",
    hint: "use less than the kill timeout of your service manager: docker 10s, Kubernetes 30s, systemd 90s",
  }),
  logLevel: setting({
    path: "log.level",
    value: "<level>",
    help: "minimum level of log lines (JSON on standard error)",
    rule: `one of ${LEVELS.join(", ")}`,
    read: oneOf(LEVELS),
    initialText: "info",
    hint: (value) => suggestion(String(value), LEVELS, `choose one of ${LEVELS.join(", ")}`),
  }),
  logRequests: setting({
    path: "log.requests",
    value: "<which>",
    help: "which requests are logged: none, refused ones (4xx and 5xx), or all",
    rule: `one of ${REQUESTS.join(", ")}`,
    read: oneOf(REQUESTS),
    initialText: "off",
    hint: (value) => suggestion(String(value), REQUESTS, `choose one of ${REQUESTS.join(", ")}`),
  }),
  logIdentifiers: setting({
    path: "log.identifiers",
    value: "<how>",
    help: "how logged requests show the identifier: as a keyed hash, or in plain text",
    rule: `one of ${IDENTIFIERS.join(", ")}`,
    read: oneOf(IDENTIFIERS),
    initialText: "hashed",
    hint: (value) => suggestion(String(value), IDENTIFIERS, `choose one of ${IDENTIFIERS.join(", ")}`),
  }),
  logIdentifierKey: optional<string>(
    {
      path: "log.identifierKey",
      value: "<key>",
      help: "the key of that hash; servers with the same key log the same hash for the same identifier",
      rule: "16 to 512 printable ASCII characters without spaces",
      read: (value) => (typeof value === "string" && IDENTIFIER_KEY.test(value) ? value : undefined),
      hint: "such as the output of: openssl rand -hex 32",
      secret: "token",
    },
    "random at each start",
  ),
  tracesEndpoint: optional<string>({
    path: "traces.endpoint",
    value: "<url>",
    help: "the OpenTelemetry collector that receives the spans of requests (OTLP over HTTP); /v1/traces is appended",
    rule: "an http:// or https:// URL with a host, without user and parameters",
    read: (value) => {
      if (typeof value !== "string" || !URL.canParse(value)) return undefined;
      const { protocol, username, password, search, hash } = new URL(value);
      const isPlain = [username, password, search, hash].every((part) => part === "");
      return isPlain && ["http:", "https:"].includes(protocol) ? value : undefined;
    },
    hint: "such as http://127.0.0.1:4318; a key goes into traces.headers",
    secret: "url",
  }),
  tracesHeaders: optional<Readonly<Record<string, string>>>({
    path: "traces.headers",
    value: "<pairs>",
    help: "headers that the collector requires, such as an API key",
    rule: "pairs name=value, separated by commas; special characters in a value are percent-encoded",
    read: pairsOf(/^[!#$%&'*+.^`|~\w-]{1,128}$/, /^[\x20-\x7e]{0,4096}$/),
    hint: "such as api-key=…",
    secret: "token",
  }),
  tracesSample: setting({
    path: "traces.sample",
    value: "<share>",
    help: "the fraction of requests that is traced; a request with a traceparent header follows the caller's decision",
    rule: "a number from 0 to 1",
    read: numberWithin(0, 1),
    initialText: "0.01",
    hint: "such as 0.01, one in a hundred",
  }),
  tracesIgnoreParent: setting({
    path: "traces.ignoreParent",
    value: "",
    help: "apply traces.sample to requests with a traceparent header too, by their trace ids, and ignore the caller's decision",
    rule: "true or false",
    read: isOn,
    initialText: "false",
    hint: "true or false",
  }),
  tracesService: setting({
    path: "traces.service",
    value: "<name>",
    help: "the service name of the spans",
    rule: "1 to 255 characters",
    read: textWithin(1, 255),
    initialText: "sluice",
    hint: "such as sluice-eu",
  }),
  tracesAttributes: optional<Readonly<Record<string, string>>>({
    path: "traces.attributes",
    value: "<pairs>",
    help: "additional resource attributes of the spans",
    rule: "pairs name=value, separated by commas; special characters in a value are percent-encoded",
    read: pairsOf(/^[\w./-]{1,255}$/, /^\P{Cc}{0,4096}$/u),
    hint: "such as deployment.environment.name=production,host.name=a1",
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};

export const ALL_SETTINGS: readonly Setting[] = Object.values(SETTINGS);
