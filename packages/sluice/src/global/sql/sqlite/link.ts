/**
 * SQLite, for several processes of one machine: node:sqlite where Node has it (22.5 and later), else the package libsql, whose
 * binary comes with its installation. The same file serves both.
 *
 * A statement runs within this process and blocks it, so none may wait for another process: a lock that is taken fails at once, and
 * is tried again later (sql-counters.ts).
 */
import { SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import type { RunStatement, SqlAnswer, SqlLink, SqlRow, SqlSide, Statement } from "../link.ts";

/** What node:sqlite's DatabaseSync, libsql's and better-sqlite3's Database have in common. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqlitePrepared;
  close(): unknown;
}

interface SqlitePrepared {
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
const PREPARED_MAX = 64;
const IS_QUESTION = /^\s*(?:SELECT|WITH)\b/i;

export class SqliteLink implements SqlLink {
  readonly hasReplica = false;
  readonly #open: () => Promise<SqliteDatabase>;
  readonly #isOwner: boolean;
  readonly #prepared = new Map<string, SqlitePrepared>();
  #database: Promise<SqliteDatabase> | null = null;
  #isClosed = false;

  constructor(place: { readonly path: string } | { readonly database: SqliteDatabase }) {
    this.#isOwner = "path" in place;
    this.#open = "path" in place ? () => openFile(place.path) : async () => place.database;
  }

  async run(_side: SqlSide, statement: Statement): Promise<SqlAnswer> {
    const database = await this.#opened();
    return this.#execute(database, statement);
  }

  async alone<T>(_lock: string, work: (run: RunStatement) => Promise<T>): Promise<T> {
    const database = await this.#opened();
    attempt(() => database.exec("BEGIN IMMEDIATE"));
    try {
      const done = await work(async (statement) => this.#execute(database, statement));
      attempt(() => database.exec("COMMIT"));
      return done;
    } catch (error) {
      rollBack(database);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const database = await this.#database?.catch(() => null);
    this.#prepared.clear();
    if (this.#isOwner) database?.close();
  }

  #opened(): Promise<SqliteDatabase> {
    if (this.#isClosed) return Promise.reject(new SqlFailure("connection", "closed"));
    if (this.#database === null) {
      const opening = this.#open();
      this.#database = opening;
      opening.catch(() => {
        this.#database = null;
      });
    }
    return this.#database;
  }

  #execute(database: SqliteDatabase, { text, values }: Statement): SqlAnswer {
    return attempt(() => {
      const prepared = this.#prepare(database, text);
      if (IS_QUESTION.test(text)) return { rows: prepared.all(...values) as SqlRow[], affected: 0 };
      return { rows: [], affected: Number(prepared.run(...values).changes) };
    });
  }

  #prepare(database: SqliteDatabase, text: string): SqlitePrepared {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      prepared = database.prepare(text);
      if (this.#prepared.size < PREPARED_MAX) this.#prepared.set(text, prepared);
    }
    return prepared;
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // What failed before has done it already.
  }
}

async function openFile(path: string): Promise<SqliteDatabase> {
  const Database = await loadDriver();
  return attempt(() => {
    const database = new Database(path);
    try {
      database.exec("PRAGMA busy_timeout = 0");
      database.exec("PRAGMA journal_mode = WAL");
      // A crash of the machine may lose the last moments: every process raises its counts again.
      database.exec("PRAGMA synchronous = NORMAL");
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

type DatabaseClass = new (path: string) => SqliteDatabase;

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

function attempt<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw sqliteFailure(error);
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
