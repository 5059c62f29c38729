/** The three databases as suites use them: one server of each, and counters on tables of their own. */
import { join } from "node:path";
import { createPool, type Pool as MysqlPool } from "mysql2/promise";
import { Pool as PostgresPool } from "pg";
import type { SqlDialect } from "../../packages/sluice/src/global/sql/dialect.ts";
import type { SqlLink } from "../../packages/sluice/src/global/sql/link.ts";
import { MYSQL } from "../../packages/sluice/src/global/sql/mysql/dialect.ts";
import { mysqlPool } from "../../packages/sluice/src/global/sql/mysql/pool.ts";
import { PoolLink } from "../../packages/sluice/src/global/sql/pool.ts";
import { POSTGRES } from "../../packages/sluice/src/global/sql/postgres/dialect.ts";
import { postgresPool } from "../../packages/sluice/src/global/sql/postgres/pool.ts";
import { SqlCounters } from "../../packages/sluice/src/global/sql/sql-counters.ts";
import { SQLITE } from "../../packages/sluice/src/global/sql/sqlite/dialect.ts";
import { SqliteLink } from "../../packages/sluice/src/global/sql/sqlite/link.ts";
import { SYSTEM } from "../../packages/sluice/src/limiter/system.ts";
import { removeFolder, temporaryFolder } from "./child-processes.ts";
import { MariadbServer } from "./mariadb-server.ts";
import { PostgresServer } from "./postgres-server.ts";

export const SQL_NAMES = ["mariadb", "postgres", "sqlite"] as const;
export type SqlName = (typeof SQL_NAMES)[number];

/** A change is read again for this long: short, because suites wait for it. */
export const OVERLAP_MS = 150;
const TIMES = { connectTimeoutMs: 10_000, statementTimeoutMs: 20_000 };

export interface SqlStoreRig {
  readonly dialect: SqlDialect;
  /** Counters on tables with this prefix, or with one of their own. */
  counters(tablePrefix?: string): SqlCounters;
  /** One statement, past Sluice. */
  ask(sql: string): Promise<readonly Record<string, unknown>[]>;
  stop(): Promise<void>;
}

let prefixes = 0;

function rigOf(
  dialect: SqlDialect,
  link: () => SqlLink,
  rest: Pick<SqlStoreRig, "ask" | "stop">,
): SqlStoreRig & { readonly open: SqlCounters[] } {
  const open: SqlCounters[] = [];
  return {
    ...rest,
    dialect,
    open,
    counters: (tablePrefix = `t${prefixes++}_`) => {
      const counters = new SqlCounters(link(), dialect, { tablePrefix, migrate: true, overlapMs: OVERLAP_MS }, SYSTEM);
      open.push(counters);
      return counters;
    },
    stop: async () => {
      for (const one of open) await one.close();
      await rest.stop();
    },
  };
}

export async function startSql(name: SqlName): Promise<SqlStoreRig> {
  switch (name) {
    case "mariadb":
      return mariadb();
    case "postgres":
      return postgres();
    case "sqlite":
      return sqlite();
  }
}

async function mariadb(): Promise<SqlStoreRig> {
  const server = await MariadbServer.start();
  const pool: MysqlPool = createPool({ uri: server.url(), connectionLimit: 4, charset: "utf8mb4" });
  return rigOf(MYSQL, () => new PoolLink(mysqlPool({ kind: "pool", pool }, TIMES), null, TIMES, SYSTEM), {
    ask: (sql) => server.ask(sql),
    stop: async () => {
      await pool.end();
      await server.stop();
    },
  });
}

async function postgres(): Promise<SqlStoreRig> {
  const server = await PostgresServer.start();
  const pool = new PostgresPool({ connectionString: server.url(), max: 4 });
  pool.on("error", () => {});
  return rigOf(POSTGRES, () => new PoolLink(postgresPool({ kind: "pool", pool }, TIMES), null, TIMES, SYSTEM), {
    ask: (sql) => server.ask(sql),
    stop: async () => {
      await pool.end();
      await server.stop();
    },
  });
}

async function sqlite(): Promise<SqlStoreRig> {
  const folder = temporaryFolder();
  const path = join(folder, "sluice.db");
  const own = new SqliteLink({ path });
  return rigOf(SQLITE, () => new SqliteLink({ path }), {
    ask: async (text) => (await own.run("write", { text, values: [] })).rows,
    stop: async () => {
      await own.close();
      removeFolder(folder);
    },
  });
}
