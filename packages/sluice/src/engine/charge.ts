/**
 * A charge: a cost that is known when the work is done. It is counted whether it fits or not, and the answer is the key's state after it.
 *
 * Invariant: a charge asks nobody and waits for nothing. It changes counts as an allow does, and replays and publishes like one; it is
 * never denied, so it makes no key strict and writes no row of the denial channel.
 *
 * It does not judge: whether the next request is allowed is for judge.ts, with the charge counted. A component stops at its maximum
 * (core/bounds.ts).
 */
import { COMPONENT_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import { type Charge, type ChargesDecision, charged } from "./decision.ts";
import type { Engine } from "./engine.ts";
import { keyOf } from "./key.ts";
import type { Scope } from "./scope.ts";
import { sequenceAt, windowEndMs } from "./sequence.ts";
import { fitAfterEndMs, share } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";
import { type HashedRequest, type View, viewOf } from "./view.ts";

/** Counts the cost of one request. A SluiceError if the identifier is not legal. */
export function charge(engine: Engine, scope: Scope, identifier: string, limit: number, cost: number): Charge {
  engine.locate(scope, identifier);
  const { durationMs } = scope;
  engine.clock.read();
  const nowMs = engine.clock.lastMs;
  const { h0, h1, h2 } = engine.hash;
  const { table, layers } = engine;
  const slot = table.find(h0, h1, h2, durationMs);
  if (slot !== NONE) table.touch(slot, engine.tick);
  const sequence = sequenceAt(nowMs, durationMs);
  // The fast path, as in single.ts: a key with a slot of this window, and no history is kept.
  if (slot !== NONE && cost > 0 && table.sequence(slot) === sequence && (layers === null || layers.mayBePlain)) {
    const current = table.viewCurrent(slot);
    const previous = table.viewPrevious(slot);
    const before =
      current + (previous === 0 ? 0 : share(previous, windowEndMs(sequence, durationMs) - nowMs, durationMs));
    const added = table.charge(slot, sequence, cost, limit);
    if (layers !== null) layers.charged(slot, before, limit - before - added, limit, durationMs);
    return stateAfter(engine, current + added, previous, before + added, limit, sequence, nowMs, durationMs);
  }
  const request = { key: keyOf(scope, identifier), h0, h1, h2, limit, cost };
  if (slot === NONE) engine.beginTick();
  return chargeSlowly(engine, viewOf(table, request, slot, nowMs, 0, null), 0);
}

/** Counts every item, in order. None makes room by evicting another one's key. */
export function chargeAll(engine: Engine, items: readonly HashedRequest[]): ChargesDecision {
  const nowMs = engine.clock.nowMs();
  const { table } = engine;
  engine.beginTick();
  const decisions = items.map((item) => {
    const slot = table.find(item.h0, item.h1, item.h2, item.key.durationMs);
    return chargeSlowly(engine, viewOf(table, item, slot, nowMs, 0, null), engine.tick);
  });
  return { success: decisions.every(({ success }) => success), decisions };
}

/** The same without the fast path. `batch`: 0 for a single charge. */
function chargeSlowly(engine: Engine, view: View, batch: number): Charge {
  const { table, layers } = engine;
  const { key, sequence, nowMs, current, previous, before, limit, cost } = view;
  const { durationMs } = key;
  const basis = layers === null ? null : layers.basis(view.slot, sequence);
  const slot = cost === 0 ? view.slot : placeFor(engine, view, batch !== 0);
  if (cost > 0 && slot === NONE) return unrecorded(engine, view);
  const added = cost === 0 ? 0 : Math.min(cost, COMPONENT_MAX - table.own(slot, sequence));
  const answer = stateAfter(engine, current + added, previous, before + added, limit, sequence, nowMs, durationMs);
  layers?.decided(view, basis, slot, answer, { isCounted: cost > 0, batch });
  if (cost > 0) {
    table.charge(slot, sequence, cost, limit);
    layers?.charged(slot, before, limit - before - added, limit, durationMs);
  }
  return answer;
}

/** The slot to count in: the key's own, or a new one. NONE if the table is full. */
function placeFor(engine: Engine, { key, slot, sequence, nowMs, h0, h1, h2 }: View, isThorough: boolean): Slot {
  if (slot === NONE) return engine.claim({ key, h0, h1, h2 }, sequence, nowMs, null, isThorough);
  engine.layers?.giveUpLater(slot, key, sequence);
  engine.touch(slot);
  return slot;
}

function stateAfter(
  { tally }: Engine,
  current: number,
  previous: number,
  effective: number,
  limit: number,
  sequence: Sequence,
  nowMs: number,
  durationMs: DurationMs,
): Charge {
  tally.add(TALLY.charged);
  const endMs = windowEndMs(sequence, durationMs);
  if (effective <= limit) return charged(limit, endMs, effective, "charged", true, 0);
  tally.add(TALLY.overdrawn);
  const resetMs = limit === 0 ? endMs : endMs + fitAfterEndMs(current, previous, limit, 1, durationMs);
  return charged(limit, resetMs, effective, "charged", false, resetMs - nowMs);
}

/** There is no room for a record of it: nothing is counted. */
function unrecorded({ tally, whenFull }: Engine, { limit, effective, nowMs, endMs }: View): Charge {
  tally.add(TALLY.unrecorded);
  const success = whenFull === "allow" && effective <= limit;
  return charged(limit, endMs, effective, "full", success, success ? 0 : endMs - nowMs);
}
