/** MySQL and MariaDB through mysql2: how a connection is made, how it answers, and what its errors mean. */
import { type ConnectionOptions, createConnection } from "mysql2/promise";
import type { SqlConnection, SqlDriver, SqlTimes } from "../driver.ts";
import { type SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import type { RunStatement, SqlAnswer, SqlRow } from "../link.ts";
import type { SqlAddress } from "../url.ts";
import { MYSQL } from "./dialect.ts";

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

export function mysqlFailure(error: unknown): SqlFailure {
  return sqlFailure(error, KINDS);
}

export function mysqlConfig(address: SqlAddress, connectTimeoutMs: number): ConnectionOptions {
  const { host, port, user, password, database, tls } = address;
  return {
    host,
    port,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    ...(tls === null ? {} : { ssl: { ...tls } }),
    charset: "utf8mb4",
    connectTimeout: connectTimeoutMs,
    enableKeepAlive: true,
  };
}

/** Rows of a question, or the header of a change. */
export function answerOf(result: unknown): SqlAnswer {
  const [first] = result as readonly [unknown];
  if (Array.isArray(first)) return { rows: first as SqlRow[], affected: 0 };
  return { rows: [], affected: Number((first as { readonly affectedRows?: unknown }).affectedRows ?? 0) };
}

async function open(address: SqlAddress, { connectTimeoutMs, lockTimeoutMs }: SqlTimes): Promise<SqlConnection> {
  const connection = await createConnection(mysqlConfig(address, connectTimeoutMs));
  // A connection that is lost while it is idle fails when it is used next.
  connection.on("error", () => {});
  // Transactions and locks have no values, and not every server can prepare them.
  const run: RunStatement = async ({ text, values }) =>
    answerOf(await (values.length === 0 ? connection.query(text) : connection.execute(text, [...values] as string[])));
  // Sent ahead of everything else on the connection. If it fails, so does what follows.
  run({ text: `SET SESSION innodb_lock_wait_timeout = ${lockTimeoutMs / 1_000}`, values: [] }).catch(() => {});
  return { run, destroy: () => connection.destroy() };
}

export const MYSQL_DRIVER: SqlDriver = { dialect: MYSQL, open, failureOf: mysqlFailure };
