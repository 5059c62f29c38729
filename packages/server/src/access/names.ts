/** The names in a request: which ones can be stored and counted, and which namespace one means to its caller. */
import { isNamespaceIdForm } from "../admin/admin-id.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import type { Caller } from "./caller.ts";
import { type Action, checkPermission } from "./permission.ts";
import { Refusal } from "./refusal.ts";

/** A text that is stored or counted: no half of a surrogate pair, which no store could keep. @param item its place in a batch. */
export function checkWellFormed(field: string, text: string, item?: number): void {
  if (!text.isWellFormed()) {
    throw Refusal.at(field, "must be well-formed Unicode; got half of a surrogate pair", { item });
  }
}

/** The name of a namespace that does not exist yet. An id must always mean the namespace that has it. */
export function checkNewName(field: string, name: string, item?: number): void {
  checkWellFormed(field, name, item);
  if (!isNamespaceIdForm(name)) return;
  const flaw = "has the form of an id (rlns_ and 20 letters or digits), which cannot be the name of a new namespace";
  throw Refusal.at(field, flaw, { item, fix: "Use another name, or the id of a namespace of this workspace." });
}

/** The living namespace that an administrative request names. Permission first: a refusal tells nothing about what exists. */
export function namespaceFor(
  directory: Directory,
  { key, workspace }: Caller,
  idOrName: string,
  action: Action,
  advice = "",
): NamespaceRecord {
  const namespace = directory.namespaceOf(workspace.id, idOrName);
  checkPermission(key, action, namespace?.id);
  if (namespace === undefined || namespace.deletedAtMs !== null) throw namespaceMissing(advice);
  return namespace;
}

/** @param advice what the caller can do about it: a sentence. */
export function namespaceMissing(advice = ""): Refusal {
  return new Refusal("namespace_not_found", `There is no namespace with this name or id. ${advice}`.trimEnd());
}
