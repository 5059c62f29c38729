/**
 * The table of errors: one stable code for every kind of misuse.
 *
 * Errors are thrown for misuse only. A denial is a value, and an unavailable store is a flag on that value, so a `catch`
 * around Sluice never mixes limits with outages. `docs/errors.md` lists the same codes and rules; a test compares the two.
 */

/**
 * Code → rule. The message of an error is `<field> must be <rule>; got <value> (<code>)`. Where options with
 * different rules share a code, the message states the rule of the option that is wrong: see `OPTION_RULES`.
 */
export const ERRORS = {
  RL_REQUEST_INVALID: "an object with namespace, identifier, limit and duration",
  RL_WORKSPACE_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_NAMESPACE_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_IDENTIFIER_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_LIMIT_INVALID: "an integer from 0 to 1099511627776 (2^40)",
  RL_COST_INVALID: "an integer from 0 to 1099511627776 (2^40)",
  RL_DURATION_INVALID:
    'from 1 s to 30 d: an integer of milliseconds from 1000 to 2592000000, or a string such as "1500ms", "10s", "5m", "1h", "30d"',
  RL_BATCH_INVALID: "an array of 1 to 1000 requests",
  RL_RESERVE_INVALID: "a request, or an array of 1 to 16 requests",
  RL_TTL_INVALID:
    'from 1 s to 1 h: an integer of milliseconds from 1000 to 3600000, or a string such as "30s", "5m", "1h"',
  RL_HOLDS_MAX_INVALID: "an integer from 1 to 5000",
  RL_AMOUNTS_INVALID: "a number, or one number per limit of the reservation",
  RL_RESERVATION_INVALID: "the id of a reservation",
  RL_RESERVATION_DENIED: "granted; a reservation that was denied holds nothing",
  RL_RESERVATION_ENDED: "open, or settled before with the same amount",
  RL_RESERVATION_UNKNOWN: "the id of a reservation that the origin knows",
  RL_RESERVATION_ELSEWHERE:
    "the id of a reservation of this region's origin, or of this process if it was made in memory",
  RL_OPTIONS_INVALID: "an object with known options only",
  RL_CELLS_MAX_INVALID: "an integer from 1 to 16000000",
  RL_WHEN_FULL_INVALID: '"allow" or "deny"',
  RL_CLOCK_INVALID: "a clock { wallMs(), monoMs() } whose wall time is from 0 to 4294967294000 ms (the year 2106)",
  RL_TIMERS_INVALID: "an object with the functions set(callback, delayMs) and clear(handle)",
  RL_RANDOM_INVALID: "an object with the function uint32() that returns an integer from 0 to 4294967295",
  RL_REGION_INVALID: "a string of 1 to 64 characters of well-formed Unicode, and is required with a global layer",
  RL_ORIGIN_INVALID: "an origin: an object with the functions raise, read and close",
  RL_CHANNEL_INVALID:
    "a channel to another process, with the functions send, on and off: process in a forked worker, a Worker or ChildProcess in its parent",
  RL_GLOBAL_INVALID: "global counters: an object with the functions publish, read, cleanUp and close, and denials",
  RL_MODE_INVALID: '"counters", "denials" or "both"',
  RL_INTERVAL_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_COMMANDS_INVALID: "a number from 20 to 10000000",
  RL_FLOOR_INVALID: "a number from 0 to 1",
  RL_BUDGET_INVALID: "a number above 0, up to 1",
  RL_ROWS_MAX_INVALID: "an integer from 1 to 16000000",
  RL_REDIS_ADDRESS_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_REDIS_PREFIX_INVALID: "a string of up to 128 characters of well-formed Unicode, without { and }",
  RL_REDIS_OPTION_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_SQL_ADDRESS_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_SQL_OPTION_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_SIGNAL_INVALID: "an AbortSignal",
  RL_TRACE_INVALID: "a function",
  RL_ON_EVENT_INVALID: "a function",
  RL_ADDRESS_INVALID: 'an IPv4 or IPv6 address, or a network such as "10.0.0.0/8" or "2001:db8::/32"',
  RL_KEY_REQUIRED:
    "a function of the request, because this request or this runtime has no client address (docs/middleware/README.md)",
  RL_POLICY_NAME_TAKEN:
    "the name of one policy: policies of one middleware need different names, and so do policies of one limiter and duration with different limits",
  RL_MIDDLEWARE_OPTION_INVALID: "valid (docs/errors.md has the rule of each option)",
  RL_CLOSED: "open; after close() it makes no more decisions",
} as const;

