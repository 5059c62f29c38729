/** PostgreSQL 12 and later. */
import { riseOnConflict, type SqlDialect } from "../dialect.ts";
import type { SqlValue } from "../link.ts";
import { type StoredRow, valuesOf } from "../row.ts";

// The moment itself, not the beginning of the transaction: a row that waited for a lock has changed after it.
const NOW_MS = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
/** The types of a row's columns, in order. A denial has one fewer. */
const ARRAYS = ["bytea", "bigint", "text", "bigint", "bigint", "text", "text", "text", "bigint", "smallint"];

/** Rows as one array a column: one text for any number of them. */
function unnested(rows: readonly StoredRow[], more: string | null) {
  const types = ARRAYS.slice(0, valuesOf(rows[0]!).length);
  const columns: (string | number | Uint8Array)[][] = types.map(() => []);
  for (const row of rows) for (const [i, value] of valuesOf(row).entries()) columns[i]!.push(value);
  const arrays = types.map((type) => `?::${type}[]`).join(", ");
  const text = `SELECT u.*${more === null ? "" : `, ${more}`} FROM unnest(${arrays}) AS u`;
  return { text, values: columns as readonly SqlValue[] };
}

export const POSTGRES: SqlDialect = {
  name: "postgres",
  nowMs: NOW_MS,
  isReadOnly: "SELECT pg_is_in_recovery() AS replica",
  integer: "BIGINT",
  materialized: "MATERIALIZED",
  byIndex: () => "",
  hasLateral: true,
  types: { hash: "BYTEA", region: 'TEXT COLLATE "C"', part: "TEXT" },
  tableEnd: "",
  indexes: "beside",
  source: unnested,
  onConflict: (key, set) => `ON CONFLICT (${key}) DO UPDATE SET ${set}`,
  rise: (table, amount) => riseOnConflict({ table, amount, nowMs: NOW_MS }, "GREATEST"),
  addColumn: (table, column, type) =>
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${column} ${type} NOT NULL DEFAULT 0`,
  // The default is set afterwards: one that is not constant would rewrite the table.
  changedAt: (table, index) => [
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS changed_at BIGINT NOT NULL DEFAULT 0`,
    `ALTER TABLE ${table} ALTER COLUMN changed_at SET DEFAULT ${NOW_MS}`,
    `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (changed_at)`,
  ],
  // The time is a subquery, so that it is computed once and the index serves.
  deleteExpired: (table, rowsMax) =>
    `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${table} WHERE expires_at <= (SELECT LEAST(CAST(? AS BIGINT), ${NOW_MS})) ORDER BY expires_at LIMIT ${rowsMax}
      FOR UPDATE SKIP LOCKED))`,
};
