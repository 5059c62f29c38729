/**
 * `listChanges`: who changed what, before and after, the newest first.
 *
 * The store knows a change by its number, workspace and time; what it was about is looked for here, in as many of them as one answer may
 * take. An answer may so be short, or empty, and yet have a cursor: there is more to look through.
 */
import type { AuditRecord, NamespaceRecord } from "../admin/records.ts";
import type { Caller } from "./authentication.ts";
import { type AdminParts, type Answer, namespaceMissing } from "./call.ts";
import { lacking, may } from "./permission.ts";
import { type ChangeData, type ListChangesBody, PAGE_DEFAULT } from "./schemas.ts";

/** What one question to the store brings where some of it is left out here: some milliseconds of work. */
const SEARCHED_AT_ONCE = 500;
/** What one answer looks through. */
const SEARCHED_MAX = 5_000;

export async function listChanges(
  { directory, store }: AdminParts,
  { key, workspace }: Caller,
  { namespace: idOrName, actor, since, until, limit = PAGE_DEFAULT, cursor }: ListChangesBody,
): Promise<Answer> {
  // One that was deleted has a history as well.
  const namespace = idOrName === undefined ? undefined : directory.namespaceOf(workspace.id, idOrName);
  if (!may(key, "read_audit", namespace?.id)) throw lacking("read_audit");
  if (idOrName !== undefined && namespace === undefined) throw namespaceMissing();
  const isWanted = (change: AuditRecord) =>
    (actor === undefined || change.actor === actor) && (namespace === undefined || isAbout(change, namespace));
  const isSearch = actor !== undefined || namespace !== undefined;
  const span = {
    ...(since === undefined ? {} : { sinceMs: since }),
    ...(until === undefined ? {} : { untilMs: until }),
  };
  const found: AuditRecord[] = [];
  let before = cursor;
  for (let searched = 0; searched < SEARCHED_MAX; ) {
    // One more than asked for says whether there is more.
    const count = isSearch ? SEARCHED_AT_ONCE : limit + 1;
    const place = before === undefined ? {} : { before };
    const changes = await store.readAudit(workspace.id, { limit: count, ...place, ...span });
    for (const change of changes) if (isWanted(change)) found.push(change);
    if (found.length > limit) return pageOf(found.slice(0, limit), found[limit - 1]!.cursor);
    if (changes.length < count) return pageOf(found, null);
    searched += changes.length;
    before = changes.at(-1)!.cursor;
  }
  return pageOf(found, before!);
}

/** A change of the namespace itself, or of one of its overrides. */
function isAbout({ subject, before, after }: AuditRecord, { id }: NamespaceRecord): boolean {
  const { namespaceId } = (after ?? before ?? {}) as { readonly namespaceId?: string };
  return subject === id || namespaceId === id;
}

function pageOf(changes: readonly AuditRecord[], cursor: string | null): Answer {
  const data = changes.map(dataOf);
  return { data, pagination: cursor === null ? { hasMore: false } : { hasMore: true, cursor } };
}

function dataOf({ cursor, atMs, actor, action, subject, before, after }: AuditRecord): ChangeData {
  return { revision: Number(cursor), at: atMs, actor, action, subject, before, after };
}
