/**
 * Brings a schema up to date, and says whether a program may work on the one that is there.
 *
 * Migrations are applied in order, by one process at a time, and each is written down. One that was interrupted is done again:
 * its statements make what is not there yet. Nothing is ever taken back.
 */
import type { MigrationStatement, SqlDialect } from "./dialect.ts";
import { SqlFailure } from "./failure.ts";
import type { RunStatement, SqlLink } from "./link.ts";
import { integerOf } from "./row.ts";
import { migrationsOf, schemaTable, type Tables } from "./schema.ts";

export interface MigrationReport {
  /** The version that was found, 0: none; and the one that is there now. */
  readonly from: number;
  readonly to: number;
}

interface Applied {
  readonly version: number;
  readonly isBreaking: boolean;
}

/** Applies what is missing. Rejects with a SqlFailure. */
export async function migrate(link: SqlLink, dialect: SqlDialect, tables: Tables): Promise<MigrationReport> {
  const migrations = migrationsOf(dialect, tables);
  return link.alone(tables.schema, async (run) => {
    await run({ text: schemaTable(dialect, tables), values: [] });
    const applied = await readApplied(run, tables);
    refuseNewer(applied, migrations.length, tables);
    const from = Math.max(0, ...applied.map(({ version }) => version));
    for (const { version, isBreaking, statements } of migrations) {
      if (version <= from) continue;
      for (const statement of statements) await apply(run, statement);
      await run({
        text: `INSERT INTO ${tables.schema} (version, is_breaking, applied_at) VALUES (?, ?, ${dialect.nowMs})`,
        values: [version, isBreaking ? 1 : 0],
      });
    }
    return { from, to: Math.max(from, migrations.length) };
  });
}

async function apply(run: RunStatement, statement: MigrationStatement): Promise<void> {
  if (typeof statement === "string") {
    await run({ text: statement, values: [] });
    return;
  }
  const { rows } = await run({ text: statement.unless, values: [] });
  if (rows.length === 0) await run({ text: statement.text, values: [] });
}

/** Resolves if the schema will do; applies what is missing if that is wanted. Rejects with a SqlFailure of the kind "schema". */
export async function ensureSchema(
  link: SqlLink,
  dialect: SqlDialect,
  tables: Tables,
  mayMigrate: boolean,
): Promise<void> {
  const wanted = migrationsOf(dialect, tables).length;
  const applied = await readApplied((statement) => link.run("write", statement), tables).catch((error: unknown) => {
    if (error instanceof SqlFailure && error.kind === "schema") return [];
    throw error;
  });
  refuseNewer(applied, wanted, tables);
  const found = Math.max(0, ...applied.map(({ version }) => version));
  if (found >= wanted) return;
  const lack = `the tables ${tables.schema.replace(/schema$/, "*")} are at version ${found}, but this release needs version ${wanted}`;
  if (!mayMigrate) throw new SqlFailure("schema", `${lack}: apply the migrations first (docs/operating.md)`);
  await migrate(link, dialect, tables).catch((error: unknown) => {
    const isRefused = error instanceof SqlFailure && (error.kind === "permission" || error.kind === "readonly");
    if (!isRefused) throw error;
    throw new SqlFailure(
      "schema",
      `${lack}, and this user may not create them (${error.message}): apply the migrations as a user with that permission (docs/operating.md)`,
    );
  });
}

async function readApplied(run: RunStatement, { schema }: Tables): Promise<readonly Applied[]> {
  const { rows } = await run({ text: `SELECT version, is_breaking FROM ${schema}`, values: [] });
  return rows.map((row) => ({ version: integerOf(row["version"]), isBreaking: Number(row["is_breaking"]) !== 0 }));
}

/** A newer release may have added to the schema; if it changed what was there, an older one must stop. */
function refuseNewer(applied: readonly Applied[], known: number, { schema }: Tables): void {
  const breaking = applied.find(({ version, isBreaking }) => version > known && isBreaking);
  if (breaking === undefined) return;
  throw new SqlFailure(
    "schema",
    `${schema} is at version ${breaking.version}, which this release does not support (it supports up to ${known}): use a newer release`,
  );
}
