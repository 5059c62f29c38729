/** `topIdentifiers`: who used a namespace most, or was denied most, over the last minutes. */

import type { Caller } from "../../access/caller.ts";
import { namespaceFor } from "../../access/names.ts";
import { ARRIVAL_COST, RANKING_UNITS } from "../../access/quota.ts";
import { Problem } from "../../contract/problem.ts";
import { PAGE_DEFAULT, type TopIdentifiersBody, type TopIdentifiersData } from "../../contract/schemas.ts";
import { firstOf } from "../../top-identifiers/ranking.ts";
import type { Answer, RouteParts } from "./route.ts";

export async function topIdentifiers(
  { directory, topIdentifiers: desk, wallMs, quota, turnstiles }: RouteParts,
  caller: Caller,
  { namespace: idOrName, by = "use", limit = PAGE_DEFAULT }: TopIdentifiersBody,
): Promise<Answer<TopIdentifiersData>> {
  const { id } = namespaceFor(directory, caller, idOrName, "read_namespace");
  if (desk === null) {
    throw new Problem(
      "hitters_off",
      "Top identifiers are turned off on this server (setting hitters.namespaces is 0).",
    );
  }
  const { workspace } = caller;
  await quota.chargeRead(workspace, RANKING_UNITS - ARRIVAL_COST);
  const { spanMs, isWhole, ranking } = await turnstiles.rankings.run(workspace.id, () =>
    desk.ask({ namespaceId: id, by }),
  );
  const first = firstOf(ranking, limit);
  const data: TopIdentifiersData = {
    namespaceId: id,
    by,
    from: Math.round(wallMs() - spanMs),
    total: ranking.total,
    errorMax: ranking.absentAtMost,
    complete: isWhole,
    identifiers: first.entries.map(({ name, atLeast, atMost }) => ({ identifier: name, atLeast, atMost })),
    othersAtMost: first.absentAtMost,
  };
  return { data };
}
