/**
 * The audit trail on SQL: writes its entries, reads parts of it, and deletes entries that are too old or beyond the bytes of a workspace.
 *
 * Every row has the sum of the bytes that its workspace has written up to and including it. So the size of a trail is the difference of two
 * rows, found by an index, and a deletion has no total to correct. Rows of a release that did not count have 0: they are not counted, and are
 * deleted with the rows around them.
 *
 * Invariant: after a change the counted entries of its workspace take at most `bytesMax`, and an entry at most ENTRY_BYTES_MAX. If
 * `bytesMax` was lowered, bounded steps lead there.
 */
import type { AdminTables } from "./admin-schema.ts";
import type { AuditQuestion } from "./admin-store.ts";
import { asciiJson } from "./ascii-json.ts";
import type { AuditRecord } from "./records.ts";
import type { RunSql, SqlRow, SqlValue } from "./sql-link.ts";
import { auditIn } from "./stored-record.ts";

export interface AuditBounds {
  /** How old an entry may be; Infinity: any age. */
  readonly keepMs: number;
  /** Of one workspace; Infinity: any number. */
  readonly bytesMax: number;
}

/** Two records of the longest names take 13 KB. Only a key with very many permissions, which a command made, has more. */
const ENTRY_BYTES_MAX = 64 * 1024;
/** What a row takes beside the text of its entry: three numbers, the workspace's id, and its place in four indexes. */
const ROW_BYTES = 256;
/**
 * Bytes of a workspace between two deletions. A row counts at least 256 bytes, so a workspace writes at most 256 rows in between, and a
 * deletion of 500 is faster than that.
 */
const STEP_BYTES = 64 * 1024;
/** The most rows that one deletion removes. */
const DELETED_MAX = 500;
/** How often rows that are too old are looked for: 500 of them with every tenth change are deleted faster than new ones are written. */
const AGE_CHECK_EVERY = 10;

export interface AuditWrite {
  readonly revision: number;
  readonly entry: Omit<AuditRecord, "cursor">;
}

/** Writes an entry and deletes what is too much. Returns how many entries were deleted before `keepMs` because of `bytesMax`. */
export async function writeAudit(
  run: RunSql,
  { audit }: AdminTables,
  { keepMs, bytesMax }: AuditBounds,
  { revision, entry }: AuditWrite,
): Promise<number> {
  const { workspaceId, atMs } = entry;
  const text = entryText(entry);
  const [newest] = await run(`SELECT MAX(total_bytes) AS total FROM ${audit} WHERE workspace_id = ?`, workspaceId);
  const before = Number(newest?.["total"] ?? 0);
  const total = before + text.length + ROW_BYTES;
  const insert = `INSERT INTO ${audit} (revision, workspace_id, at_ms, total_bytes, entry) VALUES (?, ?, ?, ?, ?)`;
  await run(insert, revision, workspaceId, atMs, total, text);
  const endMs = atMs - keepMs;
  if (revision % AGE_CHECK_EVERY === 0 && Number.isFinite(endMs)) await deleteOld(run, audit, endMs);
  if (Math.floor(total / STEP_BYTES) === Math.floor(before / STEP_BYTES)) return 0;
  // Below the maximum by a step, because the trail grows by less than that until it gets here again, and by an entry: the first that stays
  // may begin before this place.
  const keptFrom = total - (bytesMax - STEP_BYTES - ENTRY_BYTES_MAX - ROW_BYTES);
  return keptFrom > 0 ? deleteOldest(run, audit, { workspaceId, keptFrom, endMs }) : 0;
}

/** By their number, which is their order: those before the first that is young enough, whatever clocks the others were made by. */
async function deleteOld(run: RunSql, audit: string, endMs: number): Promise<void> {
  const rows = await run(`SELECT revision, at_ms FROM ${audit} ORDER BY revision LIMIT ${DELETED_MAX}`);
  const kept = rows.findIndex((row) => Number(row["at_ms"]) >= endMs);
  const last = kept === -1 ? rows.at(-1) : rows[kept - 1];
  if (last !== undefined) await run(`DELETE FROM ${audit} WHERE revision <= ?`, Number(last["revision"]));
}