export type ErrorCode = keyof typeof ERRORS;

/**
 * Code → option → rule, where options that share a code have different rules. Some names are not options: they are the
 * parts of one, or rules of an option that depend on another one.
 */
export const OPTION_RULES = {
  RL_INTERVAL_INVALID: {
    flushMs: "a number of milliseconds from 5 to 1000",
    readTimeoutMs: "a number of milliseconds from 1 to 300",
    closeTimeoutMs: "a number of milliseconds from 0 to 60000",
    publishMs: "a number of milliseconds from 100 to globalDurationMin",
    importMs: "a number of milliseconds from 100 to globalDurationMin",
    timeoutMs: "a number of milliseconds from 0 to 60000",
    maxWaitMs: "a number of milliseconds from 0 to 5184000000 (60 d)",
  },
  RL_REDIS_ADDRESS_INVALID: {
    options: "an object with exactly one of url, host, path, sentinel, cluster and client",
    url: 'a URL that begins with "redis://" or "rediss://" and names a host',
    host: "a non-empty string",
    port: "an integer from 1 to 65535",
    path: "the path of a Unix socket, a non-empty string",
    sentinelName: "the name of the master, a string of 1 to 512 characters of well-formed Unicode",
    nodes: "a non-empty array of { host, port }",
    node: "an object { host, port } with a non-empty host",
    client:
      "a client of @redis/client or redis, or of ioredis with autoResendUnfulfilledCommands: false; a Cluster client of ioredis is not supported",
  },
  RL_REDIS_OPTION_INVALID: {
    username: "a string",
    password: "a string",
    database: "an integer from 0 to 65535",
    tls: "true, false or an object of TLS options",
    connectTimeoutMs: "a number of milliseconds from 10 to 60000",
    commandTimeoutMs: "a number of milliseconds from 10 to 60000",
    proxy: "true or false",
    databaseOfCluster: "0 with the option cluster",
    besideUrl: "the same as in the url",
    tlsBesideUrl: 'true or an object of TLS options, because the url begins with "rediss://"',
  },
  RL_SQL_ADDRESS_INVALID: {
    options: "an object with exactly one of url, host and pool",
    sqliteOptions: "an object with exactly one of path and database",
    mysqlUrl: 'a URL that begins with "mysql://" or "mariadb://", names a host and has no parameters',
    postgresUrl: 'a URL that begins with "postgres://" or "postgresql://", names a host and has no parameters',
    host: "a non-empty string",
    port: "an integer from 1 to 65535",
    mysqlPool: "a pool of mysql2/promise",
    postgresPool: "a pool of pg",
    path: "the path of a file, a non-empty string",
    database: "a database of node:sqlite, libsql or better-sqlite3",
  },
  RL_SQL_OPTION_INVALID: {
    user: "a string",
    password: "a string",
    database: "a string",
    tls: "true, false or an object of TLS options",
    connectTimeoutMs: "a number of milliseconds from 10 to 60000",
    statementTimeoutMs: "a number of milliseconds from 10 to 60000",
    migrate: "true or false",
    tablePrefix: "a string of 1 to 32 of the characters a-z, 0-9 and _ that does not begin with a digit",
  },
  RL_MIDDLEWARE_OPTION_INVALID: {
    limiter: "a Limiter",
    policies: "an array of 1 to 100 policies",
    besidePolicies: "in each of the policies, not beside them",
    name: "a string of 1 to 64 printable ASCII characters",
    key: "a function of the request, such as byIp() or byHeader(name)",
    onMissingKey: '"skip", "deny" or a function that returns one of them',
    skip: "a function",
    handler: "a function",
    onDenied: "a function",
    onDegraded: "a function",
    shadow: "true or false",
    exposeHeaders: "true or false",
    hash: "true or false",
    degraded: '"allow" or "deny"',
    count: '"before", "failures", "successes" or a function of the response',
    countOfFetch: '"before", unless the handler is limited by wrap(handler)',
    storeLimit: "given to the store as a number, because the limit of the middleware is a function",
    skipRequests: 'false; count by outcome with the middleware of Sluice: rateLimit({ count: "failures" })',
    resetKey: "unused, because a count only grows until its window is over",
    headers: '"draft-10", "draft-7", "draft-6", "legacy" or false',
    message: "a string, an object or a function that returns one of them",
    statusCode: "an integer from 400 to 599",
    trustProxy: "an integer from 0 to 32, the number of proxies, or a non-empty array of addresses and networks",
    ipv6Subnet: "an integer from 32 to 128",
    allowList: "an array of addresses and networks",
    denyList: "an array of addresses and networks",
    byHeader: "the name of a header: 1 to 128 characters of a token of RFC 9110",
    byCookie: "the name of a cookie: 1 to 128 characters of a token of RFC 9110",
    compose: "one or more key functions",
    hook: '"onRequest" or "preHandler"',
    rateLimit: "false, or the limits of the route: an object with limit and duration, or with policies",
  },
} as const;

