/** `inspect`: explains what a request would be answered and from what, and counts nothing. */
import type { CellInspection } from "sluice";
import type { Caller } from "../../access/caller.ts";
import type { InspectBody, InspectData } from "../../contract/schemas.ts";
import type { Answer, RouteParts } from "./route.ts";

export function inspect({ decisions }: RouteParts, caller: Caller, body: InspectBody): Answer<InspectData> {
  const { namespace, override, isShadow, limit, duration, cost, success, counts } = decisions.inspect(caller, body);
  return {
    data: {
      namespaceId: namespace.id,
      identifier: body.identifier,
      rule: { limit, duration, source: override === undefined ? "request" : "override", shadow: isShadow },
      override:
        override === undefined
          ? null
          : {
              overrideId: override.id,
              identifier: override.identifier,
              limit: override.limit,
              duration: override.durationMs,
              shadow: override.isShadow,
            },
      decision: {
        success,
        remaining: Math.max(0, limit - counts.effective - cost),
        explanation: explanationOf(counts.current.view, counts.previousShare, cost, limit),
      },
      current: cellOf(counts.current),
      previous: cellOf(counts.previous),
      weight: counts.weight,
      leftMs: counts.leftMs,
      previousShare: counts.previousShare,
      effective: counts.effective,
      isKnown: counts.isKnown,
      strictForMs: Math.ceil(counts.strictForMs),
    },
  };
}

function explanationOf(current: number, previousShare: number, cost: number, limit: number): string {
  const sum = current + previousShare + cost;
  const parts = `${current} in this window + ${previousShare} from the previous one + cost ${cost} = ${sum}`;
  return `${parts}, which is ${sum <= limit ? "within" : "above"} the limit of ${limit}`;
}

function cellOf({ freshForMs, ...cell }: CellInspection): InspectData["current"] {
  return { ...cell, freshForMs: Math.ceil(freshForMs) };
}