interface Excess {
  readonly workspaceId: string;
  /** The smallest total that a row may have. */
  readonly keptFrom: number;
  readonly endMs: number;
}

async function deleteOldest(run: RunSql, audit: string, { workspaceId, keptFrom, endMs }: Excess): Promise<number> {
  const ofWorkspace = `FROM ${audit} WHERE workspace_id = ?`;
  const [end] = await run(
    `SELECT revision ${ofWorkspace} AND total_bytes > 0 AND total_bytes < ? ORDER BY total_bytes DESC LIMIT 1`,
    workspaceId,
    keptFrom,
  );
  const rows = await run(
    `SELECT revision, at_ms ${ofWorkspace} AND revision <= ? ORDER BY revision LIMIT ${DELETED_MAX}`,
    workspaceId,
    Number(end?.["revision"] ?? 0),
  );
  const last = rows.at(-1);
  if (last === undefined) return 0;
  await run(`DELETE ${ofWorkspace} AND revision <= ?`, workspaceId, Number(last["revision"]));
  return rows.filter((row) => Number(row["at_ms"]) >= endMs).length;
}

/** The question of a part of the trail, newest first: by revision; by time if it is limited in time, so that an index finds the part. */
export async function readAuditRows(
  run: RunSql,
  { audit }: AdminTables,
  workspaceId: string,
  question: AuditQuestion,
): Promise<readonly AuditRecord[]> {
  const { limit, before, sinceMs, untilMs } = question;
  const rows =
    sinceMs === undefined && untilMs === undefined
      ? await run(
          `${SELECT} ${audit} WHERE workspace_id = ? AND revision < ? ORDER BY revision DESC LIMIT ${Math.trunc(limit)}`,
          workspaceId,
          before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        )
      : await readSpan(run, audit, workspaceId, question);
  return rows.map((row) => auditIn(workspaceId, row));
}

const SELECT = "SELECT revision, at_ms, entry FROM";

async function readSpan(
  run: RunSql,
  audit: string,
  workspaceId: string,
  { limit, before, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER }: AuditQuestion,
): Promise<readonly SqlRow[]> {
  let fromMs = untilMs - 1;
  let end: readonly SqlValue[] = [];
  if (before !== undefined) {
    // The place of a cursor in the order of time. A cursor may have been deleted, or be of another workspace: then the row before it is next.
    const [place] = await run(
      `SELECT revision, at_ms FROM ${audit} WHERE workspace_id = ? AND revision <= ? ORDER BY revision DESC LIMIT 1`,
      workspaceId,
      Number(before),
    );
    if (place === undefined) return [];
    const [revision, atMs] = [Number(place["revision"]), Number(place["at_ms"])];
    if (atMs <= fromMs) {
      fromMs = atMs;
      end = [atMs, revision === Number(before) ? revision : revision + 1];
    }
  }
  return run(auditSpanSql(audit, limit, end.length > 0), workspaceId, sinceMs, fromMs, ...end);
}

/** Of a span of time, from its end: workspace, first and last millisecond; with a cursor also the millisecond and revision to begin before. */
export function auditSpanSql(audit: string, limit: number, hasCursor: boolean): string {
  return `${SELECT} ${audit} WHERE workspace_id = ? AND at_ms >= ? AND at_ms <= ?${hasCursor ? " AND (at_ms < ? OR revision < ?)" : ""}
    ORDER BY at_ms DESC, revision DESC LIMIT ${Math.trunc(limit)}`;
}

/** An entry that is too large says so instead of its records. */
function entryText(entry: AuditWrite["entry"]): string {
  const text = asciiJson(entry);
  if (text.length <= ENTRY_BYTES_MAX) return text;
  const leftOut = (record: object | null) => (record === null ? null : { omittedBytes: asciiJson(record).length });
  return asciiJson({ ...entry, before: leftOut(entry.before), after: leftOut(entry.after) });
}
