/** The first step of a decision: whether the caller may limit or charge in the namespace that it names, and whether that one is still to be created. */
import type { Caller } from "../access/caller.ts";
import { checkNewName, checkWellFormed } from "../access/names.ts";
import { type Action, checkPermission } from "../access/permission.ts";
import { Refusal } from "../access/refusal.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import type { DecisionRequest } from "./decision-request.ts";

/**
 * The namespace to count in; null if it is missing and the caller may create it. Permission first: a refusal tells nothing about what exists.
 * @param item its place in a batch.
 * @throws Refusal if the key may not do that there, the namespace was deleted, or it is missing and the key may not create it.
 */
export function authorise(
  directory: Directory,
  { key, workspace }: Caller,
  { namespace: idOrName, identifier }: DecisionRequest,
  action: Action & ("limit" | "charge"),
  item?: number,
): NamespaceRecord | null {
  const namespace = directory.namespaceOf(workspace.id, idOrName);
  checkPermission(key, action, namespace?.id);
  checkWellFormed("identifier", identifier, item);
  if (namespace === undefined) {
    checkPermission(key, "create_namespace", undefined);
    checkNewName("namespace", idOrName, item);
    return null;
  }
  if (namespace.deletedAtMs !== null) throw namespaceGone();
  return namespace;
}

export function namespaceGone(): Refusal {
  return new Refusal(
    "namespace_gone",
    "This namespace was deleted. It can be restored, or its name used for a new one.",
  );
}
