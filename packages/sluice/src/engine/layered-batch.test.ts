import { describe, expect, test } from "vitest";
import { gatedEngine } from "../../../../test/support/gated-engine.ts";
import { MINUTE_MS } from "../../../../test/support/processes.ts";
import type { DurationMs, Sequence } from "../core/brands.ts";
import type { Awaited, BatchItem } from "./batch.ts";
import { NONE } from "./cell-table.ts";
import type { Verdict } from "./gate.ts";

describe("a batch behind a gate", () => {
  test("is what the gate says of what fits: now, after the reads it names, or degraded", () => {
    const { engine, told, item, decideMany, read, slot } = gatedEngine();
    const items = [item("a", 2), item("b", 3)];
    expect(decideMany(items)).toMatchObject({ success: true, decisions: [{ degraded: false }, { degraded: false }] });
    told.verdict = "read";
    expect(decideMany(items)).toEqual([null, null]);
    expect(decideMany(items, [read(), read({ isOk: false })])).toMatchObject({
      success: true,
      decisions: [
        { degraded: false, source: "origin" },
        { degraded: true, source: "local" },
      ],
    });
    const { table, tally } = engine;
    expect([table.viewCurrent(slot("a")), table.viewCurrent(slot("b"))]).toEqual([4, 6]);
    expect([tally.read("allowed"), tally.read("degraded")]).toEqual([4, 1]);
  });

  test("what a read brought counts for an item without a slot, in its window and the next", () => {
    const { engine, item, decideMany, read, sequence } = gatedEngine();
    const full = { current: 8, previous: 1 };
    expect(decideMany([item("a", 2)], [read(full)])).toMatchObject({ success: false, decisions: [{ current: 11 }] });
    expect(engine.table.size).toBe(0);
    const old = read({ ...full, sequence: (sequence() - 1) as Sequence });
    expect(decideMany([item("a", 2)], [old])).toMatchObject({ success: true, decisions: [{ current: 10 }] });
    const older = read({ ...full, sequence: (sequence() - 2) as Sequence });
    expect(decideMany([item("b", 2)], [older])).toMatchObject({ success: true, decisions: [{ current: 2 }] });
  });

  test("an item that needs no read is decided from what memory held when the batch arrived", () => {
    const { time, engine, told, item, decide, decideMany, read, slot, gate } = gatedEngine();
    decide(4);
    const verdicts: Verdict[] = ["proceed", "read", "degraded"];
    gate.verdict = () => verdicts.shift()!;
    const items = [item("a", 1), item("b", 2), item("c", 3)];
    const awaited = decideMany(items) as Awaited;
    const known = { source: "local", arrivedMs: time.monoMs, beganMs: time.monoMs, previous: 0 };
    expect(awaited).toMatchObject([{ ...known, isOk: true, current: 4 }, null, { ...known, isOk: false, current: 0 }]);
    // While the second is read, the first loses its slot, and everything would have to be read again.
    engine.release(slot("a"), false);
    told.verdict = "read";
    const waited = [awaited[0]!, read({ current: 5 }), awaited[2]!];
    expect(decideMany(items, waited)).toMatchObject({
      success: true,
      decisions: [
        { current: 5, source: "local", degraded: false },
        { current: 7, source: "origin", degraded: false },
        { current: 3, source: "local", degraded: true },
      ],
    });
    // Another batch that arrived at the same time is not decided from the slot that this one has just made.
    expect(decideMany([item("a", 1)], [awaited[0]!])).toMatchObject({ decisions: [{ current: 5, source: "local" }] });
    expect(decideMany([item("b", 1)], [read({ current: 5 })])).toMatchObject({ decisions: [{ current: 8 }] });
  });

  test("two items are of one cell only if all of their hash and their durations are equal", () => {
    const { item } = gatedEngine();
    const one: BatchItem = { ...item("a", 6), h0: 1, h1: 2, h2: 3 };
    const hour = { ...one.key, durationMs: 3_600_000 as DurationMs };
    for (const other of [{ h0: 9 }, { h1: 9 }, { h2: 9 }, { key: hour }]) {
      expect(gatedEngine().decideMany([one, { ...one, ...other }]), JSON.stringify(other)).toMatchObject({
        success: true,
      });
    }
    expect(gatedEngine().decideMany([one, { ...one }])).toMatchObject({ success: false });
  });

  test("cost is told to the ledger and the gate, item by item, with what the limit has left; a peek is not", () => {
    const { ledger, heard, item, decideMany, slot } = gatedEngine();
    decideMany([item("a", 3), item("a", 4), item("b", 0), item("c")]);
    expect(heard).toEqual([
      ["accepted", slot("a"), 7, 10, MINUTE_MS],
      ["accepted", slot("a"), 3, 10, MINUTE_MS],
      ["accepted", slot("c"), 9, 10, MINUTE_MS],
    ]);
    expect([slot("b"), ledger.name(slot("c"))?.key.identifier]).toEqual([NONE, "c"]);
  });

  test("a history hears what every item rests on: what was before, and the items of its cell before it", () => {
    const { ledger, events, decide, item, decideMany } = gatedEngine({ isTraced: true });
    decide(1);
    events.length = 0;
    decideMany([item("a", 2), item("a", 3), item("a", 0), item("b", 4)]);
    const counted = { isCounted: true, writer: ledger.incarnation };
    expect(events).toMatchObject([
      { ...counted, own: 1, effective: 3 },
      { ...counted, own: 3, effective: 6 },
      { isCounted: false, writer: "", own: 6, effective: 6 },
      { ...counted, own: 0, effective: 4 },
    ]);
    expect(new Set(events.map((event) => "batch" in event && event.batch)).size, "all of one batch").toBe(1);
  });

  test("a peek rests on what it saw, though another item has taken its slot", () => {
    const { ledger, events, decide, item, decideMany, slot } = gatedEngine({ cellsMax: 1, isTraced: true });
    decide(4);
    ledger.markReplayed(slot());
    events.length = 0;
    expect(decideMany([item("a", 0), item("b", 2)])).toMatchObject({ success: true });
    expect(slot("a")).toBe(NONE);
    expect(events).toMatchObject([
      { own: 4, effective: 4 },
      { own: 0, effective: 2 },
    ]);
  });

  test("the limit of a peek is not taken for that of the item that has taken its slot", () => {
    const { engine, ledger, decide, item, decideMany, slot } = gatedEngine({ cellsMax: 1 });
    decide(4);
    ledger.markReplayed(slot());
    expect(decideMany([item("b", 2), { ...item("a", 0), limit: 5 }])).toMatchObject({ success: true });
    expect(engine.table.limitLow(slot("b"))).toBe(10);
  });

  test("without a place for its record an item is allowed and flagged, and enters nothing in the ledger", () => {
    const { ledger, heard, decide, item, decideMany, slot } = gatedEngine({ cellsMax: 1 });
    decide(4);
    heard.length = 0;
    expect(decideMany([item("b", 2), item("a")])).toMatchObject({
      success: true,
      decisions: [
        { reason: "full", degraded: true },
        { reason: "allowed", degraded: false },
      ],
    });
    expect([slot("b"), ledger.name(NONE), heard.length]).toEqual([NONE, undefined, 1]);
  });

  test("a peek takes no room from the items beside it", () => {
    const { item, decideMany } = gatedEngine({ cellsMax: 2, whenFull: "deny" });
    expect(decideMany([item("a", 0), item("b"), item("c")])).toMatchObject({ success: true });
  });

  test("after a clock that was set back, a slot of a later window is given up where there is an origin", () => {
    for (const [isGated, writer] of [
      [true, ".1"],
      [false, ""],
    ] as const) {
      const { time, engine, ledger, events, decide, item, decideMany, slot, sequence } = gatedEngine({
        isGated,
        isTraced: true,
      });
      decide(4);
      time.pass(MINUTE_MS);
      decide(3);
      time.jumpWall(-MINUTE_MS);
      events.length = 0;
      // It saw the 4 that were counted in this window before the clock was set forward: no less is said of it.
      expect(decideMany([item("a", 2), item("a", 0)])).toMatchObject({
        success: true,
        decisions: [{ current: 6 }, {}],
      });
      expect(ledger.name(slot())!.writer).toBe(`${ledger.incarnation}${writer}`);
      expect([engine.table.sequence(slot()), engine.table.viewCurrent(slot())]).toEqual([sequence(), isGated ? 2 : 6]);
      expect(ledger.orphans.map(({ total }) => total)).toEqual(isGated ? [3, 4] : []);
      expect(events[0]).toMatchObject({ own: 4, effective: 6 });
    }
  });

  test("a slot of this window or an earlier one is not given up, nor one that is only looked at", () => {
    const { time, ledger, decide, item, decideMany, slot } = gatedEngine();
    decide(4);
    decideMany([item("a")]);
    time.pass(MINUTE_MS);
    decideMany([item("a")]);
    time.jumpWall(-MINUTE_MS);
    decideMany([item("a", 0)]);
    expect([ledger.name(slot())!.writer, ledger.orphans]).toEqual([ledger.incarnation, []]);
  });

  test("a full window is told to the gate and to whoever passes denials on", () => {
    const { heard, decide, item, decideMany, slot, sequence } = gatedEngine();
    decide(10);
    heard.length = 0;
    expect(decideMany([item("b"), item("a"), item("c", 11)])).toMatchObject({ success: false });
    expect(heard).toEqual([
      ["denied", "a", slot()],
      ["told", slot(), sequence(), MINUTE_MS, 10],
    ]);
  });
});
