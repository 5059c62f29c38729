/**
 * A pool of connections, seen the same way whatever the driver: with a deadline on getting one and on using it.
 *
 * Invariant: a connection that did not answer in time, or is of no more use, is thrown away and never used again: its late answer
 * would be taken for the next statement's.
 */
import type { Environment } from "../../core/clock.ts";
import { type Pending, withDeadline } from "../../core/deadline.ts";
import { BROKEN, SqlFailure } from "./failure.ts";
import type { RunStatement, SqlAnswer, SqlLink, SqlSide, Statement } from "./link.ts";
import { integerOf } from "./row.ts";

export interface PooledConnection {
  run(statement: Statement): Promise<SqlAnswer>;
  /** Gives it back, or throws it away. */
  release(isBroken: boolean): void;
}

/** What a driver's pool is made to offer. */
export interface ConnectionPool {
  connect(): Promise<PooledConnection>;
  /** Does nothing to a pool that somebody else owns. */
  end(): Promise<void>;
  failureOf(error: unknown): SqlFailure;
  /** The statements around work that is done alone. */
  lock(name: string): { readonly before: readonly Statement[]; readonly after: string; readonly onFailure: string };
}

export interface PoolTimes {
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** Work that is done alone waits for others who do it, and may change a large table. */
export const ALONE_TIMEOUT_MS = 60_000;

export class PoolLink implements SqlLink {
  readonly hasReplica: boolean;
  readonly #pools: Readonly<Record<SqlSide, ConnectionPool>>;
  readonly #times: PoolTimes;
  readonly #environment: Pick<Environment, "timers">;
  /** Everything that is waited for; calling one gives it up. */
  readonly #pending: Pending = new Set();

  constructor(
    write: ConnectionPool,
    read: ConnectionPool | null,
    times: PoolTimes,
    environment: Pick<Environment, "timers">,
  ) {
    this.hasReplica = read !== null;
    this.#pools = { write, read: read ?? write };
    this.#times = times;
    this.#environment = environment;
  }

  run(side: SqlSide, statement: Statement): Promise<SqlAnswer> {
    return this.#with(this.#pools[side], this.#times.statementTimeoutMs, (run) => run(statement));
  }

  alone<T>(lock: string, work: (run: RunStatement) => Promise<T>): Promise<T> {
    const { before, after, onFailure } = this.#pools.write.lock(lock);
    return this.#with(this.#pools.write, ALONE_TIMEOUT_MS, async (run) => {
      for (const statement of before) {
        const { rows } = await run(statement);
        if (integerOf(rows[0]?.["taken"] ?? 1) !== 1)
          throw new SqlFailure("lock", `another session holds the lock ${lock}`);
      }
      try {
        const done = await work(run);
        await run({ text: after, values: [] });
        return done;
      } catch (error) {
        // On a broken connection it cannot be said, and need not.
        await run({ text: onFailure, values: [] }).catch(() => undefined);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    for (const expire of this.#pending) expire();
    const { write, read } = this.#pools;
    await write.end();
    if (read !== write) await read.end();
  }

  async #with<T>(pool: ConnectionPool, timeoutMs: number, use: (run: RunStatement) => Promise<T>): Promise<T> {
    const connection = await this.#connect(pool);
    let isBroken = false;
    const run: RunStatement = async (statement) => {
      if (isBroken) throw new SqlFailure("connection", "the connection was closed after an earlier failure");
      const { timers } = this.#environment;
      const outcome = await withDeadline(() => connection.run(statement), timeoutMs, timers, this.#pending);
      if (outcome.kind === "done") return outcome.value;
      const late = new SqlFailure("timeout", `no response within ${timeoutMs} ms`);
      const failure = outcome.kind === "late" ? late : pool.failureOf(outcome.error);
      isBroken = BROKEN.has(failure.kind);
      throw failure;
    };
    try {
      return await use(run);
    } finally {
      connection.release(isBroken);
    }
  }

  async #connect(pool: ConnectionPool): Promise<PooledConnection> {
    const { connectTimeoutMs } = this.#times;
    const connecting = pool.connect();
    const outcome = await withDeadline(() => connecting, connectTimeoutMs, this.#environment.timers, this.#pending);
    if (outcome.kind === "done") return outcome.value;
    if (outcome.kind === "failed") throw pool.failureOf(outcome.error);
    // It may still come: nobody waits for it any more.
    connecting.then(
      (connection) => connection.release(false),
      () => undefined,
    );
    throw new SqlFailure("timeout", `no connection within ${connectTimeoutMs} ms`);
  }
}
