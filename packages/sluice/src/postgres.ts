/** `sluice/postgres`: the global counters on PostgreSQL, on the real clock, timers and randomness. */
import type { Counters } from "./global/counters.ts";
import type { MigrationReport } from "./global/sql/migration.ts";
import type { SqlOptions } from "./global/sql/options.ts";
import { POSTGRES } from "./global/sql/postgres/dialect.ts";
import { POSTGRES_SCHEME, type PostgresPool, postgresPool } from "./global/sql/postgres/pool.ts";
import { migrateSql, type SqlServer, sqlCounters } from "./global/sql/server.ts";
import { SYSTEM } from "./limiter/system.ts";

export type { SqlFailureKind } from "./global/sql/failure.ts";
export type { MigrationReport } from "./global/sql/migration.ts";
export type { SqlPlace } from "./global/sql/options.ts";
export type { PostgresClient, PostgresPool } from "./global/sql/postgres/pool.ts";
export type { SqlTls } from "./global/sql/url.ts";

export type PostgresOptions = SqlOptions<PostgresPool>;

const SERVER: SqlServer<PostgresPool> = { dialect: POSTGRES, scheme: POSTGRES_SCHEME, pool: postgresPool };

/**
 * The counter store of all regions, on PostgreSQL. It connects by itself and keeps trying: a database that is away does not stop
 * a process from starting. Missing tables are made at the first use, unless `migrate` is false.
 *
 * @throws SluiceError if the options are not legal.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { postgresCounters } from "sluice/postgres";
 *
 * const global = postgresCounters({ url: "postgres://sluice:secret@localhost/sluice" });
 * const limiter = new Limiter({ global, region: "eu" });
 * ```
 */
export function postgresCounters(options: PostgresOptions): Counters {
  return sqlCounters(SERVER, options, SYSTEM);
}

/**
 * Creates the tables, or migrates them to this release. Rejects with the failure; it can be called again.
 *
 * @example
 * ```ts
 * import { migratePostgres } from "sluice/postgres";
 *
 * const report = await migratePostgres({ url: "postgres://sluice:secret@localhost/sluice" });
 * ```
 */
export function migratePostgres(options: PostgresOptions): Promise<MigrationReport> {
  return migrateSql(SERVER, options, SYSTEM);
}
