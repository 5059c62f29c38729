/** A caller as one who changes something. */
import type { KeyActor } from "../admin/admin-store.ts";
import type { KeyRecord } from "../admin/records.ts";
import { type Caller, usable } from "./caller.ts";
import { type Action, checkPermission } from "./permission.ts";
import type { Charge } from "./quota.ts";

/** Checked again inside the transaction of the change, by the same rules as the request was. */
export function actorOf(caller: Caller, action: Action, namespaceId?: string): KeyActor {
  return actorChecked(caller, (key) => checkPermission(key, action, namespaceId));
}

/** @param check is called with the key as it is stored at that moment, and throws a Refusal if the key may not make the change. */
export function actorChecked({ key, workspace }: Caller, check: (key: KeyRecord) => void): KeyActor {
  return {
    keyId: key.id,
    workspaceId: workspace.id,
    check: (keyNow, workspaceNow, nowMs) => check(usable(keyNow ?? undefined, workspaceNow ?? undefined, nowMs).key),
  };
}

/** What a new namespace costs of the quota: it takes as much time as some hundred requests, and memory on every server. */
const NAMESPACE_COST = 10;

export function creatorOf(quota: Charge, caller: Caller): KeyActor {
  // Like a read, at most the whole quota: a small one must not make namespaces impossible.
  const charge = () => quota.chargeRead(caller.workspace, NAMESPACE_COST);
  return { ...actorOf(caller, "create_namespace"), charge };
}
