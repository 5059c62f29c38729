/**
 * MySQL and MariaDB through mysql2, by prepared statements only: with NO_BACKSLASH_ESCAPES set, what the client escapes into a
 * text is not safe.
 *
 * Its own time-out leaves a connection blocked, so deadlines are ours, and a late connection is destroyed (../pool.ts).
 */
import { createPool, type Pool } from "mysql2/promise";
import type { SqlEndpoint, SqlScheme } from "../options.ts";
import { ALONE_TIMEOUT_MS, type ConnectionPool, type PooledConnection, type PoolTimes } from "../pool.ts";
import type { SqlAddress } from "../url.ts";
import { answerOf, mysqlConfig, mysqlFailure } from "./connection.ts";

/** A connection of `mysql2/promise`. */
export interface MysqlConnection {
  execute(options: { readonly sql: string; readonly values: unknown[] }): Promise<unknown>;
  release(): void;
  destroy(): void;
}

/** A pool of `mysql2/promise`. */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection>;
}

export const MYSQL_SCHEME: SqlScheme = {
  protocols: ["mysql:", "mariadb:"],
  port: 3306,
  rules: { url: "mysqlUrl", pool: "mysqlPool" },
  isPool: (pool) => typeof (pool as Partial<MysqlPool> | null)?.getConnection === "function",
};

/** A publish, an import and a cleanup at once. */
const CONNECTIONS_MAX = 3;
const LOCK_WAIT_S = 1;
/** The texts a connection keeps prepared; there are about thirty. */
const PREPARED_MAX = 64;

export function mysqlPool(endpoint: SqlEndpoint<MysqlPool>, { connectTimeoutMs }: PoolTimes): ConnectionPool {
  const own = endpoint.kind === "server" ? createOwn(endpoint.address, connectTimeoutMs) : null;
  const pool: MysqlPool = own ?? (endpoint as { readonly pool: MysqlPool }).pool;
  return {
    connect: async () => pooled(await pool.getConnection()),
    end: async () => {
      // It asks each connection for a last word, and fails with those that are gone.
      await own?.end().catch(() => undefined);
    },
    failureOf: mysqlFailure,
    lock: (name) => ({
      before: [{ text: "SELECT GET_LOCK(?, ?) AS taken", values: [name, ALONE_TIMEOUT_MS / 2_000] }],
      after: "SELECT RELEASE_ALL_LOCKS()",
      onFailure: "SELECT RELEASE_ALL_LOCKS()",
    }),
  };
}

function createOwn(address: SqlAddress, connectTimeoutMs: number): Pool {
  const pool = createPool({
    ...mysqlConfig(address, connectTimeoutMs),
    connectionLimit: CONNECTIONS_MAX,
    maxPreparedStatements: PREPARED_MAX,
    // A 64-bit integer as a text: as a number it would be rounded.
    supportBigNumbers: true,
    bigNumberStrings: true,
  });
  // Sent ahead of everything else on the connection. If it fails, so does what follows.
  pool.pool.on("connection", (connection) => {
    connection.query(`SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_S}`, () => {});
  });
  return pool;
}

function pooled(connection: MysqlConnection): PooledConnection {
  return {
    run: async ({ text, values }) => answerOf(await connection.execute({ sql: text, values: [...values] })),
    release: (isBroken) => {
      if (isBroken) connection.destroy();
      else connection.release();
    },
  };
}
