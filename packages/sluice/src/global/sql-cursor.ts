/**
 * Where an import goes on: at the last change that it is sure to have seen all before.
 *
 * Changes carry the server's time, but a statement may be seen after one that was begun later. So a moment is settled, and not
 * read from again, only once `overlapMs` have passed since: by the clock of the server that wrote it, or, on a replica that may
 * be any time behind, since it was first seen there. What comes later still is found by the next full pass.
 */

export interface SqlHead {
  /** The last change, by the clock of the server that wrote it; 0 if there is none. */
  readonly changedMs: number;
  /** The clock of the server that is read. */
  readonly nowMs: number;
}

export interface SqlCursor {
  /** Changes after this one are read. */
  readonly sinceMs: number;
  readonly changedMs: number;
  /** When that change was first seen. */
  readonly seenMs: number;
}

const CURSOR = /^(\d+):(\d+):(\d+)$/;

/** Null for none, and for a text that is no cursor: everything is read. */
export function readCursor(text: string | null): SqlCursor | null {
  const match = text === null ? null : CURSOR.exec(text);
  if (match === null) return null;
  const [sinceMs = 0, changedMs = 0, seenMs = 0] = match.slice(1).map(Number);
  return { sinceMs, changedMs, seenMs };
}

export function nextCursor(
  last: SqlCursor | null,
  { changedMs, nowMs }: SqlHead,
  { overlapMs, hasReplica }: { readonly overlapMs: number; readonly hasReplica: boolean },
): string {
  const seenMs = last !== null && last.changedMs === changedMs ? last.seenMs : nowMs;
  const isSettled = nowMs - (hasReplica ? seenMs : changedMs) >= overlapMs;
  return `${isSettled ? changedMs : Math.max(0, changedMs - overlapMs)}:${changedMs}:${seenMs}`;
}
