/** The overrides of a namespace: set, read, listed and deleted. */
import type { OverrideRecord } from "../admin/records.ts";
import type { Caller } from "./authentication.ts";
import { type AdminParts, type Answer, actorOf, checkWellFormed, namespaceFor } from "./call.ts";
import { pageOf } from "./page.ts";
import { Problem } from "./problem.ts";
import type { ListOverridesBody, OverrideBody, OverrideData, SetOverrideBody } from "./schemas.ts";

export async function setOverride(
  { directory, store }: AdminParts,
  caller: Caller,
  { namespace: idOrName, identifier, limit, duration, shadow }: SetOverrideBody,
): Promise<Answer> {
  const namespace = namespaceFor(directory, caller, idOrName, "set_override");
  checkWellFormed("body.identifier", identifier);
  const override = await store.setOverride(
    {
      workspaceId: namespace.workspaceId,
      namespaceId: namespace.id,
      identifier,
      limit,
      durationMs: duration,
      isShadow: shadow ?? false,
    },
    actorOf(caller.key),
  );
  // It is stored, whether or not this server has it in memory yet.
  await directory.refresh().catch(() => {});
  return { data: { overrideId: override.id } };
}

export function getOverride({ directory }: AdminParts, caller: Caller, body: OverrideBody): Answer {
  const namespace = namespaceFor(directory, caller, body.namespace, "read_override");
  const override = directory.overrideOf(namespace.id, body.identifier);
  if (override === undefined) throw overrideMissing();
  return { data: dataOf(override) };
}

export function listOverrides({ directory }: AdminParts, caller: Caller, body: ListOverridesBody): Answer {
  const namespace = namespaceFor(directory, caller, body.namespace, "read_override");
  return pageOf(directory.overridesOf(namespace.id), body, ({ identifier }) => identifier, dataOf);
}

export async function deleteOverride(
  { directory, store }: AdminParts,
  caller: Caller,
  { namespace: idOrName, identifier }: OverrideBody,
): Promise<Answer> {
  const namespace = namespaceFor(directory, caller, idOrName, "delete_override");
  checkWellFormed("body.identifier", identifier);
  const isDeleted = await store.deleteOverride(namespace.id, identifier, actorOf(caller.key));
  if (!isDeleted) throw overrideMissing();
  // It is stored, whether or not this server has it in memory yet.
  await directory.refresh().catch(() => {});
  return { data: {} };
}

function dataOf({ id, identifier, limit, durationMs, isShadow }: OverrideRecord): OverrideData {
  return { overrideId: id, identifier, limit, duration: durationMs, shadow: isShadow };
}

function overrideMissing(): Problem {
  return new Problem("override_not_found", "There is no override for this identifier.");
}
