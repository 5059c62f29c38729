/**
 * One connection to the database of the admin store: one piece of work at a time, whatever the driver.
 *
 * Everything waits its turn here, and nothing can see another's unfinished transaction. The store uses two of them: what clients ask for
 * must not delay the reads of the directory, or a key could delay its own revocation. A lock that somebody else holds is waited for, not for
 * long; a connection that was lost while nobody used it is replaced silently. Everything else that fails is `AdminStoreAway`, and the next piece of work begins with a new connection.
 */
import { pause, type SqlFailureKind, type SqlRow, withDeadline } from "sluice/internal";
import type { Environment } from "../system/system.ts";
import { type AdminDialect, LONG_TIMEOUT_MS } from "./admin-dialect.ts";
import { AdminStoreAway } from "./admin-store.ts";

export type { SqlRow };
export type SqlValue = string | number | null;
export type RunSql = (text: string, ...values: SqlValue[]) => Promise<readonly SqlRow[]>;

export type FailureKind =
  /** Somebody else held a lock: nothing was done. */
  | "lock"
  /** A table is not there. */
  | "missing"
  /** The user may not do that. */
  | "forbidden"
  /** Its disk is full. */
  | "full"
  /** Everything else. */
  | "away";

/** What the store has to tell apart. The counters have more kinds. */
const KINDS: Readonly<Partial<Record<SqlFailureKind, FailureKind>>> = {
  lock: "lock",
  deadlock: "lock",
  schema: "missing",
  permission: "forbidden",
  readonly: "forbidden",
  full: "full",
};

export function failureKind(kind: SqlFailureKind): FailureKind {
  return KINDS[kind] ?? "away";
}

export interface AdminConnection {
  readonly run: RunSql;
  /** At once, without a last word to the server. */
  destroy(): void;
}

/** Adapter over one database driver. */
export interface AdminDriver {
  readonly dialect: AdminDialect;
  /** What a connection, sign-in included, and each statement may take; null where nothing can hang. */
  readonly timeoutMs: number | null;
  /** A statement blocks this process until it is done. */
  readonly isBlocking: boolean;
  open(): Promise<AdminConnection>;
  kindOf(error: unknown): FailureKind;
}

export class SqlFailure extends AdminStoreAway {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, cause: unknown) {
    super(cause instanceof Error ? cause.message || cause.name : String(cause), { cause });
    this.kind = kind;
  }
}

/** How long locks of others are waited for, in all. */
const PATIENCE_MS = 5_000;
const RETRY_MIN_MS = 2;
const RETRY_MAX_MS = 50;

interface Around {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** After a failure, if `before` was done. */
  readonly undo: readonly string[];
  /** Whether statements of the work may take LONG_TIMEOUT_MS. */
  readonly isLong?: boolean;
}

export class SqlLink {
  readonly dialect: AdminDialect;
  readonly isBlocking: boolean;
  readonly #driver: AdminDriver;
  readonly #environment: Environment;
  #connection: AdminConnection | null = null;
  /** The end of the queue. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(driver: AdminDriver, environment: Environment) {
    this.dialect = driver.dialect;
    this.isBlocking = driver.isBlocking;
    this.#driver = driver;
    this.#environment = environment;
  }

  /** Questions: each sees what is committed when it is asked. */
  ask<T>(work: (run: RunSql) => Promise<T>): Promise<T> {
    return this.#inTurn(work, { before: [], after: [], undo: [] });
  }

  /** Committed if `work` resolves, else nothing of it was done. */
  transaction<T>(work: (run: RunSql) => Promise<T>): Promise<T> {
    return this.#inTurn(work, { before: [this.dialect.begin], after: ["COMMIT"], undo: ["ROLLBACK"] });
  }

