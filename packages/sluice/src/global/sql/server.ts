/** What `sluice/mysql` and `sluice/postgres` share: a pool for each side, the real clock, timers and randomness. */
import { SqlCounters } from "../global/sql-counters.ts";
import type { SqlDialect } from "../global/sql-dialect.ts";
import { type MigrationReport, migrate } from "../global/sql-migration.ts";
import {
  readSqlOptions,
  SQL_OPTIONS,
  SQL_PLACE_OPTIONS,
  type SqlEndpoint,
  type SqlOptions,
  type SqlScheme,
  type SqlSettings,
} from "../global/sql-options.ts";
import { type ConnectionPool, PoolLink, type PoolTimes } from "../global/sql-pool.ts";
import { tablesOf } from "../global/sql-schema.ts";
import { checkKnown } from "./known.ts";
import { SYSTEM } from "./system.ts";

/** A database server, and the driver to reach it by. */
export interface SqlServer<Pool> {
  readonly dialect: SqlDialect;
  readonly scheme: SqlScheme;
  pool(endpoint: SqlEndpoint<Pool>, times: PoolTimes): ConnectionPool;
}

export function sqlCounters<Pool>(server: SqlServer<Pool>, options: SqlOptions<Pool>): SqlCounters {
  const settings = read(server, options);
  return new SqlCounters(linkOf(server, settings), server.dialect, settings, SYSTEM);
}

export async function migrateSql<Pool>(server: SqlServer<Pool>, options: SqlOptions<Pool>): Promise<MigrationReport> {
  const settings = read(server, options);
  const link = linkOf(server, settings);
  try {
    return await migrate(link, server.dialect, tablesOf(settings.tablePrefix));
  } finally {
    await link.close();
  }
}

function read<Pool>({ scheme }: SqlServer<Pool>, options: SqlOptions<Pool>): SqlSettings<Pool> {
  checkKnown(options, SQL_OPTIONS);
  if (options.read !== undefined) checkKnown(options.read, SQL_PLACE_OPTIONS, "read");
  return readSqlOptions(options, scheme);
}

function linkOf<Pool>(server: SqlServer<Pool>, settings: SqlSettings<Pool>): PoolLink {
  const { write, read: replica } = settings;
  const reading = replica === null ? null : server.pool(replica, settings);
  return new PoolLink(server.pool(write, settings), reading, settings, SYSTEM);
}
