/** SQLite 3.24 and later, through node:sqlite or libsql. */
import { listed, type MigrationStatement, riseOnConflict, type SqlDialect } from "../dialect.ts";

const NOW_MS = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

function addColumn(table: string, column: string, type: string): MigrationStatement {
  return {
    unless: `SELECT 1 AS present FROM pragma_table_info('${table}') WHERE name = '${column}'`,
    text: `ALTER TABLE ${table} ADD COLUMN ${column} ${type} NOT NULL DEFAULT 0`,
  };
}

export const SQLITE: SqlDialect = {
  name: "sqlite",
  nowMs: NOW_MS,
  isReadOnly: null,
  integer: "INTEGER",
  materialized: "",
  byIndex: (name) => `INDEXED BY ${name}`,
  hasLateral: false,
  types: { hash: "BLOB", region: "TEXT", part: "TEXT" },
  tableEnd: "WITHOUT ROWID",
  indexes: "beside",
  source: listed,
  onConflict: (key, set) => `ON CONFLICT (${key}) DO UPDATE SET ${set}`,
  rise: (table, amount) => riseOnConflict({ table, amount, nowMs: NOW_MS }, "MAX"),
  addColumn,
  // The default of an added column must be constant here, so a trigger does it.
  changedAt: (table, index) => [
    addColumn(table, "changed_at", "BIGINT"),
    `CREATE TRIGGER IF NOT EXISTS ${index} AFTER INSERT ON ${table} WHEN NEW.changed_at = 0 BEGIN
      UPDATE ${table} SET changed_at = ${NOW_MS}
        WHERE key_hash = NEW.key_hash AND sequence = NEW.sequence AND region = NEW.region;
    END`,
    `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (changed_at)`,
  ],
  deleteExpired: (table, rowsMax) =>
    `DELETE FROM ${table} WHERE (key_hash, sequence, region) IN (
      SELECT key_hash, sequence, region FROM ${table} WHERE expires_at <= MIN(CAST(? AS INTEGER), ${NOW_MS})
      ORDER BY expires_at LIMIT ${rowsMax})`,
};
