/** The overrides of a namespace: set, read, listed and deleted. */

import { actorOf } from "../../access/actor.ts";
import type { Caller } from "../../access/caller.ts";
import { checkWellFormed, namespaceFor } from "../../access/names.ts";
import { ITEMS_PER_UNIT } from "../../access/quota.ts";
import type { OverrideUse } from "../../admin/directory.ts";
import { starsIn, weightOf } from "../../admin/pattern.ts";
import type { OverrideRecord } from "../../admin/records.ts";
import { Problem } from "../../contract/problem.ts";
import type { ListOverridesBody, OverrideBody, OverrideData, SetOverrideBody } from "../../contract/schemas.ts";
import { pageOf } from "./list-page.ts";
import type { Answer, RouteParts } from "./route.ts";

/** Only `limit` and `multiLimit` make namespaces that are missing. */
const CREATE_FIRST = "Create it first with ratelimit.createNamespace, or restore it if it was deleted.";

export async function setOverride(
  { directory, store, overrideCaps }: RouteParts,
  caller: Caller,
  { namespace: idOrName, identifier, limit, duration, shadow }: SetOverrideBody,
): Promise<Answer<{ overrideId: string }>> {
  const namespace = namespaceFor(directory, caller, idOrName, "set_override", CREATE_FIRST);
  checkWellFormed("identifier", identifier);
  // One that is there may always be changed.
  if (directory.overrideOf(namespace.id, identifier) === undefined) {
    checkRoom(directory.overrideUseOf(namespace.id), overrideCaps.namespace, identifier, CAP_SETTINGS.namespace);
    checkRoom(
      directory.overrideUseOf(namespace.workspaceId),
      overrideCaps.workspace,
      identifier,
      CAP_SETTINGS.workspace,
    );
  }
  const override = await store.setOverride(
    {
      workspaceId: namespace.workspaceId,
      namespaceId: namespace.id,
      identifier,
      limit,
      durationMs: duration,
      isShadow: shadow ?? false,
    },
    actorOf(caller, "set_override", namespace.id),
  );
  // It is stored, whether or not this server has it in memory yet.
  await directory.refresh().catch(() => {});
  return { data: { overrideId: override.id } };
}

export function getOverride({ directory }: RouteParts, caller: Caller, body: OverrideBody): Answer<OverrideData> {
  const namespace = namespaceFor(directory, caller, body.namespace, "read_override");
  const override = directory.overrideOf(namespace.id, body.identifier);
  if (override === undefined) throw overrideMissing();
  return { data: dataOf(override) };
}

export async function listOverrides(
  { directory, quota }: RouteParts,
  caller: Caller,
  body: ListOverridesBody,
): Promise<Answer<OverrideData[]>> {
  const namespace = namespaceFor(directory, caller, body.namespace, "read_override");
  const { overrides } = directory.overrideUseOf(namespace.id);
  await quota.chargeRead(caller.workspace, Math.floor(overrides / ITEMS_PER_UNIT));
  return pageOf(directory.overridesOf(namespace.id), body, ({ identifier }) => identifier, dataOf);
}

export async function deleteOverride(
  { directory, store }: RouteParts,
  caller: Caller,
  { namespace: idOrName, identifier }: OverrideBody,
): Promise<Answer<object>> {
  const namespace = namespaceFor(directory, caller, idOrName, "delete_override");
  checkWellFormed("identifier", identifier);
  const actor = actorOf(caller, "delete_override", namespace.id);
  const isDeleted = await store.deleteOverride(namespace.id, identifier, actor);
  if (!isDeleted) throw overrideMissing();
  // It is stored, whether or not this server has it in memory yet.
  await directory.refresh().catch(() => {});
  return { data: {} };
}

function dataOf({ id, identifier, limit, durationMs, isShadow }: OverrideRecord): OverrideData {
  return { overrideId: id, identifier, limit, duration: durationMs, shadow: isShadow };
}

interface CapSettings {
  readonly whose: string;
  readonly overrides: string;
  readonly stars: string;
}

const CAP_SETTINGS = {
  namespace: { whose: "namespace", overrides: "overrides.max", stars: "overrides.starsMax" },
  workspace: { whose: "workspace", overrides: "overrides.workspaceMax", stars: "overrides.workspaceStarsMax" },
} as const;

/**
 * By what this server knows: it may be exceeded by the changes that are made at the same time.
 * @throws Problem if there is no room for one more.
 */
function checkRoom(used: OverrideUse, cap: OverrideUse, identifier: string, names: CapSettings): void {
  const more = { overrides: weightOf(identifier), stars: starsIn(identifier) };
  for (const what of ["overrides", "stars"] as const) {
    if (more[what] === 0 || used[what] + more[what] <= cap[what]) continue;
    const many = more.overrides > 1 ? ` This one counts as ${more.overrides}, because it is long.` : "";
    const has = what === "overrides" ? `${used.overrides} overrides` : `${used.stars} stars in its patterns`;
    const advice = `Delete some, or increase the server's setting ${names[what]}.`;
    const detail = `The ${names.whose} has ${has}, and may have ${cap[what]}.${what === "overrides" ? many : ""} ${advice}`;
    throw new Problem("override_limit_reached", detail);
  }
}

function overrideMissing(): Problem {
  return new Problem("override_not_found", "There is no override for this identifier.");
}
