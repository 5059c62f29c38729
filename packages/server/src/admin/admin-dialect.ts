/** What tells the databases apart, for the tables of the admin store: what the library says of each (`SqlDialect`), and some words more. */
import type { SqlDialect } from "sluice/internal";

interface AdminWords {
  /** The type of an id or another short word: compared exactly. */
  readonly word: string;
  /** The type of a long text of ASCII characters. */
  readonly text: string;
  /** Behind a SELECT: nobody else may change or lock the row until the transaction ends. */
  readonly forUpdate: string;
  readonly begin: string;
  /** Finds a row if the table has the column, or the index: their names are its values. */
  readonly hasColumn: string;
  readonly hasIndex: string;
  /** Behind an INSERT of a row that is there: adds to these columns of it instead. */
  readonly addOnConflict: (table: string, key: readonly string[], columns: readonly string[]) => string;
  /** Around the migrations, which only one process at a time may do. The first column of an answer is 0 if somebody else does. */
  readonly beginAlone: readonly string[];
  readonly endAlone: string;
  readonly undoAlone: string;
}

export interface AdminDialect extends AdminWords, Pick<SqlDialect, "name" | "nowMs" | "isReadOnly" | "tableEnd"> {}

/** A lock of somebody else's: less than a statement may take, so that it is told apart. */
export const LOCK_TIMEOUT_S = 2;
/** Maximum time of one statement of a migration: an index over millions of rows takes longer than any other statement may. */
export const LONG_TIMEOUT_MS = 300_000;

/** Locks of MySQL belong to the whole server: one per database. */
const LOCK_NAME = "CONCAT('sluice:', MD5(DATABASE()))";

const WORDS: Readonly<Record<SqlDialect["name"], AdminWords>> = {
  mysql: {
    // Compared byte by byte. No id or hash ends with a blank, which this collation would not see.
    word: "VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin",
    text: "MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin",
    forUpdate: " FOR UPDATE",
    begin: "START TRANSACTION",
    hasColumn:
      "SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?",
    hasIndex:
      "SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?",
    addOnConflict: (_table, _key, columns) =>
      // The only form that both MySQL 8 and MariaDB know.
      `ON DUPLICATE KEY UPDATE ${columns.map((name) => `${name} = ${name} + VALUES(${name})`).join(", ")}`,
    beginAlone: [`SELECT GET_LOCK(${LOCK_NAME}, ${LOCK_TIMEOUT_S}) AS taken`],
    endAlone: `DO RELEASE_LOCK(${LOCK_NAME})`,
    undoAlone: `DO RELEASE_LOCK(${LOCK_NAME})`,
  },
  postgres: {
    word: 'VARCHAR(128) COLLATE "C"',
    text: "TEXT",
    forUpdate: " FOR UPDATE",
    // So that a statement sees what was committed while it waited for the revision, whatever the database's default is.
    begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
    hasColumn:
      "SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND column_name = ?",
    hasIndex: "SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND tablename = ? AND indexname = ?",
    addOnConflict: addToExcluded,
    beginAlone: [
      "BEGIN",
      `SET LOCAL statement_timeout = ${LONG_TIMEOUT_MS}`,
      "SELECT 1 AS taken FROM pg_advisory_xact_lock(hashtext('sluice_admin'))",
    ],
    endAlone: "COMMIT",
    undoAlone: "ROLLBACK",
  },
  sqlite: {
    word: "TEXT",
    text: "TEXT",
    forUpdate: "",
    begin: "BEGIN IMMEDIATE",
    hasColumn: "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
    hasIndex: "SELECT 1 FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name = ?",
    addOnConflict: addToExcluded,
    beginAlone: ["BEGIN IMMEDIATE"],
    endAlone: "COMMIT",
    undoAlone: "ROLLBACK",
  },
};

export function adminDialect({ name, nowMs, isReadOnly, tableEnd }: SqlDialect): AdminDialect {
  return { ...WORDS[name], name, nowMs, isReadOnly, tableEnd };
}

/** The clause of SQLite and PostgreSQL. */
function addToExcluded(table: string, key: readonly string[], columns: readonly string[]): string {
  const sums = columns.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}
