/** `inspect`: explains what a request would be answered and from what, and counts nothing. */
import type { CellInspection } from "sluice";
import { Problem } from "../contract/problem.ts";
import type { InspectBody, InspectData } from "../contract/schemas.ts";
import type { Caller } from "../access/caller.ts";
import { type Answer, checkWellFormed, namespaceFor } from "../access/actor.ts";
import type { LimitParts } from "../decisions/decisions.ts";

export function inspect({ directory, limiter }: LimitParts, caller: Caller, body: InspectBody): Answer {
  const namespace = namespaceFor(directory, caller, body.namespace, "read_namespace");
  checkWellFormed("body.identifier", body.identifier);
  const override = directory.overrideFor(namespace.id, body.identifier);
  const limit = override?.limit ?? body.limit;
  const duration = override?.durationMs ?? body.duration;
  if (limit === undefined) throw Problem.at("body.limit", "is missing, and no override gives one");
  if (duration === undefined) throw Problem.at("body.duration", "is missing, and no override gives one");
  const { id, workspaceId } = namespace;
  const key = { workspace: workspaceId, namespace: id, identifier: body.identifier, limit, duration };
  const seen = limiter.inspect(key);
  const cost = body.cost ?? 1;
  const success = cost <= limit && seen.effective + cost <= limit;
  const isShadow = namespace.isShadow || override?.isShadow === true;
  const data: InspectData = {
    namespaceId: id,
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
      success: success || isShadow,
      remaining: Math.max(0, limit - seen.effective - cost),
      explanation: explanationOf(seen.current.view, seen.previousShare, cost, limit),
    },
    current: cellOf(seen.current),
    previous: cellOf(seen.previous),
    weight: seen.weight,
    leftMs: seen.leftMs,
    previousShare: seen.previousShare,
    effective: seen.effective,
    isKnown: seen.isKnown,
    strictForMs: Math.ceil(seen.strictForMs),
  };
  return { data };
}

function explanationOf(current: number, previousShare: number, cost: number, limit: number): string {
  const sum = current + previousShare + cost;
  const parts = `${current} in this window + ${previousShare} from the previous one + cost ${cost} = ${sum}`;
  return `${parts}, which is ${sum <= limit ? "within" : "above"} the limit of ${limit}`;
}

function cellOf({ freshForMs, ...cell }: CellInspection): InspectData["current"] {
  return { ...cell, freshForMs: Math.ceil(freshForMs) };
}
