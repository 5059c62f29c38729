/** PostgreSQL through pg. Statements are bound and not named, so that a connection pooler in between does no harm. */
import { Pool } from "pg";
import { type SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import type { SqlRow } from "../link.ts";
import type { SqlAddress, SqlEndpoint, SqlScheme } from "../options.ts";
import { ALONE_TIMEOUT_MS, type ConnectionPool, type PooledConnection, type PoolTimes } from "../pool.ts";

/** A client of `pg`, out of a pool. */
export interface PostgresClient {
  query(config: { readonly text: string; readonly values: unknown[] }): Promise<unknown>;
  release(destroy?: boolean): void;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A pool of `pg`. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}

export const POSTGRES_SCHEME: SqlScheme = {
  protocols: ["postgres:", "postgresql:"],
  port: 5432,
  rules: { url: "postgresUrl", pool: "postgresPool" },
  isPool: (pool) => typeof (pool as Partial<PostgresPool> | null)?.connect === "function",
};

/** A publish, an import and a cleanup at once. */
const CONNECTIONS_MAX = 3;
const LOCK_WAIT_MS = 1_000;

/** SQLSTATEs, and classes of them. */
const KINDS: ReadonlyMap<string, SqlFailureKind> = new Map(
  Object.entries({
    "08": "connection",
    "57P01": "connection", // the server shuts down
    "57P02": "connection",
    "57P03": "connection", // it starts
    "53300": "connection", // too many connections
    "57014": "timeout",
    "28": "auth",
    "3D": "auth", // no such database
    "42501": "permission",
    "42P01": "schema",
    "42703": "schema",
    "3F000": "schema",
    "40P01": "deadlock",
    "40001": "deadlock",
    "55P03": "lock",
    "25006": "readonly",
    "53100": "full",
    "22": "refused",
    "23": "refused",
    P0001: "refused", // a trigger's RAISE
  } as const),
);

export function postgresPool(
  endpoint: SqlEndpoint<PostgresPool>,
  { connectTimeoutMs, statementTimeoutMs }: PoolTimes,
): ConnectionPool {
  const own = endpoint.kind === "server" ? createOwn(endpoint.address, connectTimeoutMs, statementTimeoutMs) : null;
  const pool: PostgresPool = own ?? (endpoint as { readonly pool: PostgresPool }).pool;
  let isEnded = false;
  return {
    connect: async () => pooled(await pool.connect()),
    end: async () => {
      if (isEnded) return;
      isEnded = true;
      await own?.end().catch(() => undefined);
    },
    failureOf: postgresFailure,
    lock: (name) => ({
      before: [
        { text: "BEGIN", values: [] },
        { text: `SET LOCAL statement_timeout = ${ALONE_TIMEOUT_MS}`, values: [] },
        { text: `SET LOCAL lock_timeout = ${ALONE_TIMEOUT_MS / 2}`, values: [] },
        { text: "SELECT pg_advisory_xact_lock(hashtext(?))", values: [name] },
      ],
      after: "COMMIT",
      onFailure: "ROLLBACK",
    }),
  };
}

export function postgresFailure(error: unknown): SqlFailure {
  return sqlFailure(error, KINDS);
}

function createOwn(address: SqlAddress, connectTimeoutMs: number, statementTimeoutMs: number): Pool {
  const { host, port, user, password, database, tls } = address;
  const pool = new Pool({
    host,
    port,
    user,
    password,
    database,
    ssl: tls === null ? false : { ...tls },
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: LOCK_WAIT_MS,
    application_name: "sluice",
    allowExitOnIdle: true,
    keepAlive: true,
  });
  // An idle connection that is lost is replaced when one is needed; that is where it shows.
  pool.on("error", () => {});
  return pool;
}

/**
 * A lost client emits `error`, which ends the process if there is no listener. The pool listens while the client is idle, and a running
 * statement rejects. This listener covers the time in between, such as a server that shuts down right after a response.
 */
function ignoreError(): void {}

function pooled(client: PostgresClient): PooledConnection {
  client.on?.("error", ignoreError);
  return {
    run: async ({ text, values }) => {
      const result = await client.query({ text: numbered(text), values: values.map(boundOf) });
      const { rows, rowCount } = result as { readonly rows: readonly SqlRow[]; readonly rowCount: number | null };
      return { rows, affected: rowCount ?? 0 };
    },
    release: (isBroken) => {
      // To end a client politely takes an answer of the server's, which may be why it is given up.
      if (isBroken)
        (client as { readonly connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
      client.release(isBroken);
      client.removeListener?.("error", ignoreError);
    },
  };
}

const texts = new Map<string, string>();
const TEXTS_MAX = 256;

/** A question mark for each value becomes $1, $2, … */
function numbered(text: string): string {
  let known = texts.get(text);
  if (known === undefined) {
    let count = 0;
    known = text.replaceAll("?", () => `$${++count}`);
    if (texts.size < TEXTS_MAX) texts.set(text, known);
  }
  return known;
}

/** pg takes bytes as a Buffer only, also within an array. */
function boundOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(boundOf);
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
