/** PostgreSQL through pg. Statements are bound and not named, so that a connection pooler in between does no harm. */
import { Pool } from "pg";
import type { SqlEndpoint, SqlScheme } from "../options.ts";
import { ALONE_TIMEOUT_MS, type ConnectionPool, type PooledConnection, type PoolTimes } from "../pool.ts";
import type { SqlAddress } from "../url.ts";
import { destroyClient, postgresConfig, postgresFailure, runOn } from "./connection.ts";

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

function createOwn(address: SqlAddress, connectTimeoutMs: number, statementTimeoutMs: number): Pool {
  const times = { connectTimeoutMs, statementTimeoutMs, lockTimeoutMs: LOCK_WAIT_MS };
  const pool = new Pool({ ...postgresConfig(address, times), max: CONNECTIONS_MAX, allowExitOnIdle: true });
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
    run: runOn(client),
    release: (isBroken) => {
      if (isBroken) destroyClient(client);
      client.release(isBroken);
      client.removeListener?.("error", ignoreError);
    },
  };
}
