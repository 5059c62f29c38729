/** The namespaces of a workspace: listed, made, turned into shadows, deleted and restored. */
import { type NamespaceFlags, NameTaken } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import type { Caller } from "./authentication.ts";
import { type AdminParts, type Answer, actorOf, checkWellFormed, namespaceFor, namespaceMissing } from "./call.ts";
import { pageOf } from "./page.ts";
import { lacking, may } from "./permission.ts";
import { Problem } from "./problem.ts";
import type {
  CreateNamespaceBody,
  ListNamespacesBody,
  NamespaceBody,
  NamespaceData,
  UpdateNamespaceBody,
} from "./schemas.ts";

export interface NamespaceParts extends AdminParts {
  readonly wallMs: () => number;
}

/** Those that the key may read. */
export function listNamespaces({ directory }: NamespaceParts, caller: Caller, body: ListNamespacesBody): Answer {
  const { key, workspace } = caller;
  const listed = directory
    .namespacesOf(workspace.id)
    .filter(({ id, deletedAtMs }) => (body.deleted === true || deletedAtMs === null) && may(key, "read_namespace", id));
  if (listed.length === 0 && !key.permissions.some((one) => one === "*" || one.endsWith(".read_namespace"))) {
    throw lacking("read_namespace");
  }
  return pageOf(listed, body, ({ name, id }) => `${name}\u0000${id}`, dataOf);
}

export async function createNamespace(
  { directory, store }: NamespaceParts,
  { key, workspace }: Caller,
  { name, shadow = false }: CreateNamespaceBody,
): Promise<Answer> {
  if (!may(key, "create_namespace", undefined)) throw lacking("create_namespace");
  checkWellFormed("body.name", name);
  const made = await store.createNamespace(workspace.id, name, actorOf(key), { isShadow: shadow }).catch(refuse);
  await seen(directory);
  return { data: dataOf(made) };
}

export async function updateNamespace(
  parts: NamespaceParts,
  caller: Caller,
  { namespace: idOrName, shadow }: UpdateNamespaceBody,
): Promise<Answer> {
  const namespace = namespaceFor(parts.directory, caller, idOrName, "update_namespace");
  return save(parts, caller, { id: namespace.id, isShadow: shadow }, "namespace.update");
}

export async function deleteNamespace(
  parts: NamespaceParts,
  caller: Caller,
  { namespace: idOrName }: NamespaceBody,
): Promise<Answer> {
  const namespace = namespaceFor(parts.directory, caller, idOrName, "delete_namespace");
  return save(parts, caller, { id: namespace.id, deletedAtMs: parts.wallMs() }, "namespace.delete");
}

/** A deleted one, by id or by name (the one that was deleted last). */
export async function restoreNamespace(
  parts: NamespaceParts,
  caller: Caller,
  { namespace: idOrName }: NamespaceBody,
): Promise<Answer> {
  const namespace = parts.directory.namespaceOf(caller.workspace.id, idOrName);
  if (!may(caller.key, "delete_namespace", namespace?.id)) throw lacking("delete_namespace");
  if (namespace === undefined) throw namespaceMissing();
  if (namespace.deletedAtMs === null) return { data: dataOf(namespace) };
  return save(parts, caller, { id: namespace.id, deletedAtMs: null }, "namespace.restore").catch(refuse);
}

async function save(
  { directory, store }: NamespaceParts,
  { key }: Caller,
  flags: NamespaceFlags,
  action: string,
): Promise<Answer> {
  const namespace = await store.saveNamespace(flags, action, actorOf(key));
  await seen(directory);
  if (namespace === null) throw namespaceMissing();
  return { data: dataOf(namespace) };
}

function dataOf({ id, name, isShadow, createdAtMs, deletedAtMs }: NamespaceRecord): NamespaceData {
  const data: NamespaceData = { namespaceId: id, name, shadow: isShadow, createdAt: createdAtMs };
  return deletedAtMs === null ? data : { ...data, deletedAt: deletedAtMs };
}

/** What is committed is done, whether or not this server could read it again at once. */
function seen(directory: Directory): Promise<void> {
  return directory.refresh().catch(() => {});
}

function refuse(error: unknown): never {
  throw error instanceof NameTaken ? new Problem("namespace_name_taken", "Another namespace has this name.") : error;
}
