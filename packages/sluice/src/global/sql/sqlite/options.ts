/** Where a SQLite file is: checked at construction. */
import { SluiceError } from "../../../core/errors.ts";
import { readTableOptions, SQL_TABLE_OPTIONS, type SqlTableOptions } from "../options.ts";
import type { SqlCountersSettings } from "../sql-counters.ts";
import type { SqliteDatabase } from "./link.ts";

export interface SqliteOptions extends SqlTableOptions {
  /** The file; made if it is not there. Not on a network drive. */
  readonly path?: string | undefined;
  /** A database of node:sqlite, libsql or better-sqlite3 that its owner opens and closes. */
  readonly database?: SqliteDatabase | undefined;
}

export interface SqliteSettings extends SqlCountersSettings {
  readonly place: { readonly path: string } | { readonly database: SqliteDatabase };
}

export const SQLITE_OPTIONS: readonly (keyof SqliteOptions)[] = [...SQL_TABLE_OPTIONS, "path", "database"];

export function readSqliteOptions(options: SqliteOptions): SqliteSettings {
  const { path, database } = options;
  if ((path === undefined) === (database === undefined)) {
    throw new SluiceError("RL_SQL_ADDRESS_INVALID", "options", path === undefined ? "none" : "path and database");
  }
  if (database !== undefined) {
    const isDatabase = typeof database?.prepare === "function" && typeof database.exec === "function";
    if (!isDatabase) throw new SluiceError("RL_SQL_ADDRESS_INVALID", "database", database);
    return { ...readTableOptions(options), place: { database } };
  }
  if (typeof path !== "string" || path === "") throw new SluiceError("RL_SQL_ADDRESS_INVALID", "path", path);
  return { ...readTableOptions(options), place: { path } };
}
