/**
 * The table of errors: one stable code for every kind of misuse.
 *
 * Errors are thrown for misuse only. A denial is a value, and a store that is away is a flag on that value, so a `catch`
 * around Sluice never mixes limits with outages. `docs/errors.md` lists the same codes; a test holds the two together.
 */

/** Code → what must hold. The message of an error is `<field> must be <rule>; got <value> (<code>)`. */
export const ERRORS = {
  RL_REQUEST_INVALID: "an object with namespace, identifier, limit and duration",
  RL_WORKSPACE_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_NAMESPACE_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_IDENTIFIER_INVALID: "a string of 1 to 512 characters of well-formed Unicode",
  RL_LIMIT_INVALID: "an integer from 0 to 1099511627776 (2^40)",
  RL_COST_INVALID: "an integer from 0 to 1099511627776 (2^40)",
  RL_DURATION_INVALID:
    'from 1 s to 30 d: an integer of milliseconds from 1000 to 2592000000, or a text like "1500ms", "10s", "5m", "1h", "30d"',
  RL_BATCH_INVALID: "an array of 1 to 1000 requests",
  RL_OPTIONS_INVALID: "an object with known options only",
  RL_CELLS_MAX_INVALID: "an integer from 1 to 16000000",
  RL_WHEN_FULL_INVALID: '"allow" or "deny"',
  RL_CLOCK_INVALID: "a clock { wallMs(), monoMs() } whose wall time is from 0 to 4294967294000 ms (the year 2106)",
  RL_TIMERS_INVALID: "an object with the functions set(callback, delayMs) and clear(handle)",
  RL_RANDOM_INVALID: "an object with the function uint32() that gives an integer from 0 to 4294967295",
  RL_REGION_INVALID: "a string of 1 to 64 characters of well-formed Unicode, given wherever there is a global layer",
  RL_ORIGIN_INVALID: "an origin: an object with the functions raise, read and close",
  RL_CHANNEL_INVALID:
    "a channel to another process: process in a worker that was forked, a Worker or ChildProcess in its parent; with the functions send, on and off",
  RL_GLOBAL_INVALID: "global counters: an object with the functions publish, read, cleanUp and close, and denials",
  RL_MODE_INVALID: '"counters", "denials" or "both"',
  RL_INTERVAL_INVALID:
    "a number of milliseconds: flushMs 5 to 1000, readTimeoutMs 1 to 300, closeTimeoutMs 0 to 60000, timeoutMs 0 to 60000, publishMs and importMs 100 to globalDurationMin",
  RL_COMMANDS_INVALID: "a number from 20 to 10000000",
  RL_FLOOR_INVALID: "a number from 0 to 1",
  RL_BUDGET_INVALID: "a number above 0, up to 1",
  RL_ROWS_MAX_INVALID: "an integer from 1 to 16000000",
  RL_REDIS_ADDRESS_INVALID:
    'exactly one of: a url "redis://…" or "rediss://…"; a host; a path; sentinel { name, nodes }; cluster, a list of { host, port }; a client, of ioredis only with autoResendUnfulfilledCommands: false and no Cluster',
  RL_REDIS_PREFIX_INVALID: "a string of up to 128 characters of well-formed Unicode, without { and }",
  RL_REDIS_OPTION_INVALID:
    "as Redis knows it: username and password texts, database an integer from 0 to 65535 (0 in a Cluster), tls true, false or an object, timeouts from 10 to 60000 ms; none of them at odds with the url",
  RL_SQL_ADDRESS_INVALID:
    'exactly one of: a url "mysql://…" or "postgres://…" without parameters; a host; a pool; for SQLite, a path or a database',
  RL_SQL_OPTION_INVALID:
    "as the database knows it: user, password and database texts, tls true, false or an object, timeouts from 10 to 60000 ms, migrate true or false, tablePrefix 1 to 32 of a-z, 0-9 and _",
  RL_TRACE_INVALID: "a function",
  RL_ON_EVENT_INVALID: "a function",
  RL_CLOSED: "open; it decides no more after close()",
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** Misuse of Sluice: what was asked cannot be meant. Nothing was counted. */
export class SluiceError extends Error {
  override readonly name = "SluiceError";
  /** Stable across releases: match on this, not on the message. */
  readonly code: ErrorCode;
  /** The path of the offending field, such as `limit` or `requests[3].cost`. */
  readonly field: string;
  /** The value that was given, as it was given. */
  readonly value: unknown;

  constructor(code: ErrorCode, field: string, value: unknown, hint = "") {
    super(`${field} must be ${ERRORS[code]}; got ${show(value)}${hint} (${code})`);
    this.code = code;
    this.field = field;
    this.value = value;
  }

  /** The same error seen from further out: `cost` inside item 3 of a batch is `requests[3].cost`. */
  within(prefix: string): SluiceError {
    const field = this.field === "request" ? prefix : `${prefix}.${this.field}`;
    return new SluiceError(this.code, field, this.value);
  }
}

const SHOWN_MAX = 60;

/** A value as a short text for a message: it must not throw, run foreign code, or flood a log. */
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