export type IntervalOption = keyof typeof OPTION_RULES.RL_INTERVAL_INVALID;

interface ErrorDetails {
  /** The rule of the option, where the code has several: one of `OPTION_RULES`. */
  readonly rule?: string;
  /** Follows the value, such as `; did you mean cellsMax?`. */
  readonly hint?: string;
}

/** In the global registry: a process may load this module twice, by `import` and by `require`. */
const BRAND = Symbol.for("sluice.error");

/**
 * Misuse of Sluice: an argument or an option is invalid. Nothing was counted. `instanceof` also accepts an error of the other
 * module format: one that a CommonJS module of the same process got by `require("sluice")`.
 */
export class SluiceError extends Error {
  override readonly name = "SluiceError";
  /** Stable across releases: match on this, not on the message. */
  readonly code: ErrorCode;
  /** The path of the offending field, such as `limit` or `requests[3].cost`. */
  readonly field: string;
  /** The value that was given; of a password its type, of a URL at most its protocol, of options and clients what is wrong with them. */
  readonly value: unknown;
  readonly #details: ErrorDetails;

  constructor(code: ErrorCode, field: string, value: unknown, details: ErrorDetails = {}) {
    const { rule = ERRORS[code], hint = "" } = details;
    super(`${field} must be ${rule}; got ${show(value)}${hint} (${code})`);
    this.code = code;
    this.field = field;
    this.value = value;
    this.#details = details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const isBranded = typeof value === "object" && value !== null && BRAND in value;
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one is asked about itself.
    return isBranded && (this === SluiceError || Object.prototype.isPrototypeOf.call(this.prototype, value));
  }

  /** The same error with the path of an enclosing value: `cost` in item 3 of a batch is `requests[3].cost`. */
  within(prefix: string): SluiceError {
    const field = this.field === "request" ? prefix : `${prefix}.${this.field}`;
    return new SluiceError(this.code, field, this.value, this.#details);
  }
}

const SHOWN_MAX = 60;

/** A value as a short string for a message. It must not throw, run foreign code, or flood a log. */
function show(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value.length > SHOWN_MAX
        ? `${JSON.stringify(value.slice(0, SHOWN_MAX))}… (${value.length} characters)`
        : JSON.stringify(value);
    case "number":
    case "boolean":
    case "undefined":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return `${String(value).slice(0, SHOWN_MAX)}n`;
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    default:
      return value === null ? "null" : showObject(value);
  }
}

function showObject(value: object | undefined): string {
  try {
    return Array.isArray(value) ? `an array of ${value.length}` : "an object";
  } catch {
    // A revoked proxy, or one whose traps throw.
    return "an object";
  }
}
