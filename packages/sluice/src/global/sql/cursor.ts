/**
 * Where an import goes on: at the last change that it is sure to have seen all before.
 *
 * Changes carry the server's time, but a statement may be seen after one that was begun later. So a moment is settled, and not
 * read from again, only once `overlapMs` have passed since: by the clock of the server that wrote it, or, on a replica that may
 * be any time behind, since it was first seen there. What comes later still is found by the next full pass.
 *
 * A store that was emptied is known by its rows: all of them have changed since the last import, which was not so before. Then an
 * import begins again with everything, which is no more than it would have read.
 *
 * As texts: `since:changed:seen:new` is a cursor. The rest of an answer is the cursor to end with, and where to go on: `…/from` at a
 * change, `…/from/until/hash/sequence` behind a cell among those that changed in a span, or among all where there is no span.
 * The cursor is that of the answer's first page, so that a change which became visible while the pages were read is not passed
 * over.
 */

export interface SqlHead {
  /** The last change, by the clock of the server that wrote it; 0 if there is none. */
  readonly changedMs: number;
  /** The one that lies back furthest; 0 if there is none. */
  readonly oldestMs: number;
  /** The clock of the server that is read. */
  readonly nowMs: number;
}

export interface SqlCursor {
  /** Changes after this one are read. */
  readonly sinceMs: number;
  readonly changedMs: number;
  /** When that change was first seen. */
  readonly seenMs: number;
  /** Whether there was no row then that had not changed since the import before. */
  readonly isAllNew: boolean;
}

/** Changes after one moment and up to another. */
export interface SqlSpan {
  readonly afterMs: number;
  readonly untilMs: number;
}

export interface SqlCell {
  /** In hex. */
  readonly hash: string;
  readonly sequence: number;
}

/** What is asked for: all, what changed since a cursor, more of that, or the cells behind one on the same page of it. */
export type SqlPosition =
  | { readonly kind: "all" }
  | { readonly kind: "changes"; readonly cursor: SqlCursor }
  | { readonly kind: "more changes"; readonly next: string; readonly fromMs: number }
  | { readonly kind: "more cells"; readonly next: string; readonly span: SqlSpan | null; readonly after: SqlCell };

const CURSOR = /^(\d+):(\d+):(\d+):([01])$/;
const CELL = /^[0-9a-f]{32}$/;

/** Everything for no text, and for one that is no cursor. */
export function readPosition(text: string | null): SqlPosition {
  const [next = "", from, until, hash, sequence] = (text ?? "").split("/");
  const cursor = readCursor(next);
  if (cursor === null) return { kind: "all" };
  if (from === undefined) return { kind: "changes", cursor };
  if (hash === undefined) return { kind: "more changes", next, fromMs: Number(from) };
  if (!CELL.test(hash)) return { kind: "all" };
  const span = from === "" ? null : { afterMs: Number(from), untilMs: Number(until) };
  return { kind: "more cells", next, span, after: { hash, sequence: Number(sequence) } };
}

/** What follows the cursor in the text of a position. */
export function cellsBehind(span: SqlSpan | null, { hash, sequence }: SqlCell): string {
  return `/${span?.afterMs ?? ""}/${span?.untilMs ?? ""}/${hash}/${sequence}`;
}

export function readCursor(text: string): SqlCursor | null {
  const match = CURSOR.exec(text);
  if (match === null) return null;
  const [sinceMs = 0, changedMs = 0, seenMs = 0, isAllNew] = match.slice(1).map(Number);
  return { sinceMs, changedMs, seenMs, isAllNew: isAllNew === 1 };
}

/** Whether a store has lost what it held at the last import. One whose rows all change all the time cannot tell. */
export function isEmptied(last: SqlCursor, head: SqlHead): boolean {
  return !last.isAllNew && isAllNew(last, head);
}

function isAllNew(last: SqlCursor | null, { oldestMs }: SqlHead): boolean {
  return last === null || oldestMs === 0 || oldestMs > last.sinceMs;
}

export function nextCursor(
  last: SqlCursor | null,
  head: SqlHead,
  { overlapMs, hasReplica }: { readonly overlapMs: number; readonly hasReplica: boolean },
): string {
  const { changedMs, nowMs } = head;
  const seenMs = last !== null && last.changedMs === changedMs ? last.seenMs : nowMs;
  const isSettled = nowMs - (hasReplica ? seenMs : changedMs) >= overlapMs;
  const sinceMs = isSettled ? changedMs : Math.max(0, changedMs - overlapMs);
  return `${sinceMs}:${changedMs}:${seenMs}:${isAllNew(last, head) ? 1 : 0}`;
}
