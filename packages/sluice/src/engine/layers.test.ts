import { describe, expect, test } from "vitest";
import { gatedEngine } from "../../../../test/support/gated-engine.ts";
import { MINUTE_MS } from "../../../../test/support/processes.ts";
import type { Sequence } from "../core/brands.ts";
import { CellTable, NONE } from "./cell-table.ts";
import { basisOf } from "./decision-event.ts";
import { encodeKey } from "./key.ts";

describe("a decision behind a gate", () => {
  test("is what the gate says of what fits: now, after a read, or degraded", () => {
    const { engine, told, decide, slot } = gatedEngine();
    expect(decide()).toMatchObject({ success: true, reason: "allowed", source: "local", degraded: false });
    told.verdict = "read";
    expect(decide()).toBeNull();
    told.verdict = "degraded";
    expect(decide()).toMatchObject({ success: true, degraded: true });
    const { table, tally } = engine;
    expect(table.viewCurrent(slot())).toBe(2);
    expect([tally.read("allowed"), tally.read("degraded")]).toEqual([2, 1]);
  });

  test.each([true, false])(
    "a key whose cells are settled does not wait, whatever a closer look would say; traced: %s",
    (isTraced) => {
      const { engine, told, heard, decide, slot } = gatedEngine({ isTraced });
      decide();
      Object.assign(told, { verdict: "read", isSettled: true });
      heard.length = 0;
      expect(decide(3)).toMatchObject({ success: true, current: 4 });
      expect(heard).toEqual([["accepted", slot(), 6, 10, MINUTE_MS]]);
      expect(decide(0)).toMatchObject({ success: true, current: 4 });
      expect([heard.length, engine.tally.read("allowed")]).toEqual([1, 3]);
      expect(decide(1, 10, null, "b")).toBeNull();
    },
  );

  test.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])(
    "is degraded while other regions have not been heard, if its window is one of theirs; gated: %s, traced: %s",
    (isGated, isTraced) => {
      const { engine, layers, told, decide, item, decideMany, read } = gatedEngine({ isGated, isTraced });
      told.isSettled = true;
      layers.awaitOthers(MINUTE_MS);
      // A key without a slot, one with a slot, a peek, after a read, and in a batch.
      for (const answer of [decide(), decide(), decide(0), decide(1, 10, read())]) {
        expect(answer).toMatchObject({ success: true, reason: "allowed", degraded: true });
      }
      expect(decideMany([item("a"), item("b")])).toMatchObject({ decisions: [{ degraded: true }, { degraded: true }] });
      expect(engine.tally.read("degraded")).toBe(6);
      // A denial is never wrong, whatever is missing.
      expect(decide(9)).toMatchObject({ success: false, degraded: false });
      layers.awaitOthers(MINUTE_MS + 1);
      expect(decide()).toMatchObject({ success: true, degraded: false });
      layers.awaitOthers(MINUTE_MS);
      layers.endAwaitOthers();
      expect(decide()).toMatchObject({ success: true, degraded: false });
      expect(engine.tally.read("degraded")).toBe(6);
    },
  );

  test.each([true, false])(
    "a request that adds nothing makes its key due for publishing if its limit is lower than any before; settled: %s",
    (isSettled) => {
      const { engine, ledger, told, decide, slot } = gatedEngine();
      told.isSettled = isSettled;
      decide(5, 100);
      const isDue = (): boolean => {
        const { size } = ledger.unpublished;
        ledger.markPublished(slot());
        return size === 1;
      };
      expect([isDue(), engine.table.limitLow(slot())]).toEqual([true, 100]);
      // Denied, then peeks that are allowed; each lower than those before.
      for (const [cost, limit] of [
        [96, 99],
        [91, 90],
        [0, 50],
        [5, 4],
      ] as const) {
        decide(cost, limit);
        expect([isDue(), engine.table.limitLow(slot())]).toEqual([true, limit]);
        // The flood that follows costs a comparison.
        decide(cost, limit);
        expect(isDue()).toBe(false);
      }
      decide(1_000, 999);
      decide(0, 999);
      decide(1, 0);
      decide(0, 0);
      expect([isDue(), engine.table.limitLow(slot())]).toEqual([false, 4]);
    },
  );

  test("a required read is made even if the answer will be degraded anyway", () => {
    const { layers, told, decide } = gatedEngine();
    layers.awaitOthers(MINUTE_MS);
    told.verdict = "read";
    expect(decide()).toBeNull();
  });

  test("a key without a slot is entered in the ledger, though the gate calls everything settled", () => {
    const { told, ledger, decide, slot } = gatedEngine();
    told.isSettled = true;
    decide();
    expect(ledger.name(slot())?.key.identifier).toBe("a");
  });

  test("what a read brought counts in its own window, and as the previous cell in the next one", () => {
    // At the start of a window all of the previous one counts.
    for (const [later, current] of [
      [0, 18],
      [1, 11],
      [2, 1],
      [-1, 8],
    ] as const) {
      const { decide, read, sequence } = gatedEngine();
      const old = read({ sequence: (sequence() - later) as Sequence, current: 10, previous: 7 });
      expect(decide(1, 20, old)).toMatchObject({ success: true, current });
    }
  });

  test("a claim tries 64 slots, not all: most of the time the one of 10,000 that may go is not found", () => {
    const { ledger, decide, slot } = gatedEngine({ cellsMax: 10_000 });
    for (let i = 0; i < 10_000; i++) decide(1, 10, null, `old_${i}`);
    ledger.markReplayed(slot("old_5000"));
    expect(decide(1, 10, null, "new")).toMatchObject({ reason: "full" });
    expect(slot("old_5000")).not.toBe(NONE);
  });

  test("the sweep orphans the cost of a far future alone: what is over matters no more", () => {
    for (const [byMs, orphans] of [
      [2 * MINUTE_MS, []],
      [-2 * MINUTE_MS, [4]],
    ] as const) {
      const { time, engine, ledger, decide } = gatedEngine();
      decide(4);
      time.jumpWall(byMs);
      expect(engine.sweepOnce(10, 10)).toBe(1);
      expect([engine.table.size, engine.tally.read("expired")]).toEqual([0, 1]);
      expect(ledger.orphans.map(({ total }) => total)).toEqual(orphans);
    }
  });

  test("rests on a read that suffices, is degraded if the read does not suffice or fails, and never waits twice", () => {
    const { told, decide, read } = gatedEngine();
    told.verdict = "read";
    expect(decide(1, 10, read())).toMatchObject({ success: true, source: "origin", degraded: false });
    told.suffices = false;
    expect(decide(1, 10, read())).toMatchObject({ success: true, source: "origin", degraded: true });
    expect(decide(1, 10, read({ isOk: false }))).toMatchObject({ success: true, source: "local", degraded: true });
    // Memory has become fresh in the meantime.
    told.isSettled = true;
    expect(decide(1, 10, read())).toMatchObject({ success: true, degraded: false });
  });

  test("a read that failed degrades no denial: counts only grow", () => {
    const { engine, decide, read } = gatedEngine();
    decide(10);
    expect(decide(1, 10, read({ isOk: false }))).toMatchObject({ success: false, reason: "limit", degraded: false });
    expect(engine.tally.read("degraded")).toBe(0);
  });

  test("what a read brought counts for a key without a slot", () => {
    const { told, decide, read } = gatedEngine();
    told.verdict = "read";
    expect(decide(1, 10, read({ current: 10 }))).toMatchObject({ success: false, source: "origin" });
    expect(decide(0, 10, read({ current: 4, previous: 3 }))).toMatchObject({ success: true, current: 7 });
  });

  test("what a read brought goes into a slot that is claimed after it, for others who waited for the same read", () => {
    // Seen in a simulated herd: the slot that the read had made was evicted by another key's. The first request that had waited was
    // decided from the read, and made an empty slot; the second was decided from that.
    const { engine, ledger, told, decide, read, slot, sequence } = gatedEngine();
    told.verdict = "read";
    const brought = read({ current: 5, previous: 3 });
    expect(decide(1, 20, brought)).toMatchObject({ success: true, current: 9 });
    expect(decide(1, 20, brought)).toMatchObject({ success: true, current: 10 });
    expect(decide(11, 20, brought)).toMatchObject({ success: false });
    expect(engine.table.others(slot(), sequence())).toBe(5);
    expect(ledger.unpublished.has(slot())).toBe(true);
    // Of a read that failed there is nothing to keep.
    expect(decide(1, 20, read({ isOk: false, current: 5 }), "b")).toMatchObject({ success: true, degraded: true });
    expect(engine.table.others(slot("b"), sequence())).toBe(0);
  });

  test("a full window is told to the gate and to whoever passes denials on, with slot, window, duration and limit", () => {
    const { heard, decide, sequence, slot } = gatedEngine();
    decide(10);
    heard.length = 0;
    decide(1);
    expect(heard).toEqual([
      ["denied", "a", slot()],
      ["told", slot(), sequence(), MINUTE_MS, 10],
    ]);
  });

  test("a key without a slot is denied to the gate too, and not passed on; a cost that never fits is neither", () => {
    const { heard, decide, read } = gatedEngine();
    decide(1);
    heard.length = 0;
    decide(11);
    decide(1, 10, read({ current: 10 }), "b");
    expect(heard).toEqual([["denied", "b", NONE]]);
  });

  test("cost is told to the ledger and the gate, with what the limit has left; a peek is not, and takes no slot", () => {
    const { engine, ledger, heard, decide, slot } = gatedEngine();
    decide(0);
    expect([heard, engine.table.size]).toEqual([[], 0]);
    decide(3);
    expect(heard).toEqual([["accepted", slot(), 7, 10, MINUTE_MS]]);
    expect([ledger.unreplayed.has(slot()), ledger.unpublished.has(slot())]).toEqual([true, true]);
    decide(0);
    expect([heard.length, engine.table.viewCurrent(slot())]).toEqual([1, 3]);
  });

  test.each(["allow", "deny"] as const)("without a place for its record, whenFull %s decides, degraded", (whenFull) => {
    const { engine, ledger, heard, events, decide } = gatedEngine({ cellsMax: 1, whenFull, isTraced: true });
    decide(1);
    heard.length = 0;
    const answer = decide(2, 10, null, "b");
    expect(answer).toMatchObject({ success: whenFull === "allow", reason: "full", degraded: true });
    // The only slot is unreplayed: it stays.
    expect([engine.table.size, heard, ledger.name(NONE)]).toEqual([1, [], undefined]);
    expect(events.at(-1)).toMatchObject({ reason: "full", isCounted: false, writer: "", own: 0 });
    // A peek needs none.
    expect(decide(0, 10, null, "b")).toMatchObject({ success: true, reason: "allowed" });
  });

  test("after a clock that was set back, a slot of a later window is given up where there is an origin", () => {
    for (const [isGated, writer] of [
      [true, ".1"],
      [false, ""],
    ] as const) {
      const { time, engine, ledger, decide, slot, sequence } = gatedEngine({ isGated });
      decide(4);
      time.jumpWall(-MINUTE_MS);
      expect(decide(2)).toMatchObject({ success: true, current: 2 });
      expect(ledger.name(slot())!.writer).toBe(`${ledger.incarnation}${writer}`);
      expect([engine.table.sequence(slot()), engine.table.viewCurrent(slot())]).toEqual([sequence(), 2]);
      expect(ledger.orphans.map(({ total }) => total)).toEqual(isGated ? [4] : []);
    }
  });

  test("a slot of this window or an earlier one is not given up", () => {
    const { time, ledger, decide, slot } = gatedEngine();
    decide(4);
    decide(1);
    time.pass(MINUTE_MS);
    decide(1);
    expect(ledger.name(slot())!.writer).toBe(ledger.incarnation);
  });

  test("a history hears what every decision rests on, before its cost was counted", () => {
    const { time, engine, ledger, events, decide, sequence, slot } = gatedEngine({ isTraced: true });
    decide(4);
    engine.table.raiseOthers(slot(), sequence(), 2);
    engine.table.raiseForeign(slot(), sequence(), 3);
    decide(1);
    decide(1, 5);
    const key = encodeKey(ledger.name(slot())!.key);
    const clocks = { wallMs: time.wallMs, monoMs: time.monoMs, sequence: sequence(), durationMs: MINUTE_MS };
    const told = {
      kind: "decision",
      key,
      ...clocks,
      arrivedMs: time.monoMs,
      previous: 0,
      batch: 0,
      call: 0,
      source: "local",
      degraded: false,
    };
    const allowed = { ...told, success: true, reason: "allowed", isCounted: true, writer: ledger.incarnation };
    expect(events).toEqual([
      { ...allowed, own: 0, others: 0, foreign: 0, cost: 4, limit: 10, effective: 4 },
      { ...allowed, own: 4, others: 2, foreign: 3, cost: 1, limit: 10, effective: 10 },
      {
        ...told,
        success: false,
        reason: "limit",
        isCounted: false,
        writer: "",
        own: 5,
        others: 2,
        foreign: 3,
        cost: 1,
        limit: 5,
        effective: 11,
      },
    ]);
  });

  test("without a slot it rests on nothing, also in the first window of all", () => {
    expect(basisOf(new CellTable(1), NONE, 0 as Sequence)).toEqual({ own: 0, others: 0, foreign: 0 });
  });
});
