/**
 * What the three databases say differently. Everything else is said once, in statements.ts and schema.ts.
 */
import type { Statement } from "./link.ts";
import { type Amount, notesOf, type StoredRow, valuesOf } from "./row.ts";

/** A statement that can be run again, or one that is skipped if a query returns a row: not every database can say IF NOT EXISTS. */
export type MigrationStatement = string | { readonly unless: string; readonly text: string };

export interface SqlDialect {
  readonly name: "mysql" | "postgres" | "sqlite";
  /** Milliseconds since the Unix epoch by the server's clock, as an expression. */
  readonly nowMs: string;
  /** A query for 1 or true in its only column if the server takes no writes; null: it always does. */
  readonly isReadOnly: string | null;
  /** The type that a bound integer is cast to, so that an index serves. */
  readonly integer: string;
  /** Said of a table within a statement that must be made before it is used, where that can be said. */
  readonly materialized: "MATERIALIZED" | "";
  /** Said after a table that must be read by this index, where that can be said. */
  byIndex(name: string): string;
  /** Whether a joined part may depend on the row it is joined to. */
  readonly hasLateral: boolean;
  /** Types of columns. */
  readonly types: {
    /** Exactly 16 bytes. */
    readonly hash: string;
    /** A region's name, compared byte by byte. */
    readonly region: string;
    /** A part of a key: to be read, not compared. */
    readonly part: string;
  };
  /** What follows the closing bracket of a table. */
  readonly tableEnd: string;
  /** Indexes are made beside their table, or within it. */
  readonly indexes: "beside" | "within";
  /** What follows `INSERT INTO t (…)`: the rows, each with one more column that holds this expression, if any. */
  source(rows: readonly StoredRow[], more: string | null): Statement;
  /** What follows that, where a row with this key is there already. */
  onConflict(key: string, set: string): string;
  /** The same for amounts that only grow: the larger one stays, and a row that does not rise is left alone. */
  rise(table: string, amount: Amount): string;
  /** Adds a column with a constant default. Can be run again. */
  addColumn(table: string, column: string, type: string): MigrationStatement;
  /** Adds the column changed_at, which is stamped even if an INSERT does not name it, and an index on it. Can be run again. */
  changedAt(table: string, index: string): readonly MigrationStatement[];
  /** Deletes up to `rowsMax` rows that have expired by the earlier of two clocks: the server's, and the bound time. */
  deleteExpired(table: string, rowsMax: number): string;
}

/**
 * Rows as a list of values. The last one is repeated until there are 2^n: a repeated row changes nothing, and a server sees only
 * ten texts to prepare. PostgreSQL refuses a row that meets itself, and has a way of its own.
 */
export function listed(rows: readonly StoredRow[], more: string | null): Statement {
  const padded = [...rows];
  while ((padded.length & (padded.length - 1)) !== 0) padded.push(padded.at(-1)!);
  const marks = Array.from(valuesOf(padded[0]!), () => "?").join(", ");
  const row = `(${marks}${more === null ? "" : `, ${more}`})`;
  return { text: `VALUES ${padded.map(() => row).join(", ")}`, values: padded.flatMap(valuesOf) };
}

/** `rise` where there is an `excluded` row, with the name of the function that takes the larger. */
export function riseOnConflict(
  { table, amount, nowMs }: { readonly table: string; readonly amount: Amount; readonly nowMs: string },
  larger: "GREATEST" | "MAX",
): string {
  const raised = [amount, ...notesOf(amount)];
  const largest = [...raised, "expires_at"].map((one) => `${one} = ${larger}(${table}.${one}, excluded.${one})`);
  const isRaised = raised.map((one) => `excluded.${one} > ${table}.${one}`).join(" OR ");
  return `ON CONFLICT (key_hash, sequence, region) DO UPDATE SET ${largest.join(", ")},
    changed_at = CASE WHEN ${isRaised} THEN ${nowMs} ELSE ${table}.changed_at END
    WHERE ${isRaised} OR excluded.expires_at > ${table}.expires_at`;
}
