/**
 * Finds changes in the trail: by time and place, which the store knows, and by who and which namespace, which are looked for here.
 *
 * One search looks through a bounded part of the trail, and ends early if `mayGoOn` says so. It may so find less than was asked for, or
 * nothing, and yet there is more: then it says where to go on.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { AuditQuestion } from "./admin-store.ts";
import type { AuditRecord } from "./records.ts";

export interface AuditSearch extends AuditQuestion {
  readonly actor?: string | undefined;
  /** Changes of this namespace and of its overrides. */
  readonly namespaceId?: string | undefined;
}

export interface AuditFound {
  readonly changes: readonly AuditRecord[];
  /** What to ask for next as `before`; null: there is no more. */
  readonly next: string | null;
}

interface Trail {
  readAudit(workspaceId: string, question: AuditQuestion): Promise<readonly AuditRecord[]>;
}

/** What one question to the store reads if some of it is left out here: at most some milliseconds of work, even of the longest texts. */
const SEARCHED_AT_ONCE = 100;
/** What one search looks through. */
const SEARCHED_MAX = 5_000;

export async function searchAudit(
  store: Trail,
  workspaceId: string,
  search: AuditSearch,
  mayGoOn: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<AuditFound> {
  const { actor, namespaceId, limit, before, ...span } = search;
  const isWanted = (change: AuditRecord) =>
    (actor === undefined || change.actor === actor) && (namespaceId === undefined || isAbout(change, namespaceId));
  const count = stepOf(search);
  const found: AuditRecord[] = [];
  let place = before;
  for (let searched = 0; searched < SEARCHED_MAX; ) {
    if (searched > 0) {
      // An embedded store answers within the same turn: whatever else has arrived comes first.
      await turn();
      if (!(await mayGoOn())) break;
    }
    const changes = await store.readAudit(workspaceId, {
      ...span,
      limit: count,
      ...(place === undefined ? {} : { before: place }),
    });
    for (const change of changes) if (isWanted(change)) found.push(change);
    if (found.length > limit) return { changes: found.slice(0, limit), next: found[limit - 1]!.cursor };
    if (changes.length < count) return { changes: found, next: null };
    searched += changes.length;
    place = changes.at(-1)!.cursor;
  }
  return { changes: found, next: place! };
}

/** How many changes one question to the store reads. */
export function stepOf({ actor, namespaceId, limit }: AuditSearch): number {
  // One more than asked for says whether there is more.
  return actor === undefined && namespaceId === undefined ? limit + 1 : SEARCHED_AT_ONCE;
}

/** A change of the namespace itself, or of one of its overrides. */
function isAbout({ subject, before, after }: AuditRecord, id: string): boolean {
  const { namespaceId } = (after ?? before ?? {}) as { readonly namespaceId?: string };
  return subject === id || namespaceId === id;
}
