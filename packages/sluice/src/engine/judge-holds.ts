/**
 * Whether a request that fits its counts also fits beside the holds of its key.
 *
 * Invariant: with an origin that keeps holds, a request is refused for them only by a look that began after it arrived, and by what that look
 * itself has answered. What this process accepted since is not in the answer: if the request does not fit only because of that, it looks again.
 * Deciding by memory there would deny requests that fitted at the origin all the time.
 */
import type { Sequence } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import type { Engine } from "./engine.ts";
import { viewWaited, type Waited } from "./gate.ts";
import { share } from "./sliding-window.ts";
import type { View } from "./view.ts";

/** `fits`: holds have nothing to say against it. */
export type HoldsJudgement = "fits" | "reserved" | "read" | "degraded";

export function judgeHolds(engine: Engine, view: View): HoldsJudgement {
  const { held, layers } = engine;
  const { limit, effective, nowMs, sequence, key, waited } = view;
  if (held === null || held.find(view) === undefined) return "fits";
  const local = held.localOf(view, nowMs);
  const gate = layers?.gate ?? null;
  const fitsBeside = (cost: number) => effective + cost <= limit;
  // Holds are in memory only, so memory knows them all.
  if (gate === null || !gate.canLook) return fitsBeside(held.costOf(view, nowMs)) ? "fits" : "reserved";
  if (waited?.isOk === false) return fitsBeside(local) ? "fits" : "reserved";
  if (waited?.look !== undefined) return judgeLook(engine, view, waited, waited.look.cost, local);
  if (fitsBeside(held.costOf(view, nowMs))) return "fits";
  if (gate.verdict(NONE, sequence, nowMs, key.durationMs) === "read") return "read";
  return fitsBeside(local) ? "degraded" : "reserved";
}

function judgeLook(engine: Engine, view: View, waited: Waited, living: number, local: number): HoldsJudgement {
  const { table } = engine;
  const { slot, limit, effective, before, sequence, endMs, nowMs, key } = view;
  const countOf = (at: Sequence) => viewWaited(waited, at) + (slot === NONE ? 0 : table.foreign(slot, at));
  const left = share(countOf((sequence - 1) as Sequence), endMs - nowMs, key.durationMs);
  const seen = countOf(sequence) + left + effective - before;
  if (seen + living + local > limit) return "reserved";
  if (effective + Math.max(living + local, engine.held?.costOf(view, nowMs) ?? 0) <= limit) return "fits";
  return waited.look?.isLast === true ? "degraded" : "read";
}