  /** No two processes at once. What changes tables may be committed in part, and may take long. */
  alone<T>(work: (run: RunSql) => Promise<T>): Promise<T> {
    const { beginAlone, endAlone, undoAlone } = this.dialect;
    return this.#inTurn(work, { before: beginAlone, after: [endAlone], undo: [undoAlone], isLong: true });
  }

  /** After what is under way; what comes later is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#drop();
  }

  #inTurn<T>(work: (run: RunSql) => Promise<T>, around: Around): Promise<T> {
    const turn = this.#last.then(() => this.#patiently(work, around));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #patiently<T>(work: (run: RunSql) => Promise<T>, around: Around): Promise<T> {
    const { clock, timers, random } = this.#environment;
    const endMs = clock.monoMs() + PATIENCE_MS;
    for (;;) {
      if (this.#isClosed) throw new AdminStoreAway("closed");
      const isUsed = this.#connection !== null;
      const progress = { answers: 0 };
      try {
        return await this.#once(work, around, progress);
      } catch (error) {
        const kind = error instanceof SqlFailure ? error.kind : null;
        // Lost while nobody used it: nothing was done yet, and a new connection may do.
        if (kind === "away" && isUsed && progress.answers === 0) continue;
        if (kind !== "lock" || clock.monoMs() >= endMs) throw error;
        const delayMs = RETRY_MIN_MS + (random.uint32() % (RETRY_MAX_MS - RETRY_MIN_MS));
        await pause(timers, delayMs, true);
      }
    }
  }

  async #once<T>(
    work: (run: RunSql) => Promise<T>,
    { before, after, undo, isLong = false }: Around,
    progress: { answers: number },
  ): Promise<T> {
    const connection = await this.#opened();
    let isWorking = false;
    const run: RunSql = async (text, ...values) => {
      try {
        const rows = await this.#inTime(connection.run(text, ...values), isLong && isWorking);
        progress.answers++;
        return rows;
      } catch (error) {
        throw this.#failure(error);
      }
    };
    try {
      for (const text of before) {
        const [row] = await run(text);
        if (row !== undefined && Number(Object.values(row)[0]) === 0) {
          throw new SqlFailure("lock", "another process is changing the tables");
        }
      }
      isWorking = true;
      const done = await work(run);
      isWorking = false;
      for (const text of after) await run(text);
      return done;
    } catch (error) {
      isWorking = false;
      await this.#undo(error, progress.answers < before.length ? [] : undo, run);
      throw error;
    }
  }

  /** A connection that cannot take back what was begun is of no more use. */
  async #undo(error: unknown, undo: readonly string[], run: RunSql): Promise<void> {
    if (error instanceof SqlFailure && error.kind === "away") {
      this.#drop();
      return;
    }
    for (const text of undo) await run(text).catch(() => this.#drop());
  }

  async #opened(): Promise<AdminConnection> {
    if (this.#connection !== null) return this.#connection;
    const opening = this.#driver.open();
    try {
      this.#connection = await this.#inTime(opening);
      return this.#connection;
    } catch (error) {
      // It may still come: nobody waits for it any more.
      opening.then(
        (late) => late.destroy(),
        () => undefined,
      );
      throw this.#failure(error);
    }
  }

  /** Drivers have time-outs, too, with holes: mysql2's leaves out what prepares a statement. */
  async #inTime<T>(work: Promise<T>, isLong = false): Promise<T> {
    if (this.#driver.timeoutMs === null) return work;
    const timeoutMs = isLong ? LONG_TIMEOUT_MS : this.#driver.timeoutMs;
    const outcome = await withDeadline(() => work, timeoutMs, this.#environment.timers, undefined, true);
    if (outcome.kind === "done") return outcome.value;
    if (outcome.kind === "failed") throw outcome.error;
    throw new SqlFailure("away", `no answer within ${timeoutMs} ms`);
  }

  #failure(error: unknown): SqlFailure {
    return error instanceof SqlFailure ? error : new SqlFailure(this.#driver.kindOf(error), error);
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.destroy();
  }
}
