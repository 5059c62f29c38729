/**
 * A single request: view → judge → record, and a fast path that does the same for most requests without the steps' objects.
 *
 * Invariant: the fast path answers and counts what the slow path would. `single.test.ts` holds them to each other.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import { type Decision, decision } from "./decision.ts";
import type { Engine } from "./engine.ts";
import type { Waited } from "./gate.ts";
import { isReady, judge } from "./judge.ts";
import { keyOf } from "./key.ts";
import { denial, record } from "./record.ts";
import type { Scope } from "./scope.ts";
import { sequenceAt, windowEndMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";
import { type View, viewFrom, viewOf } from "./view.ts";

/**
 * Decides one request, and counts its cost if it fits. Null (only with an origin, and only without `waited`): it fits, but the
 * origin must be read first; call it again with what the read brought. A SluiceError if the identifier is not legal.
 */
export function decide(
  engine: Engine,
  scope: Scope,
  identifier: string,
  limit: number,
  cost: number,
  waited: Waited | null,
): Decision | null {
  engine.locate(scope, identifier);
  const { durationMs } = scope;
  engine.clock.read();
  const nowMs = engine.clock.lastMs;
  const { h0, h1, h2 } = engine.hash;
  const { table, layers } = engine;
  const slot = table.find(h0, h1, h2, durationMs);
  if (slot !== NONE) table.touch(slot, engine.tick);
  if (waited !== null) {
    const request = { key: keyOf(scope, identifier), h0, h1, h2, limit, cost };
    return decideSlowly(engine, viewOf(table, request, slot, nowMs, 0, waited));
  }

  // The fast path: the three steps inlined, for a busy key that is all known and fresh, and for every denial of a bare engine.
  const sequence = sequenceAt(nowMs, durationMs);
  let current = 0;
  let previous = 0;
  if (slot !== NONE) {
    // Stryker disable next-line ConditionalExpression: the other branch sees the same; true was killed
    if (table.sequence(slot) === sequence) {
      current = table.viewCurrent(slot);
      previous = table.viewPrevious(slot);
    } else {
      current = table.view(slot, sequence);
      previous = table.view(slot, (sequence - 1) as Sequence);
    }
  }
  const endMs = windowEndMs(sequence, durationMs);
  // Stryker disable next-line ConditionalExpression: the share of nothing is nothing; true was killed
  const before = current + (previous === 0 ? 0 : share(previous, endMs - nowMs, durationMs));
  const effective = before + cost;
  if (effective > limit) {
    if (layers === null) {
      return denial(engine, current, previous, effective, limit, cost, sequence, endMs - nowMs, durationMs, "local");
    }
  } else if (
    slot !== NONE &&
    (engine.held === null || engine.held.isClear(h0)) &&
    (layers === null || isReady(layers, slot, sequence, limit - effective, limit))
  ) {
    if (cost > 0) {
      table.accept(slot, sequence, cost, limit);
      if (layers !== null) layers.accepted(slot, limit - effective, limit, durationMs);
    } else if (layers !== null) {
      layers.requested(slot, limit);
    }
    engine.tally.add(TALLY.allowed);
    return decision(true, limit, limit - effective, endMs, effective, "allowed", "local", false, 0);
  }

  const request = { key: keyOf(scope, identifier), h0, h1, h2, limit, cost };
  return decideSlowly(engine, viewFrom(request, slot, sequence, nowMs, endMs, current, previous, before, 0, null));
}

/** The same without the fast path. */
export function decideSlowly(engine: Engine, view: View): Decision | null {
  const { layers } = engine;
  const { slot } = view;
  const judgement = judge(engine, view);
  if (judgement === "read") return null;
  const basis = layers === null ? null : layers.basis(slot, view.sequence);
  const isDenied = judgement === "deny" || judgement === "reserved";
  const place = isDenied || view.cost === 0 ? slot : placeFor(engine, view);
  return record(engine, view, judgement, place, basis, 0);
}

/** The slot to count in: the key's own, or a new one. NONE if the table is full. */
function placeFor(engine: Engine, view: View): Slot {
  const { key, slot, sequence, nowMs, waited } = view;
  const { layers } = engine;
  if (slot !== NONE) {
    layers?.giveUpLater(slot, key, sequence);
    return slot;
  }
  engine.beginTick();
  return engine.claim(view, sequence, nowMs, waited);
}
