/** `sluice/sqlite`: the global counters in a SQLite file, for several processes of one machine. */

import { checkKnown } from "./core/known.ts";
import type { Counters } from "./global/counters.ts";
import { type MigrationReport, migrate } from "./global/sql/migration.ts";
import { tablesOf } from "./global/sql/schema.ts";
import { SqlCounters } from "./global/sql/sql-counters.ts";
import { SQLITE } from "./global/sql/sqlite/dialect.ts";
import { SqliteLink } from "./global/sql/sqlite/link.ts";
import {
  readSqliteOptions,
  SQLITE_OPTIONS,
  type SqliteOptions,
  type SqliteSettings,
} from "./global/sql/sqlite/options.ts";
import { SYSTEM } from "./limiter/system.ts";

export type { SqlFailureKind } from "./global/sql/failure.ts";
export type { MigrationReport } from "./global/sql/migration.ts";
export type { SqliteDatabase } from "./global/sql/sqlite/database.ts";
export type { SqliteOptions } from "./global/sql/sqlite/options.ts";

/**
 * A counter store in a SQLite file: through node:sqlite, or where Node has none, the package libsql.
 *
 * @throws SluiceError if the options are not legal.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { sqliteCounters } from "sluice/sqlite";
 *
 * const limiter = new Limiter({ global: sqliteCounters({ path: "counters.db" }), region: "eu" });
 * ```
 */
export function sqliteCounters(options: SqliteOptions): Counters {
  const settings = read(options);
  return new SqlCounters(new SqliteLink(settings.place), SQLITE, settings, SYSTEM);
}

/**
 * Creates the tables, or migrates them to this release. Rejects with the failure.
 *
 * @example
 * ```ts
 * import { migrateSqlite } from "sluice/sqlite";
 *
 * const report = await migrateSqlite({ path: "counters.db" });
 * ```
 */
export async function migrateSqlite(options: SqliteOptions): Promise<MigrationReport> {
  const { place, tablePrefix } = read(options);
  const link = new SqliteLink(place);
  try {
    return await migrate(link, SQLITE, tablesOf(tablePrefix));
  } finally {
    await link.close();
  }
}

function read(options: SqliteOptions): SqliteSettings {
  checkKnown(options, SQLITE_OPTIONS);
  return readSqliteOptions(options);
}
