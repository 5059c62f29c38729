/** `sluice/mysql`: the global counters on MySQL or MariaDB, on the real clock, timers and randomness. */
import type { Counters } from "./global/counters.ts";
import type { MigrationReport } from "./global/sql/migration.ts";
import { MYSQL } from "./global/sql/mysql/dialect.ts";
import { MYSQL_SCHEME, type MysqlPool, mysqlPool } from "./global/sql/mysql/pool.ts";
import type { SqlOptions } from "./global/sql/options.ts";
import { migrateSql, type SqlServer, sqlCounters } from "./global/sql/server.ts";
import { SYSTEM } from "./limiter/system.ts";

export type { SqlFailureKind } from "./global/sql/failure.ts";
export type { MigrationReport } from "./global/sql/migration.ts";
export type { MysqlConnection, MysqlPool } from "./global/sql/mysql/pool.ts";
export type { SqlPlace } from "./global/sql/options.ts";
export type { SqlTls } from "./global/sql/url.ts";

export type MysqlOptions = SqlOptions<MysqlPool>;

const SERVER: SqlServer<MysqlPool> = { dialect: MYSQL, scheme: MYSQL_SCHEME, pool: mysqlPool };

/**
 * The counter store of all regions, on MySQL or MariaDB. It connects by itself and keeps trying: a database that is away does not stop
 * a process from starting. Missing tables are made at the first use, unless `migrate` is false.
 *
 * @throws SluiceError if the options are not legal.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { mysqlCounters } from "sluice/mysql";
 *
 * const global = mysqlCounters({ url: "mysql://sluice:secret@localhost/sluice" });
 * const limiter = new Limiter({ global, region: "eu" });
 * ```
 */
export function mysqlCounters(options: MysqlOptions): Counters {
  return sqlCounters(SERVER, options, SYSTEM);
}

/**
 * Creates the tables, or migrates them to this release. Rejects with the failure; it can be called again.
 *
 * @example
 * ```ts
 * import { migrateMysql } from "sluice/mysql";
 *
 * const report = await migrateMysql({ url: "mysql://sluice:secret@localhost/sluice" });
 * ```
 */
export function migrateMysql(options: MysqlOptions): Promise<MigrationReport> {
  return migrateSql(SERVER, options, SYSTEM);
}
