/**
 * The tables of the admin store, as numbered migrations: a change is a new one at the end, and a published one never changes.
 *
 *   records    every workspace, namespace, override and key: its id, what it is looked up by, its JSON, and the revision of its last change
 *   audit      one row a change: who, what, before, after
 *   usage      the history of use: sums of a namespace or a workspace over a minute, an hour or a day
 *   revision   one row: the number of the last change. Whoever changes something holds it, so changes have an order
 *   schema     the migrations that were applied
 *
 * Records are JSON because SQL never looks inside: servers read them whole and answer from memory. The JSON is ASCII, so no collation,
 * encoding or NUL can change or merge two texts. A migration is breaking if programs that do not know it must not go on.
 */
import type { AdminDialect } from "./admin-dialect.ts";
import { type RunSql, SqlFailure, type SqlLink } from "./sql-link.ts";

export interface AdminTables {
  readonly records: string;
  readonly audit: string;
  readonly revision: string;
  readonly schema: string;
  readonly usage: string;
}

export interface AdminMigrationReport {
  /** The version that was found, 0: none; and the one that is there now. */
  readonly from: number;
  readonly to: number;
}

/** The tables are not what this release works on, and waiting does not help. */
export class AdminSchemaError extends Error {
  override readonly name = "AdminSchemaError";
}

export function adminTables(prefix = "sluice_admin_"): AdminTables {
  return {
    records: `${prefix}records`,
    audit: `${prefix}audit`,
    revision: `${prefix}revision`,
    schema: `${prefix}schema`,
    usage: `${prefix}usage`,
  };
}

interface Migration {
  readonly isBreaking: boolean;
  readonly apply: (run: RunSql, dialect: AdminDialect, tables: AdminTables) => Promise<void>;
}

/** The first has version 1. */
const MIGRATIONS: readonly Migration[] = [
  { isBreaking: true, apply: makeTables },
  { isBreaking: false, apply: boundAudit },
  { isBreaking: false, apply: makeUsage },
];

/**
 * A revision belongs to one change of one record, so it is unique in both tables; an index that says so needs no syntax of its own. So is
 * what a record is looked up by, among those of its kind: two transactions never make one twice, even if the order failed.
 */
async function makeTables(run: RunSql, { word, text, tableEnd }: AdminDialect, tables: AdminTables): Promise<void> {
  await run(`CREATE TABLE IF NOT EXISTS ${tables.records} (kind ${word} NOT NULL, id ${word} NOT NULL, lookup ${word},
    is_deleted SMALLINT NOT NULL, revision BIGINT NOT NULL, record ${text} NOT NULL,
    PRIMARY KEY (kind, id), UNIQUE (kind, lookup), UNIQUE (revision)) ${tableEnd}`);
  await run(`CREATE TABLE IF NOT EXISTS ${tables.audit} (revision BIGINT NOT NULL, workspace_id ${word} NOT NULL,
    at_ms BIGINT NOT NULL, entry ${text} NOT NULL, PRIMARY KEY (revision), UNIQUE (workspace_id, revision)) ${tableEnd}`);
  await run(`CREATE TABLE IF NOT EXISTS ${tables.revision} (id SMALLINT NOT NULL, revision BIGINT NOT NULL,
    purged BIGINT NOT NULL, PRIMARY KEY (id)) ${tableEnd}`);
  const rows = await run(`SELECT id FROM ${tables.revision}`);
  if (rows.length === 0) await run(`INSERT INTO ${tables.revision} (id, revision, purged) VALUES (1, 0, 0)`);
}

/** The audit trail in bytes and by time. A release that does not know the new column leaves it at 0: see sql-audit.ts. */
async function boundAudit(run: RunSql, { hasColumn, hasIndex }: AdminDialect, { audit }: AdminTables): Promise<void> {
  if ((await run(hasColumn, audit, "total_bytes")).length === 0) {
    await run(`ALTER TABLE ${audit} ADD COLUMN total_bytes BIGINT NOT NULL DEFAULT 0`);
  }
  for (const [name, columns] of [
    [`${audit}_time`, "workspace_id, at_ms, revision"],
    [`${audit}_total`, "workspace_id, total_bytes"],
  ] as const) {
    if ((await run(hasIndex, audit, name)).length === 0) await run(`CREATE INDEX ${name} ON ${audit} (${columns})`);
  }
}

