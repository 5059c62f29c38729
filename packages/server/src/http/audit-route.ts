/** `listChanges`: who changed what, before and after, the newest first. */
import { searchAudit } from "../admin/audit-search.ts";
import type { AuditRecord } from "../admin/records.ts";
import type { Caller } from "./authentication.ts";
import { type AdminParts, type Answer, namespaceMissing } from "./call.ts";
import { lacking, may } from "./permission.ts";
import { type ChangeData, type ListChangesBody, PAGE_DEFAULT } from "./schemas.ts";

export async function listChanges(
  { directory, store }: AdminParts,
  { key, workspace }: Caller,
  { namespace: idOrName, actor, since, until, limit = PAGE_DEFAULT, cursor }: ListChangesBody,
): Promise<Answer> {
  // One that was deleted has a history as well.
  const namespace = idOrName === undefined ? undefined : directory.namespaceOf(workspace.id, idOrName);
  if (!may(key, "read_audit", namespace?.id)) throw lacking("read_audit");
  if (idOrName !== undefined && namespace === undefined) throw namespaceMissing();
  const { changes, next } = await searchAudit(store, workspace.id, {
    actor,
    namespaceId: namespace?.id,
    limit,
    ...(cursor === undefined ? {} : { before: cursor }),
    ...(since === undefined ? {} : { sinceMs: since }),
    ...(until === undefined ? {} : { untilMs: until }),
  });
  return {
    data: changes.map(dataOf),
    pagination: next === null ? { hasMore: false } : { hasMore: true, cursor: next },
  };
}

function dataOf({ cursor, atMs, actor, action, subject, before, after }: AuditRecord): ChangeData {
  return { revision: Number(cursor), at: atMs, actor, action, subject, before, after };
}
