/** SQLite 3.24 and later, through node:sqlite or libsql. */
import { listed, riseOnConflict, type SqlDialect } from "./sql-dialect.ts";

const NOW_MS = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

export const SQLITE: SqlDialect = {
  name: "sqlite",
  nowMs: NOW_MS,
  integer: "INTEGER",
  materialized: "",
  byIndex: (name) => `INDEXED BY ${name}`,
  hasLateral: false,
  types: { hash: "BLOB", region: "TEXT", part: "TEXT" },
  tableEnd: "WITHOUT ROWID",
  indexes: "beside",
  source: listed,
  onConflict: (key, set) => `ON CONFLICT (${key}) DO UPDATE SET ${set}`,
  rise: (table) => riseOnConflict(table, NOW_MS, "MAX"),
  deleteExpired: (table, rowsMax) =>
    `DELETE FROM ${table} WHERE (key_hash, sequence, region) IN (
      SELECT key_hash, sequence, region FROM ${table} WHERE expires_at <= CAST(? AS INTEGER)
      ORDER BY expires_at LIMIT ${rowsMax})`,
};
