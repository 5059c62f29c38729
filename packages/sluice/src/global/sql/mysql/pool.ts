/**
 * MySQL and MariaDB through mysql2, by prepared statements only: with NO_BACKSLASH_ESCAPES set, what the client escapes into a
 * text is not safe.
 *
 * Its own time-out leaves a connection blocked, so deadlines are ours, and a late connection is destroyed (../pool.ts).
 */
import { createPool, type Pool } from "mysql2/promise";
import { type SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import type { SqlAnswer, SqlRow } from "../link.ts";
import type { SqlAddress, SqlEndpoint, SqlScheme } from "../options.ts";
import { ALONE_TIMEOUT_MS, type ConnectionPool, type PooledConnection, type PoolTimes } from "../pool.ts";

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

const KINDS: ReadonlyMap<string, SqlFailureKind> = new Map(
  Object.entries({
    1040: "connection", // too many connections
    1053: "connection", // the server shuts down
    1203: "connection", // too many connections of this user
    1044: "auth",
    1045: "auth",
    1049: "auth",
    1698: "auth",
    1142: "permission",
    1143: "permission",
    1227: "permission",
    1370: "permission",
    1146: "schema",
    1054: "schema",
    1205: "lock",
    1213: "deadlock",
    1020: "deadlock", // MariaDB: the record has changed since it was read
    1290: "readonly",
    1792: "readonly",
    1836: "readonly",
    1021: "full",
    1114: "full",
    1048: "refused",
    1062: "refused",
    1264: "refused",
    1366: "refused",
    1406: "refused",
    1644: "refused", // a trigger's SIGNAL
    3819: "refused", // MySQL: CHECK
    4025: "refused", // MariaDB: CHECK
    1969: "timeout", // MariaDB: max_statement_time
    3024: "timeout", // MySQL: max_execution_time
    1153: "packet", // larger than max_allowed_packet
    1317: "connection", // killed
  } as const),
);

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

export function mysqlFailure(error: unknown): SqlFailure {
  return sqlFailure(error, KINDS);
}

function createOwn(address: SqlAddress, connectTimeoutMs: number): Pool {
  const { host, port, user, password, database, tls } = address;
  const pool = createPool({
    host,
    port,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    ...(tls === null ? {} : { ssl: { ...tls } }),
    charset: "utf8mb4",
    connectTimeout: connectTimeoutMs,
    connectionLimit: CONNECTIONS_MAX,
    maxPreparedStatements: PREPARED_MAX,
    // A 64-bit integer as a text: as a number it would be rounded.
    supportBigNumbers: true,
    bigNumberStrings: true,
    enableKeepAlive: true,
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

/** Rows of a question, or the header of a change. */
function answerOf(result: unknown): SqlAnswer {
  const [first] = result as readonly [unknown];
  if (Array.isArray(first)) return { rows: first as SqlRow[], affected: 0 };
  return { rows: [], affected: Number((first as { readonly affectedRows?: unknown }).affectedRows ?? 0) };
}
