/** Options of SQLite: checked at construction. */
import { OPTION_RULES, SluiceError } from "../../../core/errors.ts";
import { readTableOptions, SQL_TABLE_OPTIONS, type SqlTableOptions } from "../options.ts";
import type { SqlCountersSettings } from "../sql-counters.ts";
import type { SqliteDatabase } from "./database.ts";

export interface SqliteOptions extends SqlTableOptions {
  /** The file, which is created if it does not exist. It must not be on a network drive. */
  readonly path?: string | undefined;
  /** A database of node:sqlite, libsql or better-sqlite3 that you open and close. */
  readonly database?: SqliteDatabase | undefined;
}

export interface SqliteSettings extends SqlCountersSettings {
  readonly place: { readonly path: string } | { readonly database: SqliteDatabase };
}

export const SQLITE_OPTIONS: readonly (keyof SqliteOptions)[] = [...SQL_TABLE_OPTIONS, "path", "database"];

export function readSqliteOptions(options: SqliteOptions): SqliteSettings {
  const { path, database } = options;
  if ((path === undefined) === (database === undefined)) {
    throw wrongAddress("options", path === undefined ? "none" : "path and database", "sqliteOptions");
  }
  if (database !== undefined) {
    const isDatabase = typeof database?.prepare === "function" && typeof database.exec === "function";
    if (!isDatabase) throw wrongAddress("database", database, "database");
    return { ...readTableOptions(options), place: { database } };
  }
  if (typeof path !== "string" || path === "") throw wrongAddress("path", path, "path");
  return { ...readTableOptions(options), place: { path } };
}

function wrongAddress(field: string, value: unknown, rule: "path" | "database" | "sqliteOptions"): SluiceError {
  return new SluiceError("RL_SQL_ADDRESS_INVALID", field, value, { rule: OPTION_RULES.RL_SQL_ADDRESS_INVALID[rule] });
}
