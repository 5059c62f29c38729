/**
 * The history of use on SQL: adds to its rows, reads a part of it, and deletes what is too old in bounded steps.
 *
 * A row belongs to all servers: each adds what it has counted, in one statement that happens at most once. A statement whose answer was lost is
 * not sent again, because it may have been carried out: the history may miss counts, and never has one twice.
 *
 * Hours and days are rows of their own that are added to at the same time, not made from minutes later: there is nothing to do again after a
 * server was down, and minutes can be deleted at any time.
 */

import type { AdminDialect } from "./admin-dialect.ts";
import type { AdminTables } from "./admin-schema.ts";
import type { RunSql } from "./sql-link.ts";
import { type BySpan, USAGE_SPANS, type UsageQuestion, type UsageRow, type UsageSums } from "./usage-row.ts";

const SUMS = ["allowed", "denied", "shadowed", "degraded", "cost"] as const satisfies readonly (keyof UsageSums)[];
const KEY = ["subject_id", "span", "at_ms"] as const;
const COLUMNS = [...KEY, ...SUMS];
/** The most rows that one deletion removes: about as long as the largest write takes. */
const DELETED_MAX = 200;

/** In the order of their key, so that two servers never wait for each other in a circle. */
export async function addUsageRows(
  run: RunSql,
  { usage }: AdminTables,
  { addOnConflict }: AdminDialect,
  rows: readonly UsageRow[],
): Promise<void> {
  const sorted = rows.toSorted(
    (one, other) =>
      (one.subjectId < other.subjectId ? -1 : one.subjectId > other.subjectId ? 1 : 0) ||
      spanNumber(one) - spanNumber(other) ||
      one.atMs - other.atMs,
  );
  const places = sorted.map(() => `(${COLUMNS.map(() => "?").join(", ")})`).join(", ");
  const text = `INSERT INTO ${usage} (${COLUMNS.join(", ")}) VALUES ${places} ${addOnConflict(usage, KEY, SUMS)}`;
  const values = sorted.flatMap((row) => [row.subjectId, spanNumber(row), row.atMs, ...SUMS.map((name) => row[name])]);
  await run(text, ...values);
}

/** The oldest first. */
export async function readUsageRows(
  run: RunSql,
  { usage }: AdminTables,
  { subjectId, span, fromMs, toMs, limit }: UsageQuestion,
): Promise<readonly UsageRow[]> {
  const rows = await run(
    `SELECT at_ms, ${SUMS.join(", ")} FROM ${usage} WHERE subject_id = ? AND span = ? AND at_ms >= ? AND at_ms < ?
      ORDER BY at_ms LIMIT ${Math.trunc(limit)}`,
    subjectId,
    spanNumber({ span }),
    fromMs,
    toMs,
  );
  return rows.map((row) => ({
    subjectId,
    span,
    atMs: Number(row["at_ms"]),
    allowed: Number(row["allowed"]),
    denied: Number(row["denied"]),
    shadowed: Number(row["shadowed"]),
    degraded: Number(row["degraded"]),
    cost: Number(row["cost"]),
  }));
}

/** Deletes rows that are too old, at most DELETED_MAX of each span. Returns how many there were. */
export async function deleteUsageRows(run: RunSql, { usage }: AdminTables, keptFromMs: BySpan): Promise<number> {
  let deleted = 0;
  for (const span of USAGE_SPANS) {
    const number = spanNumber({ span });
    const rows = await run(
      `SELECT at_ms, subject_id FROM ${usage} WHERE span = ? AND at_ms < ? ORDER BY at_ms, subject_id LIMIT ${DELETED_MAX}`,
      number,
      keptFromMs[span],
    );
    const last = rows.at(-1);
    if (last === undefined) continue;
    const atMs = Number(last["at_ms"]);
    // All of them, and rows that were added in the same place meanwhile: those are as old.
    await run(
      `DELETE FROM ${usage} WHERE span = ? AND (at_ms < ? OR (at_ms = ? AND subject_id <= ?))`,
      number,
      atMs,
      atMs,
      String(last["subject_id"]),
    );
    deleted += rows.length;
  }
  return deleted;
}

function spanNumber({ span }: { readonly span: UsageRow["span"] }): number {
  return USAGE_SPANS.indexOf(span);
}