/** A release that does not know it neither adds to it nor reads it. By time, so that what is too old is found. */
async function makeUsage(
  run: RunSql,
  { word, tableEnd, hasIndex }: AdminDialect,
  { usage }: AdminTables,
): Promise<void> {
  await run(`CREATE TABLE IF NOT EXISTS ${usage} (subject_id ${word} NOT NULL, span SMALLINT NOT NULL, at_ms BIGINT NOT NULL,
    allowed BIGINT NOT NULL, denied BIGINT NOT NULL, shadowed BIGINT NOT NULL, degraded BIGINT NOT NULL, cost BIGINT NOT NULL,
    PRIMARY KEY (subject_id, span, at_ms)) ${tableEnd}`);
  const name = `${usage}_time`;
  if ((await run(hasIndex, usage, name)).length === 0) {
    await run(`CREATE INDEX ${name} ON ${usage} (span, at_ms, subject_id)`);
  }
}

/** Applies what is missing. One that was interrupted is done again: it makes what is not there yet. */
export async function migrateAdmin(link: SqlLink, tables: AdminTables, nowMs: number): Promise<AdminMigrationReport> {
  return link.alone(async (run) => {
    await run(`CREATE TABLE IF NOT EXISTS ${tables.schema} (version BIGINT NOT NULL, is_breaking SMALLINT NOT NULL,
      applied_at BIGINT NOT NULL, PRIMARY KEY (version)) ${link.dialect.tableEnd}`);
    const from = await readVersion(run, tables);
    for (const [i, { isBreaking, apply }] of MIGRATIONS.entries()) {
      const version = i + 1;
      if (version <= from) continue;
      await apply(run, link.dialect, tables);
      const insert = `INSERT INTO ${tables.schema} (version, is_breaking, applied_at) VALUES (?, ?, ?)`;
      await run(insert, version, isBreaking ? 1 : 0, nowMs);
    }
    return { from, to: Math.max(from, MIGRATIONS.length) };
  });
}

/** Resolves if the tables will do; makes what is missing if that is wanted. Rejects with AdminSchemaError if they will not. */
export async function ensureAdminSchema(
  link: SqlLink,
  tables: AdminTables,
  { mayMigrate, nowMs }: { readonly mayMigrate: boolean; readonly nowMs: number },
): Promise<void> {
  const found = await link
    .ask((run) => readVersion(run, tables))
    .catch((error: unknown) => {
      if (error instanceof SqlFailure && error.kind === "missing") return 0;
      throw error;
    });
  if (found >= MIGRATIONS.length) return;
  const lack = `the tables ${tables.schema.replace(/schema$/, "*")} are at version ${found}, and version ${MIGRATIONS.length} is needed`;
  if (!mayMigrate) throw new AdminSchemaError(`${lack}: run sluice migrate first`);
  await migrateAdmin(link, tables, nowMs).catch((error: unknown) => {
    if (!(error instanceof SqlFailure) || error.kind !== "forbidden") throw error;
    throw new AdminSchemaError(
      `${lack}, and this database user may not create them (${error.message}): run sluice migrate as a user with that right`,
    );
  });
}

async function readVersion(run: RunSql, { schema }: AdminTables): Promise<number> {
  const rows = await run(`SELECT version, is_breaking FROM ${schema}`);
  const applied = rows.map((row) => ({
    version: Number(row["version"]),
    isBreaking: Number(row["is_breaking"]) !== 0,
  }));
  const newer = applied.find(({ version, isBreaking }) => version > MIGRATIONS.length && isBreaking);
  if (newer !== undefined) {
    throw new AdminSchemaError(
      `${schema} is at version ${newer.version}, which this release does not know (it knows ${MIGRATIONS.length}): ` +
        "use a newer release",
    );
  }
  return Math.max(0, ...applied.map(({ version }) => version));
}
