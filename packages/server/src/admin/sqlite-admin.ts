/**
 * SQLite for the admin store: node:sqlite where Node has it (22.5 and later), else libsql. Several processes may share the file.
 *
 * A statement blocks this process, so none waits for a lock: it fails at once, and sql-link.ts tries again.
 */
import { closeSync, existsSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../system/folder.ts";
import type { AdminConnection, AdminDialect, AdminDriver, FailureKind, SqlRow } from "./sql-link.ts";

export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: unknown[]): unknown; run(...values: unknown[]): unknown };
  close(): unknown;
}

type DatabaseClass = new (path: string) => SqliteDatabase;

const DIALECT: AdminDialect = {
  word: "TEXT",
  text: "TEXT",
  tableEnd: "",
  forUpdate: "",
  begin: "BEGIN IMMEDIATE",
  hasColumn: "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
  hasIndex: "SELECT 1 FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name = ?",
  beginAlone: ["BEGIN IMMEDIATE"],
  endAlone: "COMMIT",
  undoAlone: "ROLLBACK",
};

const IS_QUESTION = /^\s*SELECT/i;

export function sqliteAdmin(path: string): AdminDriver {
  return { dialect: DIALECT, timeoutMs: null, isBlocking: true, open: () => open(path), kindOf };
}

async function open(path: string): Promise<AdminConnection> {
  const Database = await loadDriver();
  makeFile(path);
  const database = new Database(path);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("PRAGMA journal_mode = WAL");
    // Who may come in must not change back after a crash of the machine.
    database.exec("PRAGMA synchronous = FULL");
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    run: async (text, ...values) => {
      if (IS_QUESTION.test(text)) return database.prepare(text).all(...values) as SqlRow[];
      // Not prepared where it need not be: a BEGIN that finds a lock would stay "in progress" in libsql, and no COMMIT is possible then.
      if (values.length === 0) database.exec(text);
      else database.prepare(text).run(...values);
      return [];
    },
    destroy: () => {
      database.close();
    },
  };
}

/** For the owner's eyes: a short preset key could be guessed from its hash. The files beside it take the same rights. */
function makeFile(path: string): void {
  makeFolder(dirname(path));
  // Never opened if it is there: to close a file drops every POSIX lock that this process has on it, those of SQLite's other connections too.
  // Another process would then take the database for unused, and delete the log that this one goes on writing to.
  if (existsSync(path)) return;
  closeSync(openSync(path, "a", 0o600));
}

export async function loadDriver(): Promise<DatabaseClass> {
  // Not every Node that this compiles on has it.
  const builtin: string = "node:sqlite";
  try {
    return ((await import(builtin)) as { readonly DatabaseSync: DatabaseClass }).DatabaseSync;
  } catch {
    return (await import("libsql")).default as unknown as DatabaseClass;
  }
}

/** By number (node:sqlite) or by name (libsql); the lower eight bits of a number are the kind. */
export function isLocked(error: unknown): boolean {
  const { code = "", errcode = 0 } = error as { code?: string; errcode?: number };
  const kind = errcode & 0xff;
  return kind === 5 || kind === 6 || /^SQLITE_(BUSY|LOCKED)/.test(code);
}

function kindOf(error: unknown): FailureKind {
  const { message = "", code = "", errcode = 0 } = error as { message?: string; code?: string; errcode?: number };
  if (/^no such table/.test(message)) return "missing";
  const kind = errcode & 0xff;
  if (isLocked(error)) return "lock";
  if (kind === 13 || /^SQLITE_FULL/.test(code)) return "full";
  if (kind === 8 || /^SQLITE_READONLY/.test(code)) return "forbidden";
  return "away";
}
