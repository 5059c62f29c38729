/**
 * What a world of regions asks of a database as time goes on: rows and statements a second, as the regions count them and as the
 * server does.
 *
 * Every region is a limiter of its own, all in this process. Each has asked about all its keys, and goes on asking about the hot
 * ones, once a round; nothing but the layer's own rhythm publishes and imports. Measured from when all is published and every
 * region has seen the others.
 */
import { Limiter } from "sluice";
import type { CostShape } from "./cost.ts";
import type { SqlServer, SqlStore } from "./stores.ts";

export interface Rhythm {
  /** Of all regions together. */
  readonly rowsPerS: number;
  readonly statementsPerS: number;
  /** The same by the server's own count: rows that it updated, statements or transactions. */
  readonly serverRowsPerS: number;
  readonly serverStatementsPerS: number;
  /** The share of rounds that began when they were due: below 1, the machine could not follow. */
  readonly kept: number;
  readonly failed: number;
}

export interface RhythmOptions {
  /** The time from one publish to the next, and from one import to the next. */
  readonly roundMs: number;
  readonly forMs: number;
}

const KEYS_PER_TURN = 200;

export async function measureRhythm(store: SqlStore, shape: CostShape, options: RhythmOptions): Promise<Rhythm> {
  const server = await store.start();
  const { cells, hot, regions } = shape;
  const { roundMs, forMs } = options;
  const limiters = Array.from({ length: regions }, (_, i) => {
    const global = store.open(server, { statementTimeoutMs: 60_000 });
    const region = `region${i}`;
    return new Limiter({ region, global, floor: 0, publishMs: roundMs, importMs: roundMs, cellsMax: cells + 1_000 });
  });
  const ask = async (keys: number) => {
    for (let key = 0; key < keys; key++) {
      const request = { namespace: "api", identifier: `user_${key}`, limit: 2 ** 30, duration: "1h" as const };
      for (const limiter of limiters) void limiter.decide(request);
      if (key % KEYS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const last = { namespace: "api", identifier: `user_${cells - 1}`, limit: 2 ** 30, duration: "1h" as const };
  const isSettled = () =>
    limiters.every((limiter) => {
      const { unpublished } = limiter.stats().global!;
      return unpublished === 0 && limiter.inspect(last).current.foreign === regions - 1;
    });
  await ask(cells);
  while (!isSettled()) await pause(roundMs / 4);
  const before = await countsOf(limiters, server);
  const [beganMs, endMs] = [performance.now(), performance.now() + forMs];
  let rounds = 0;
  while (performance.now() < endMs) {
    rounds++;
    await ask(hot);
    await pause(Math.max(1, beganMs + rounds * roundMs - performance.now()));
  }
  const after = await countsOf(limiters, server);
  const seconds = (performance.now() - beganMs) / 1_000;
  for (const limiter of limiters) await limiter.close();
  await server.stop();
  const perS = (count: keyof Counts) => (after[count] - before[count]) / seconds;
  return {
    rowsPerS: perS("rows"),
    statementsPerS: perS("statements"),
    serverRowsPerS: perS("serverRows"),
    serverStatementsPerS: perS("serverStatements"),
    kept: perS("rows") / ((regions * hot * 1_000) / roundMs),
    failed: after.failed - before.failed,
  };
}

interface Counts {
  readonly rows: number;
  readonly statements: number;
  readonly failed: number;
  readonly serverRows: number;
  readonly serverStatements: number;
}

async function countsOf(limiters: readonly Limiter[], server: SqlServer): Promise<Counts> {
  const all = limiters.map((limiter) => limiter.stats().global!);
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    rows: sum((one) => one.rowsPublished),
    statements: sum((one) => one.store!.statements),
    failed: sum((one) => one.roundsFailed),
    ...(server.url().startsWith("mysql") ? await mariadbCounts(server) : await postgresCounts(server)),
  };
}

async function mariadbCounts(server: SqlServer) {
  const rows = await server.ask("SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_update', 'Com_stmt_execute')");
  const told = new Map(rows.map((row) => [row["Variable_name"], Number(row["Value"])]));
  return { serverRows: told.get("Handler_update") ?? 0, serverStatements: told.get("Com_stmt_execute") ?? 0 };
}

async function postgresCounts(server: SqlServer) {
  const [row] = await server.ask(`SELECT (SELECT SUM(n_tup_upd) FROM pg_stat_user_tables) AS changed,
    (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS done`);
  return { serverRows: Number(row?.["changed"]), serverStatements: Number(row?.["done"]) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
