/**
 * What the entries of database servers (`sluice/mysql`, `sluice/postgres`) share: they check the options, and connect a pool of the
 * driver for writing and, with a replica, another for reading. SQLite has no pools and its own options.
 */
import type { Environment } from "../../core/clock.ts";
import { checkKnown } from "../../core/known.ts";
import type { SqlDialect } from "./dialect.ts";
import { type MigrationReport, migrate } from "./migration.ts";
import {
  readSqlOptions,
  SQL_OPTIONS,
  SQL_PLACE_OPTIONS,
  type SqlEndpoint,
  type SqlOptions,
  type SqlScheme,
  type SqlSettings,
} from "./options.ts";
import { type ConnectionPool, PoolLink, type PoolTimes } from "./pool.ts";
import { tablesOf } from "./schema.ts";
import { SqlCounters } from "./sql-counters.ts";

/** A database server, and the driver to reach it by. */
export interface SqlServer<Pool> {
  readonly dialect: SqlDialect;
  readonly scheme: SqlScheme;
  pool(endpoint: SqlEndpoint<Pool>, times: PoolTimes): ConnectionPool;
}

export function sqlCounters<Pool>(
  server: SqlServer<Pool>,
  options: SqlOptions<Pool>,
  environment: Environment,
): SqlCounters {
  const settings = read(server, options);
  return new SqlCounters(linkOf(server, settings, environment), server.dialect, settings, environment);
}

export async function migrateSql<Pool>(
  server: SqlServer<Pool>,
  options: SqlOptions<Pool>,
  environment: Environment,
): Promise<MigrationReport> {
  const settings = read(server, options);
  const link = linkOf(server, settings, environment);
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

function linkOf<Pool>(server: SqlServer<Pool>, settings: SqlSettings<Pool>, environment: Environment): PoolLink {
  const { write, read: replica } = settings;
  const reading = replica === null ? null : server.pool(replica, settings);
  return new PoolLink(server.pool(write, settings), reading, settings, environment);
}
