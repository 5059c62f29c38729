/**
 * SQLite: node:sqlite where Node has it (22.5 and later), else the package libsql, whose binary comes with its installation. The same
 * file serves both. How a file is opened, and what its errors mean.
 */
import type { SqlDialect } from "../dialect.ts";
import { SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import { SQLITE } from "./dialect.ts";

/** What node:sqlite's DatabaseSync, libsql's and better-sqlite3's Database have in common. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqlitePrepared;
  close(): unknown;
}

export interface SqlitePrepared {
  all(...values: unknown[]): unknown;
  run(...values: unknown[]): { readonly changes: number | bigint };
}

/** Codes by number (node:sqlite) and by name (the packages); the lower eight bits of a number are the kind. */
const KINDS: ReadonlyMap<string, SqlFailureKind> = new Map(
  Object.entries({
    5: "lock",
    6: "lock",
    8: "readonly",
    13: "full",
    14: "connection",
    18: "refused",
    19: "refused",
    20: "refused",
    SQLITE_BUSY: "lock",
    SQLITE_LOCKED: "lock",
    SQLITE_READONLY: "readonly",
    SQLITE_FULL: "full",
    SQLITE_CANTOPEN: "connection",
    SQLITE_TOOBIG: "refused",
    SQLITE_CONSTRAINT: "refused",
    SQLITE_MISMATCH: "refused",
  } as const),
);

/** Opens a file for several processes. Nothing waits for a lock: that would block this process. Rejects with the driver's own error. */
export async function openSqlite(path: string, synchronous: "FULL" | "NORMAL"): Promise<SqliteDatabase> {
  const Database = await loadDriver();
  const database = new Database(path);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export type DatabaseClass = new (path: string) => SqliteDatabase;

async function loadDriver(): Promise<DatabaseClass> {
  // Not every Node that this compiles on has it.
  const builtin: string = "node:sqlite";
  try {
    return ((await import(builtin)) as { readonly DatabaseSync: DatabaseClass }).DatabaseSync;
  } catch {
    try {
      return (await import("libsql")).default as unknown as DatabaseClass;
    } catch {
      throw new SqlFailure("connection", "SQLite needs Node 22.5 or later, or the package libsql (npm install libsql)");
    }
  }
}

export function sqliteFailure(error: unknown): SqlFailure {
  if (error instanceof Error) {
    const { code, errcode } = error as { code?: unknown; errcode?: unknown };
    if (/^no such (table|column)/.test(error.message)) return new SqlFailure("schema", error.message);
    if (/unable to open/i.test(error.message)) return new SqlFailure("connection", error.message);
    // An extended code is its kind and more: 275 is 19 (a constraint), and which one.
    const told = typeof errcode === "number" ? String(errcode & 0xff) : String(code ?? "");
    const kind = KINDS.get(told) ?? KINDS.get(/^SQLITE_[A-Z]+/.exec(told)?.[0] ?? "");
    if (kind !== undefined) return new SqlFailure(kind, error.message);
  }
  return sqlFailure(error, KINDS);
}

/** The counterpart of `SqlDriver` for a file, which has no address and cannot hang. */
export interface SqliteDriver {
  readonly dialect: SqlDialect;
  open(path: string, synchronous: "FULL" | "NORMAL"): Promise<SqliteDatabase>;
  /** The class of databases, for a file that is opened in another way. */
  load(): Promise<DatabaseClass>;
  failureOf(error: unknown): SqlFailure;
}

export const SQLITE_DRIVER: SqliteDriver = {
  dialect: SQLITE,
  open: openSqlite,
  load: loadDriver,
  failureOf: sqliteFailure,
};
