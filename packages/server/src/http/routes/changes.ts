/** `listChanges`: who changed what, before and after, the newest first. */

import type { Caller } from "../../access/caller.ts";
import { namespaceMissing } from "../../access/names.ts";
import { checkPermission } from "../../access/permission.ts";
import { CHANGES_PER_UNIT } from "../../access/quota.ts";
import { type AuditSearch, searchAudit, stepOf } from "../../admin/audit-search.ts";
import type { AuditRecord } from "../../admin/records.ts";
import { type ChangeData, type ListChangesBody, PAGE_DEFAULT } from "../../contract/schemas.ts";
import type { Answer, RouteParts } from "./route.ts";

export async function listChanges(
  { directory, store, quota, turnstiles }: RouteParts,
  { key, workspace }: Caller,
  { namespace: idOrName, actor, since, until, limit = PAGE_DEFAULT, cursor }: ListChangesBody,
): Promise<Answer<ChangeData[]>> {
  // One that was deleted has a history as well.
  const namespace = idOrName === undefined ? undefined : directory.namespaceOf(workspace.id, idOrName);
  checkPermission(key, "read_audit", namespace?.id);
  if (idOrName !== undefined && namespace === undefined) throw namespaceMissing();
  const search: AuditSearch = {
    actor,
    namespaceId: namespace?.id,
    limit,
    ...(cursor === undefined ? {} : { before: cursor }),
    ...(since === undefined ? {} : { sinceMs: since }),
    ...(until === undefined ? {} : { untilMs: until }),
  };
  const step = stepOf(search) / CHANGES_PER_UNIT;
  await quota.chargeRead(workspace, Math.floor(step));
  const mayGoOn = () => quota.tryCharge(workspace, Math.ceil(step));
  const { changes, next } = await turnstiles.audit.run(workspace.id, () =>
    searchAudit(store, workspace.id, search, mayGoOn),
  );
  return {
    data: changes.map(dataOf),
    pagination: next === null ? { hasMore: false } : { hasMore: true, cursor: next },
  };
}

function dataOf({ cursor, atMs, actor, action, subject, before, after }: AuditRecord): ChangeData {
  return { revision: Number(cursor), at: atMs, actor, action, subject, before, after };
}
