/**
 * The last step of a decision, view → judge → record: adds the cost that was allowed, counts and reports the decision, and makes the
 * answer. The only place that does, for single requests and batches, with and without layers.
 *
 * Invariant: nothing runs between the view and this, so a decision rests on exactly what it looked at. Only an allow adds cost.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import { type Decision, decision, type Source } from "./decision.ts";
import type { Basis } from "./decision-event.ts";
import type { Engine } from "./engine.ts";
import type { Judgement } from "./judge.ts";
import { besideHolds } from "./reserve.ts";
import { windowEndMs } from "./sequence.ts";
import { fitAfterEndMs } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";
import type { View } from "./view.ts";

/**
 * What was judged of a request, or of a request in its batch:
 *
 * - `batch`: it fits, but another item of its batch does not
 * - `full`: it fits, but there is no room for a record of it
 */
export type Outcome = Exclude<Judgement, "read"> | "batch" | "full";

/** `slot`: where an allowed cost is counted; NONE if the table is full. `batch`: 0 for a single request. */
export function record(
  engine: Engine,
  view: View,
  outcome: Outcome,
  slot: Slot,
  basis: Basis | null,
  batch: number,
): Decision {
  const { limit, cost, effective, sequence, key } = view;
  const { layers } = engine;
  const answer = answerTo(engine, view, outcome, slot);
  const isCounted = answer.reason === "allowed" && cost > 0;
  layers?.decided(view, basis, slot, answer, { isCounted, batch });
  if (isCounted) {
    engine.table.accept(slot, sequence, cost, limit);
    layers?.accepted(slot, limit - effective, limit, key.durationMs);
  }
  return answer;
}

function answerTo(engine: Engine, view: View, outcome: Outcome, slot: Slot): Decision {
  const { limit, cost, current, previous, before, effective, sequence, nowMs, endMs, key, source } = view;
  const { tally } = engine;
  if (outcome === "deny") {
    // What must fit is this request and the earlier items of its cell together.
    const together = effective - before;
    return denial(
      engine,
      current,
      previous,
      effective,
      limit,
      together,
      sequence,
      endMs - nowMs,
      key.durationMs,
      source,
    );
  }
  if (outcome === "reserved") {
    tally.add(TALLY.deniedReserved);
    return besideHolds(engine, view, "reserved", source, source === "local" && engine.layers?.gate?.canLook === true);
  }
  // What is left is left beside the holds of the key.
  const held = engine.held?.costOf(view, nowMs) ?? 0;
  if (outcome === "batch") {
    tally.add(TALLY.deniedBatch);
    return decision(true, limit, Math.max(0, limit - before - held), endMs, before, "batch", source, false, 0);
  }
  const isDegraded = outcome === "degraded";
  if (isDegraded) tally.add(TALLY.degraded);
  if (outcome === "full" || (cost > 0 && slot === NONE)) return unrecorded(engine, view);
  tally.add(TALLY.allowed);
  const remaining = Math.max(0, limit - effective - held);
  return decision(true, limit, remaining, endMs, effective, "allowed", source, isDegraded, 0);
}

/**
 * The answer to a request that does not fit. Numbers, because a bare engine denies on the fast path, which allocates nothing else; and
 * what is left of the window instead of the time, which would be an object of its own wherever this is not inlined.
 */
export function denial(
  { tally }: Engine,
  current: number,
  previous: number,
  effective: number,
  limit: number,
  cost: number,
  sequence: Sequence,
  leftMs: number,
  durationMs: DurationMs,
  source: Source,
): Decision {
  const isNever = cost > limit;
  tally.add(isNever ? TALLY.deniedCost : TALLY.deniedLimit);
  const afterEndMs = isNever ? 0 : fitAfterEndMs(current, previous, limit, cost, durationMs);
  const resetMs = windowEndMs(sequence, durationMs) + afterEndMs;
  return decision(false, limit, 0, resetMs, effective, isNever ? "cost" : "limit", source, false, leftMs + afterEndMs);
}

/** Fits, but there is no room for a record of it: by option, a lenient or a strict answer. */
function unrecorded({ tally, whenFull }: Engine, { limit, effective, nowMs, endMs, source }: View): Decision {
  tally.add(TALLY.unrecorded);
  if (whenFull === "allow") {
    tally.add(TALLY.allowed);
    return decision(true, limit, limit - effective, endMs, effective, "full", source, true, 0);
  }
  tally.add(TALLY.deniedFull);
  return decision(false, limit, 0, endMs, effective, "full", source, true, endMs - nowMs);
}
