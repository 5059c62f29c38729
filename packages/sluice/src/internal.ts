/**
 * `sluice/internal`: what the server of Sluice shares with the library, so that neither has a copy.
 *
 * Not for users: it follows no version rule, and may change in any release. The server depends on exactly one version of the library.
 * docs/decisions/0024 says why it is here. A database driver is loaded when it is asked for, and not before.
 */
import type { SqlDriver } from "./global/sql/driver.ts";

export type { Environment } from "./core/clock.ts";
export { withDeadline } from "./core/deadline.ts";
export { nearest } from "./core/nearest.ts";
export { pause } from "./core/turns.ts";
export type { SqlDialect } from "./global/sql/dialect.ts";
export type { SqlConnection, SqlDriver, SqlTimes } from "./global/sql/driver.ts";
export type { SqlFailureKind } from "./global/sql/failure.ts";
export type { SqlRow, SqlValue } from "./global/sql/link.ts";
export { type Tables, tablesOf } from "./global/sql/schema.ts";
export { SQLITE_DRIVER, type SqliteDatabase } from "./global/sql/sqlite/database.ts";
export { readSqlUrl, type SqlAddress } from "./global/sql/url.ts";
export { SYSTEM } from "./limiter/system.ts";

export async function loadMysql(): Promise<SqlDriver> {
  return (await import("./global/sql/mysql/connection.ts")).MYSQL_DRIVER;
}

export async function loadPostgres(): Promise<SqlDriver> {
  return (await import("./global/sql/postgres/connection.ts")).POSTGRES_DRIVER;
}
