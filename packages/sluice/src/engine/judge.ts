/**
 * The second step of a decision, view → judge → record: may this request be counted now? The only place that says so, for single
 * requests and batches, with and without layers.
 *
 * Invariant: judging changes nothing. Only a request that fits is put to the layers: counts only grow, so nothing that they could
 * bring turns a denial into an allow.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import type { Engine } from "./engine.ts";
import type { Verdict } from "./gate.ts";
import { judgeHolds } from "./judge-holds.ts";
import type { Layers } from "./layers.ts";
import type { View } from "./view.ts";

/** `deny`: it does not fit. `reserved`: it does not fit beside the holds of its key. Otherwise it fits, and the layers have had their say. */
export type Judgement = "deny" | "reserved" | Verdict;

/** Whether the window has room for the cost, as far as is known here. */
export function fits({ effective, limit }: View): boolean {
  return effective <= limit;
}

/** "read" is for requests that have not waited yet, or that must look at the holds of their key again. */
export function judge(engine: Engine, view: View): Judgement {
  if (!fits(view)) return "deny";
  const { layers, held } = engine;
  const beside = held === null ? "fits" : judgeHolds(engine, view);
  if (beside === "reserved" || beside === "read") return beside;
  if (layers === null) return "proceed";
  const verdict = beside === "degraded" ? beside : judgeRegion(layers, view);
  return verdict === "proceed" && view.key.durationMs >= layers.unheardFromMs ? "degraded" : verdict;
}

/**
 * A request waits for one read at most. What the read brought suffices, whatever was denied in the meantime: it began after the
 * request arrived, or after the last denial known then (origin/regional-layer.ts sees to that). Asking for a younger read would let
 * one client whose requests do not fit keep a key from everybody else.
 */
function judgeRegion(layers: Layers, view: View): Verdict {
  const { gate } = layers;
  const { slot, sequence, nowMs, key, limit, effective, waited } = view;
  if (gate === null) return "proceed";
  if (waited?.isOk === false) return "degraded";
  if (waited === null && gate.mustAsk(limit - effective, limit)) {
    return gate.verdict(NONE, sequence, nowMs, key.durationMs);
  }
  // Try the fast check here too: with a trace attached, no request takes the fast path.
  const isSettled = slot !== NONE && gate.isSettled(slot, sequence);
  if (waited === null) return isSettled ? "proceed" : gate.verdict(slot, sequence, nowMs, key.durationMs);
  return isSettled || gate.suffices(waited, sequence, nowMs, key.durationMs) ? "proceed" : "degraded";
}

/**
 * The same for the fast path: whether `judge` would say "proceed" for a request that fits, has a slot and has not waited. False if that
 * takes a closer look. `left` is what the request would leave of its limit.
 */
// Stryker disable next-line BlockStatement: never ready takes the slow path, which gives the same
export function isReady(layers: Layers, slot: Slot, sequence: Sequence, left: number, limit: number): boolean {
  const { gate } = layers;
  // Stryker disable next-line ConditionalExpression: the same; true was killed
  return layers.mayBePlain && (gate === null || (gate.isSettled(slot, sequence) && !gate.mustAsk(left, limit)));
}
