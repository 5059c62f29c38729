/** The namespaces of a workspace: listed, made, turned into shadows, deleted and restored. */

import { actorOf, creatorOf } from "../../access/actor.ts";
import type { Caller } from "../../access/caller.ts";
import { checkNewName, namespaceFor, namespaceMissing } from "../../access/names.ts";
import { checkPermission, lacking, may } from "../../access/permission.ts";
import { ITEMS_PER_UNIT } from "../../access/quota.ts";
import { type Actor, type NamespaceFlags, NameTaken } from "../../admin/admin-store.ts";
import type { Directory } from "../../admin/directory.ts";
import type { NamespaceRecord } from "../../admin/records.ts";
import { Problem } from "../../contract/problem.ts";
import type {
  CreateNamespaceBody,
  ListNamespacesBody,
  NamespaceBody,
  NamespaceData,
  UpdateNamespaceBody,
} from "../../contract/schemas.ts";
import { pageOf } from "./list-page.ts";
import type { Answer, RouteParts } from "./route.ts";

/** Those that the key may read. */
export async function listNamespaces(
  { directory, quota }: RouteParts,
  { key, workspace }: Caller,
  body: ListNamespacesBody,
): Promise<Answer<NamespaceData[]>> {
  const all = directory.namespacesOf(workspace.id);
  await quota.chargeRead(workspace, Math.floor(all.length / ITEMS_PER_UNIT));
  const listed = all.filter(
    ({ id, deletedAtMs }) => (body.deleted === true || deletedAtMs === null) && may(key, "read_namespace", id),
  );
  if (
    listed.length === 0 &&
    !key.permissions.some((permission) => permission === "*" || permission.endsWith(".read_namespace"))
  ) {
    throw lacking("read_namespace");
  }
  return pageOf(listed, body, ({ name, id }) => `${name}\u0000${id}`, dataOf);
}

export async function createNamespace(
  { directory, store, quota }: RouteParts,
  caller: Caller,
  { name, shadow = false }: CreateNamespaceBody,
): Promise<Answer<NamespaceData>> {
  const { key, workspace } = caller;
  checkPermission(key, "create_namespace", undefined);
  checkNewName("name", name);
  const actor = creatorOf(quota, caller);
  const made = await store.createNamespace(workspace.id, name, actor, { isShadow: shadow }).catch(refuse);
  await seen(directory);
  return { data: dataOf(made) };
}

export async function updateNamespace(
  parts: RouteParts,
  caller: Caller,
  { namespace: idOrName, shadow }: UpdateNamespaceBody,
): Promise<Answer<NamespaceData>> {
  const namespace = namespaceFor(parts.directory, caller, idOrName, "update_namespace");
  const actor = actorOf(caller, "update_namespace", namespace.id);
  return save(parts, actor, { id: namespace.id, isShadow: shadow }, "namespace.update");
}

export async function deleteNamespace(
  parts: RouteParts,
  caller: Caller,
  { namespace: idOrName }: NamespaceBody,
): Promise<Answer<NamespaceData>> {
  const namespace = namespaceFor(parts.directory, caller, idOrName, "delete_namespace");
  const actor = actorOf(caller, "delete_namespace", namespace.id);
  return save(parts, actor, { id: namespace.id, deletedAtMs: parts.wallMs() }, "namespace.delete");
}

/** A deleted one, by id or by name (the one that was deleted last). */
export async function restoreNamespace(
  parts: RouteParts,
  caller: Caller,
  { namespace: idOrName }: NamespaceBody,
): Promise<Answer<NamespaceData>> {
  const namespace = parts.directory.namespaceOf(caller.workspace.id, idOrName);
  checkPermission(caller.key, "delete_namespace", namespace?.id);
  if (namespace === undefined) throw namespaceMissing();
  if (namespace.deletedAtMs === null) return { data: dataOf(namespace) };
  const actor = actorOf(caller, "delete_namespace", namespace.id);
  return save(parts, actor, { id: namespace.id, deletedAtMs: null }, "namespace.restore").catch(refuse);
}

async function save(
  { directory, store }: RouteParts,
  actor: Actor,
  flags: NamespaceFlags,
  action: string,
): Promise<Answer<NamespaceData>> {
  const namespace = await store.saveNamespace(flags, action, actor);
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
