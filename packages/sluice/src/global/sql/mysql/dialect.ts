/** What MySQL 8.0.13 and MariaDB 10.5 and later have in common. */
import { listed, type SqlDialect } from "../dialect.ts";
import { notesOf } from "../row.ts";

// Without a time zone: NOW() is ambiguous for an hour a year where there is summer time.
const NOW_MS = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)";

/** MySQL has no ADD COLUMN IF NOT EXISTS. */
function unlessColumn(table: string, column: string): string {
  return `SELECT 1 AS present FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '${table}' AND column_name = '${column}'`;
}

export const MYSQL: SqlDialect = {
  name: "mysql",
  nowMs: NOW_MS,
  isReadOnly: "SELECT @@global.read_only AS replica",
  integer: "SIGNED",
  materialized: "",
  byIndex: (name) => `FORCE INDEX (${name})`,
  hasLateral: false,
  types: {
    hash: "BINARY(16)",
    // Not a text: its collations without padding have different names in MySQL and MariaDB.
    region: "VARBINARY(256)",
    part: "VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
  },
  tableEnd: "ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
  indexes: "within",
  source: listed,
  onConflict: (_key, set) => `ON DUPLICATE KEY UPDATE ${set}`,
  // Assignments are made from left to right: what is compared comes last, because the others compare with the old one. VALUES() is
  // the one form that MySQL and MariaDB share.
  rise: (_table, amount) => {
    const raised = [amount, ...notesOf(amount)];
    const isRaised = raised.map((one) => `VALUES(${one}) > ${one}`).join(" OR ");
    const largest = ["expires_at", ...raised].map((one) => `${one} = GREATEST(${one}, VALUES(${one}))`);
    return `ON DUPLICATE KEY UPDATE changed_at = IF(${isRaised}, ${NOW_MS}, changed_at), ${largest.join(", ")}`;
  },
  addColumn: (table, column, type) => ({
    unless: unlessColumn(table, column),
    text: `ALTER TABLE ${table} ADD COLUMN ${column} ${type} NOT NULL DEFAULT 0`,
  }),
  // The default is set afterwards: an added column is filled with its default, and a constant one does not rewrite the table.
  changedAt: (table, index) => [
    {
      unless: unlessColumn(table, "changed_at"),
      text: `ALTER TABLE ${table} ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0, ADD KEY ${index} (changed_at)`,
    },
    `ALTER TABLE ${table} ALTER COLUMN changed_at SET DEFAULT ${NOW_MS}`,
  ],
  deleteExpired: (table, rowsMax) =>
    `DELETE FROM ${table} WHERE expires_at <= LEAST(CAST(? AS SIGNED), ${NOW_MS}) ORDER BY expires_at LIMIT ${rowsMax}`,
};
