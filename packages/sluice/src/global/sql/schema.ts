/**
 * The schema, as numbered migrations. A change of the schema is a new migration at the end; a published one never changes.
 *
 *   counters   one row a (key, sequence, region): the region's component of a cell
 *   denials    one row a (key, sequence, region): "this cell is full", of the denial channel
 *   regions    when each region was last heard
 *   turns      who does what only one should do
 *   origins    which origins speak for which region, and when each was last heard
 *   schema     the migrations that were applied
 *
 * A migration is breaking if programs that do not know it must not go on; one that only adds is not.
 */
import type { MigrationStatement, SqlDialect } from "./dialect.ts";

export interface Migration {
  readonly version: number;
  readonly isBreaking: boolean;
  readonly statements: readonly MigrationStatement[];
}

export interface Tables {
  readonly counters: string;
  readonly denials: string;
  readonly regions: string;
  readonly turns: string;
  readonly origins: string;
  readonly schema: string;
}

export const PREFIX_DEFAULT = "sluice_";

export function tablesOf(prefix: string = PREFIX_DEFAULT): Tables {
  const named = (name: string) => `${prefix}${name}`;
  return {
    counters: named("counters"),
    denials: named("denials"),
    regions: named("regions"),
    turns: named("turns"),
    origins: named("origins"),
    schema: named("schema"),
  };
}

/** The largest integer that every driver can give back exactly; 1,000 regions of it still add up within 64 bits. */
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

export function migrationsOf(dialect: SqlDialect, tables: Tables): readonly Migration[] {
  return [
    { version: 1, isBreaking: true, statements: first(dialect, tables) },
    { version: 2, isBreaking: false, statements: second(dialect, tables) },
    { version: 3, isBreaking: false, statements: third(dialect, tables) },
    { version: 4, isBreaking: false, statements: fourth(dialect, tables) },
  ];
}

/** Whether some of a count was charged. Older releases insert rows without this column, and leave it as it is when they raise a count. */
function fourth({ addColumn }: SqlDialect, { counters }: Tables): readonly MigrationStatement[] {
  return [addColumn(counters, "charged", "SMALLINT")];
}

/**
 * When a denial was last changed, so that imports can read only new ones. Older releases insert rows without this column: its
 * default, or a trigger, stamps them. Rows from before the migration keep 0; a process reads them when it starts.
 */
function third({ changedAt }: SqlDialect, { denials }: Tables): readonly MigrationStatement[] {
  return changedAt(denials, `${denials}_changed_at`);
}

function second({ types, tableEnd }: SqlDialect, { origins }: Tables): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${origins} (region ${types.region} NOT NULL, origin VARCHAR(64) NOT NULL,
      seen_at BIGINT NOT NULL, PRIMARY KEY (region, origin)) ${tableEnd}`,
  ];
}

function first(dialect: SqlDialect, tables: Tables): readonly string[] {
  const { types, tableEnd } = dialect;
  const cells = (table: string, amount: string, more: readonly string[], indexed: readonly string[]) => {
    const [inside, beside] = indexesOf(dialect, table, indexed);
    const lines = [
      `key_hash ${types.hash} NOT NULL`,
      "sequence BIGINT NOT NULL",
      `region ${types.region} NOT NULL`,
      `${amount} BIGINT NOT NULL CHECK (${amount} BETWEEN 0 AND ${AMOUNT_MAX})`,
      "expires_at BIGINT NOT NULL",
      `workspace ${types.part} NOT NULL`,
      `namespace ${types.part} NOT NULL`,
      `identifier ${types.part} NOT NULL`,
      "duration_ms BIGINT NOT NULL",
      ...more,
      "PRIMARY KEY (key_hash, sequence, region)",
      ...inside,
    ];
    return [`CREATE TABLE IF NOT EXISTS ${table} (${lines.join(", ")}) ${tableEnd}`, ...beside];
  };
  return [
    ...cells(tables.counters, "count", ["changed_at BIGINT NOT NULL"], ["changed_at", "expires_at"]),
    ...cells(tables.denials, "limit_count", [], ["expires_at"]),
    `CREATE TABLE IF NOT EXISTS ${tables.regions}
      (region ${types.region} NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (region)) ${tableEnd}`,
    `CREATE TABLE IF NOT EXISTS ${tables.turns}
      (name VARCHAR(32) NOT NULL, holder VARCHAR(64) NOT NULL, until_at BIGINT NOT NULL, PRIMARY KEY (name)) ${tableEnd}`,
  ];
}

function indexesOf(dialect: SqlDialect, table: string, columns: readonly string[]): [string[], string[]] {
  const nameOf = (column: string) => `${table}_${column}`;
  if (dialect.indexes === "within") return [columns.map((column) => `KEY ${nameOf(column)} (${column})`), []];
  return [[], columns.map((column) => `CREATE INDEX IF NOT EXISTS ${nameOf(column)} ON ${table} (${column})`)];
}

export function schemaTable({ tableEnd }: SqlDialect, { schema }: Tables): string {
  return `CREATE TABLE IF NOT EXISTS ${schema}
    (version BIGINT NOT NULL, is_breaking SMALLINT NOT NULL, applied_at BIGINT NOT NULL, PRIMARY KEY (version)) ${tableEnd}`;
}
