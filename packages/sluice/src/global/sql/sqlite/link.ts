/**
 * Counters in a SQLite file, for several processes of one machine.
 *
 * A statement runs within this process and blocks it, so none may wait for another process: a lock that is taken fails at once, and
 * is tried again later (sql-counters.ts).
 */
import { SqlFailure } from "../failure.ts";
import type { RunStatement, SqlAnswer, SqlLink, SqlRow, SqlSide, Statement } from "../link.ts";
import { openSqlite, type SqliteDatabase, type SqlitePrepared, sqliteFailure } from "./database.ts";

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
  try {
    // A crash of the machine may lose the last moments: every process raises its counts again.
    return await openSqlite(path, "NORMAL");
  } catch (error) {
    throw sqliteFailure(error);
  }
}

function attempt<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw sqliteFailure(error);
  }
}
