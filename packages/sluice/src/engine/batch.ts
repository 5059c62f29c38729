/**
 * Batches: several requests, all counted or none.
 *
 * First every item is checked, then all are counted; nothing runs in between, so no transient state is ever visible.
 * Items of one cell add up: an item is checked on top of the earlier items of its cell that fit. So a batch that succeeds
 * answers what the same requests would have answered one after the other.
 */
import type { Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import type { BatchDecision } from "./decision.ts";
import type { Engine } from "./engine.ts";
import type { Waited } from "./gate.ts";
import { fits, type Judgement, judge } from "./judge.ts";
import type { HashedKey } from "./key-hash.ts";
import { excessOf, nameBytes } from "./name-budget.ts";
import { type Outcome, record } from "./record.ts";
import type { Scope } from "./scope.ts";
import { type HashedRequest, type View, viewOf } from "./view.ts";

/** One validated request of a batch. */
export type BatchItem = HashedRequest;

/** Checks the identifier, and hashes the key. */
export function batchItem(engine: Engine, scope: Scope, identifier: string, limit: number, cost: number): BatchItem {
  const { key, h0, h1, h2 } = engine.hashed(scope, identifier);
  return { key, h0, h1, h2, limit, cost };
}

/**
 * A batch that fits and must wait, item by item. Null: the item's cells must be read from the origin. Otherwise what memory held when the
 * batch arrived, which the item is decided from though it may grow stale, or be denied, while others are read: so there is one round
 * of reads.
 */
export type Awaited = readonly (Waited | null)[];

/** Decides a batch. `waited` has what was waited for, for every item: none when the batch arrives. */
export function decideBatch(
  engine: Engine,
  items: readonly BatchItem[],
  waited: readonly Waited[],
): BatchDecision | Awaited {
  const nowMs = engine.clock.nowMs();
  const views: View[] = [];
  items.forEach((item, i) => {
    const slot = find(engine, item);
    views.push(viewOf(engine.table, item, slot, nowMs, costAhead(views, item), waited[i] ?? null));
  });
  engine.beginTick();
  if (!views.every(fits)) return refuseAll(engine, views, noItems);
  const judgements = views.map((view) => judge(engine, view));
  const reserved = new Set(judgements.flatMap((judgement, i) => (judgement === "reserved" ? [i] : [])));
  if (reserved.size > 0) return refuseAll(engine, views, noItems, reserved);
  if (judgements.includes("read")) {
    const arrivedMs = engine.clock.monoMs();
    return views.map(({ sequence, current, previous }, i) => {
      const isOk = judgements[i] === "proceed";
      const known = { source: "local", arrivedMs, beganMs: arrivedMs, sequence, current, previous } as const;
      return judgements[i] === "read" ? null : { isOk, ...known };
    });
  }
  return countAll(engine, views, judgements, nowMs);
}

const noItems: ReadonlySet<number> = new Set();

function find({ table }: Engine, { key, h0, h1, h2 }: HashedKey): Slot {
  return table.find(h0, h1, h2, key.durationMs);
}

/** The cost of the earlier items of the same cell that fit. */
function costAhead(earlier: readonly View[], item: BatchItem): number {
  let cost = 0;
  for (const one of earlier) if (isSameCell(one, item) && fits(one)) cost += one.cost;
  return cost;
}

export function isSameCell(a: HashedKey, b: HashedKey): boolean {
  return a.h0 === b.h0 && a.h1 === b.h1 && a.h2 === b.h2 && a.key.durationMs === b.key.durationMs;
}

/**
 * The answers of a batch that failed: nothing was spent. `unrecorded` are the items without a place in the table, `reserved` those that do not
 * fit beside holds.
 */
function refuseAll(
  engine: Engine,
  views: readonly View[],
  unrecorded: ReadonlySet<number>,
  reserved: ReadonlySet<number> = noItems,
): BatchDecision {
  const outcomeOf = (view: View, i: number): Outcome => {
    if (unrecorded.has(i)) return "full";
    if (reserved.has(i)) return "reserved";
    return fits(view) ? "batch" : "deny";
  };
  const decisions = views.map((view, i) => {
    const outcome = outcomeOf(view, i);
    const basis = engine.layers?.basis(view.slot, view.sequence) ?? null;
    return record(engine, view, outcome, view.slot, basis, engine.tick);
  });
  return { success: false, decisions };
}

/** Counts every item. Slots come first: with `whenFull: "deny"` an item without one refuses the batch. */
function countAll(
  engine: Engine,
  views: readonly View[],
  judgements: readonly Judgement[],
  nowMs: number,
): BatchDecision {
  const { layers } = engine;
  const before = views.map(({ slot, sequence }) => layers?.basis(slot, sequence) ?? null);
  const givenUp = holdSlots(engine, views);
  if (engine.whenFull === "deny") {
    // Whether there is room is known before anybody is evicted for it.
    const beyond = itemsBeyondRoom(engine, views);
    if (beyond.size > 0) return refuseAll(engine, views, beyond);
  }
  const slots = placeAll(engine, views, nowMs);
  const decisions = views.map((view, i) => {
    const { cost, sequence } = view;
    const slot = cost > 0 ? slots[i]! : view.slot;
    // A peek holds no slot: another item may have taken the one it looked at.
    const isGone = cost === 0 && find(engine, view) !== slot;
    // What the items of one cell rest on grows from one to the next, as if they came one after the other.
    const basis = givenUp.has(slot) || isGone ? before[i]! : (layers?.basis(slot, sequence) ?? null);
    const outcome = judgements[i] === "degraded" ? "degraded" : "proceed";
    return record(engine, view, outcome, isGone ? NONE : slot, basis, engine.tick);
  });
  return { success: true, decisions };
}

/**
 * Makes the slots of costing items current and touches them: making room for one item must neither evict nor sweep away
 * another's. Answers the slots of a later window, which are given up where they cannot be turned back.
 */
function holdSlots(engine: Engine, views: readonly View[]): ReadonlySet<Slot> {
  const { table, layers } = engine;
  const givenUp = new Set<Slot>();
  for (const { slot, sequence, cost, key } of views) {
    if (slot === NONE || cost === 0) continue;
    if (layers?.giveUpLater(slot, key, sequence) === true) givenUp.add(slot);
    table.rotate(slot, sequence);
    engine.touch(slot);
  }
  return givenUp;
}

/** The items whose new keys come after as many as the table, and the budget for names, have room for. */
function itemsBeyondRoom(engine: Engine, views: readonly View[]): ReadonlySet<number> {
  const beyond = new Set<number>();
  const keys: BatchItem[] = [];
  const names = views.map(({ key }) => (engine.layers === null ? 0 : nameBytes(key)));
  const room = engine.roomInTick({ slots: views.length, bytes: sum(names), excess: sum(names.map(excessOf)) });
  let bytes = 0;
  let excess = 0;
  views.forEach((item, i) => {
    if (item.cost === 0 || keys.some((one) => isSameCell(one, item))) return;
    if (find(engine, item) !== NONE) return;
    const name = names[i]!;
    const hasRoom = bytes < room.bytes && (excessOf(name) === 0 || excess < room.excess);
    if (keys.length < room.slots && hasRoom) keys.push(item);
    else beyond.add(i);
    bytes += name;
    excess += excessOf(name);
  });
  return beyond;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** A slot for every item with a cost, NONE where the table is full. */
function placeAll(engine: Engine, views: readonly View[], nowMs: number): Slot[] {
  return views.map((view) => {
    if (view.cost === 0) return NONE;
    const found = find(engine, view);
    return found !== NONE ? found : engine.claim(view, view.sequence, nowMs, view.waited, true);
  });
}
