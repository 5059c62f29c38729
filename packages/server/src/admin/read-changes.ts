/** What the directory reads: the records that changed since a revision, or all of them. */
import type { AdminTables } from "./admin-schema.ts";
import type { Changes, Deletable } from "./admin-store.ts";
import type { RunSql, SqlRow } from "./sql-link.ts";
import { type Kind, type Records, recordIn, recordsIn } from "./stored-record.ts";

/**
 * The revision first: every change up to it is committed and will be seen. A row may be newer than it, and comes again next time.
 * Who knows more than there is (a backup was restored), or has missed deletions that were cleared away, gets everything. Null: nothing
 * has changed.
 */
export async function readChanges(run: RunSql, tables: AdminTables, revision: number): Promise<Changes | null> {
  const [head] = await run(`SELECT revision, purged FROM ${tables.revision} WHERE id = 1`);
  const now = Number(head?.["revision"] ?? 0);
  if (now === revision && revision > 0) return null;
  const isWhole = revision === 0 || revision > now || revision < Number(head?.["purged"] ?? 0);
  const rows = await run(
    `SELECT kind, id, is_deleted, record FROM ${tables.records} WHERE revision > ?${isWhole ? " AND is_deleted = 0" : ""}
      ORDER BY revision`,
    isWhole ? 0 : revision,
  );
  return {
    revision: now,
    isWhole,
    corrupt: rows.filter(isCorrupt).map((row) => `${row["kind"]} ${row["id"]}`),
    workspaces: recordsIn("workspace", ofKind("workspace", rows)),
    namespaces: allRecordsOf("namespace", rows),
    overrides: allRecordsOf("override", rows),
    keys: allRecordsOf("key", rows),
  };
}

function ofKind(kind: Kind, rows: readonly SqlRow[]): readonly SqlRow[] {
  return rows.filter((row) => row["kind"] === kind);
}

const KINDS: readonly Kind[] = ["workspace", "namespace", "override", "key"];

/** Rows of a kind that only a newer release knows are not. */
function isCorrupt(row: SqlRow): boolean {
  const kind = KINDS.find((known) => known === row["kind"]);
  return kind !== undefined && recordIn(kind, row) === null;
}

/** With those that are gone. */
function allRecordsOf<K extends Kind>(kind: K, rows: readonly SqlRow[]): readonly (Records[K] & Deletable)[] {
  return ofKind(kind, rows).flatMap((row) => {
    const record = recordIn(kind, row);
    return record === null ? [] : { ...record, isDeleted: Number(row["is_deleted"]) !== 0 };
  });
}
