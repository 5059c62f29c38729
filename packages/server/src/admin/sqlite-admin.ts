/**
 * SQLite for the admin store: node:sqlite where Node has it (22.5 and later), else libsql. Several processes may share the file.
 *
 * A statement blocks this process, so none waits for a lock: it fails at once, and sql-link.ts tries again.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { AdminConnection, AdminDialect, AdminDriver, FailureKind, SqlRow } from "./sql-link.ts";

interface SqliteDatabase {
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
  beginAlone: ["BEGIN IMMEDIATE"],
  endAlone: "COMMIT",
  undoAlone: "ROLLBACK",
};

const IS_QUESTION = /^\s*SELECT/i;

export function sqliteAdmin(path: string): AdminDriver {
  return { dialect: DIALECT, timeoutMs: null, open: () => open(path), kindOf };
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
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}

async function loadDriver(): Promise<DatabaseClass> {
  // Not every Node that this compiles on has it.
  const builtin: string = "node:sqlite";
  try {
    return ((await import(builtin)) as { readonly DatabaseSync: DatabaseClass }).DatabaseSync;
  } catch {
    return (await import("libsql")).default as unknown as DatabaseClass;
  }
}

function kindOf(error: unknown): FailureKind {
  const { message = "", code = "", errcode = 0 } = error as { message?: string; code?: string; errcode?: number };
  if (/^no such table/.test(message)) return "missing";
  // By number (node:sqlite) or by name (libsql); the lower eight bits of a number are the kind.
  const kind = errcode & 0xff;
  if (kind === 5 || kind === 6 || /^SQLITE_(BUSY|LOCKED)/.test(code)) return "lock";
  if (kind === 8 || /^SQLITE_READONLY/.test(code)) return "forbidden";
  return "away";
}
