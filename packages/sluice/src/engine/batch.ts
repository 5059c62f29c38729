/**
 * Batches: several requests, all counted or none.
 *
 * First every item is checked, then all are counted; nothing runs in between, so no transient state is ever visible.
 * Items of one cell add up: an item is checked on top of the earlier items of its cell that fit. So a batch that succeeds
 * answers what the same requests would have answered one after the other.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import { type BatchDecision, type Decision, decision, type Source } from "./decision.ts";
import type { Engine } from "./engine.ts";
import { viewWaited, type Waited } from "./gate.ts";
import type { Key } from "./key.ts";
import type { Asked } from "./layers.ts";
import { nameBytes } from "./name-budget.ts";
import { sequenceAt, windowEndMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";

/** One validated request of a batch, its key hashed. Two items with equal hash and duration name the same cell. */
export interface BatchItem {
  readonly key: Key;
  readonly h0: number;
  readonly h1: number;
  readonly h2: number;
  readonly limit: number;
  readonly cost: number;
}

/** What checking an item found. `effective` counts this item and the earlier ones of its cell. */
interface Checked extends Asked {
  readonly endMs: number;
  /** The effective count before the batch. */
  readonly before: number;
  readonly fits: boolean;
  readonly source: Source;
  readonly waited: Waited | null;
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
  const checked: Checked[] = [];
  items.forEach((item, i) => {
    checked.push(check(engine, item, checked, nowMs, waited[i] ?? null));
  });
  engine.beginTick();
  if (!checked.every(({ fits }) => fits)) return refuseAll(engine, checked, noItems);
  // Stryker disable next-line StringLiteral: what is neither to be read nor degraded proceeds
  const verdicts = checked.map((one) => engine.layers?.judge(one, one.waited) ?? "proceed");
  if (verdicts.includes("read")) {
    const arrivedMs = engine.clock.monoMs();
    return checked.map(({ sequence, current, previous }, i) => {
      const isOk = verdicts[i] === "proceed";
      const known = { source: "local", arrivedMs, beganMs: arrivedMs, sequence, current, previous } as const;
      return verdicts[i] === "read" ? null : { isOk, ...known };
    });
  }
  return count(engine, checked, (i) => verdicts[i] === "degraded", nowMs);
}

const noItems: ReadonlySet<number> = new Set();

function check(
  engine: Engine,
  item: BatchItem,
  earlier: readonly Checked[],
  nowMs: number,
  waited: Waited | null,
): Checked {
  const { key, h0, h1, h2, limit, cost } = item;
  const { durationMs } = key;
  const sequence = sequenceAt(nowMs, durationMs);
  const endMs = windowEndMs(sequence, durationMs);
  const slot = engine.table.find(h0, h1, h2, durationMs);
  let current = 0;
  let previous = 0;
  if (slot !== NONE) {
    current = engine.table.view(slot, sequence);
    previous = engine.table.view(slot, (sequence - 1) as Sequence);
  }
  if (waited !== null) {
    // Both are lower bounds. The slot may be a new one: the one from which the item was found ready was evicted while others were read.
    current = Math.max(current, viewWaited(waited, sequence));
    previous = Math.max(previous, viewWaited(waited, sequence - 1));
  }
  const before = current + share(previous, endMs - nowMs, durationMs);
  let effective = before + cost;
  for (const one of earlier) if (one.fits && isSameCell(one, item)) effective += one.cost;
  const source = waited?.isOk === true ? waited.source : "local";
  const fits = effective <= limit;
  return {
    key,
    h0,
    h1,
    h2,
    limit,
    cost,
    slot,
    sequence,
    nowMs,
    current,
    previous,
    effective,
    endMs,
    before,
    fits,
    source,
    waited,
  };
}

export function isSameCell(a: BatchItem, b: BatchItem): boolean {
  return a.h0 === b.h0 && a.h1 === b.h1 && a.h2 === b.h2 && a.key.durationMs === b.key.durationMs;
}

/** The answers of a batch that failed: nothing was spent. `unrecorded` are the items without a place in the table. */
function refuseAll(engine: Engine, checked: readonly Checked[], unrecorded: ReadonlySet<number>): BatchDecision {
  const decisions = checked.map((one, i) => {
    const { limit, effective, endMs, source, slot } = one;
    const answer = unrecorded.has(i) ? engine.unrecorded(limit, effective, endMs, source) : refuse(engine, one);
    const how = { isCounted: false, batch: engine.tick, waited: one.waited };
    engine.layers?.decided(one, engine.layers.basis(one), slot, answer, how);
    return answer;
  });
  return { success: false, decisions };
}

function refuse(engine: Engine, one: Checked): Decision {
  const { limit, endMs, before, effective, current, previous, sequence, key, source } = one;
  if (one.fits) {
    engine.tally.add(TALLY.deniedBatch);
    return decision(true, limit, limit - before, endMs, before, "batch", source, false);
  }
  // What must fit is this item and the earlier ones of its cell together.
  return engine.deny(current, previous, effective, limit, effective - before, sequence, key.durationMs, source);
}

/** Counts every item. Slots come first: with `whenFull: "deny"` an item without one refuses the batch. */
function count(
  engine: Engine,
  checked: readonly Checked[],
  isDegraded: (i: number) => boolean,
  nowMs: number,
): BatchDecision {
  const { layers, table } = engine;
  const before = checked.map((one) => layers?.basis(one) ?? null);
  const givenUp = holdSlots(engine, checked);
  if (engine.whenFull === "deny") {
    // Whether there is room is known before anybody is evicted for it.
    const beyond = itemsBeyondRoom(engine, checked);
    if (beyond.size > 0) return refuseAll(engine, checked, beyond);
  }
  const slots = placeAll(engine, checked, nowMs);
  const decisions = checked.map((one, i) => {
    const { limit, cost, effective, endMs, sequence, source } = one;
    const slot = cost > 0 ? slots[i]! : one.slot;
    const isWithout = cost > 0 && slot === NONE;
    if (!isWithout) engine.tally.add(TALLY.allowed);
    if (isDegraded(i)) engine.tally.add(TALLY.degraded);
    const answer = isWithout
      ? engine.unrecorded(limit, effective, endMs, source)
      : decision(true, limit, limit - effective, endMs, effective, "allowed", source, isDegraded(i));
    const isCounted = cost > 0 && slot !== NONE;
    // What the items of one cell rest on grows from one to the next, as if they came one after the other.
    // A peek holds no slot: another item may have taken the one it looked at.
    const isGone = cost === 0 && table.find(one.h0, one.h1, one.h2, one.key.durationMs) !== slot;
    const basis = givenUp.has(slot) || isGone ? before[i]! : (layers?.basis({ ...one, slot }) ?? null);
    const how = { isCounted, batch: engine.tick, waited: one.waited };
    layers?.decided(one, basis, isGone ? NONE : slot, answer, how);
    if (isCounted) {
      table.accept(slot, sequence, cost, limit);
      layers?.accepted(slot, limit - effective, limit, one.key.durationMs);
    }
    return answer;
  });
  return { success: true, decisions };
}

/**
 * Makes the slots of costing items current and touches them: making room for one item must neither evict nor sweep away
 * another's. Answers the slots of a later window, which are given up where they cannot be turned back.
 */
function holdSlots(engine: Engine, checked: readonly Checked[]): ReadonlySet<Slot> {
  const { table, layers } = engine;
  const givenUp = new Set<Slot>();
  for (const { slot, sequence, cost, key } of checked) {
    if (slot === NONE || cost === 0) continue;
    if (layers?.mustGiveUp === true && table.sequence(slot) > sequence) {
      layers.giveUp(slot, key, sequence);
      givenUp.add(slot);
    }
    table.rotate(slot, sequence);
    engine.touch(slot);
  }
  return givenUp;
}

/** The items whose new keys come after as many as the table, and the budget for names, have room for. */
function itemsBeyondRoom(engine: Engine, checked: readonly Checked[]): ReadonlySet<number> {
  const beyond = new Set<number>();
  const keys: BatchItem[] = [];
  const wanted = engine.layers === null ? 0 : checked.reduce((sum, { key }) => sum + nameBytes(key), 0);
  const room = engine.roomInTick({ slots: checked.length, bytes: wanted });
  let bytes = 0;
  checked.forEach((item, i) => {
    const { h0, h1, h2, key, cost } = item;
    if (cost === 0 || keys.some((one) => isSameCell(one, item))) return;
    if (engine.table.find(h0, h1, h2, key.durationMs) !== NONE) return;
    if (keys.length < room.slots && bytes < room.bytes) keys.push(item);
    else beyond.add(i);
    bytes += nameBytes(key);
  });
  return beyond;
}

/** A slot for every item with a cost, NONE where the table is full. */
function placeAll(engine: Engine, checked: readonly Checked[], nowMs: number): Slot[] {
  const { table, layers } = engine;
  return checked.map(({ h0, h1, h2, key, sequence, cost, waited }) => {
    if (cost === 0) return NONE;
    const found = table.find(h0, h1, h2, key.durationMs);
    if (found !== NONE) return found;
    const slot = engine.claimInTick(h0, h1, h2, key.durationMs, sequence, nowMs);
    if (slot !== NONE) layers?.claimed(slot, key, waited);
    return slot;
  });
}
