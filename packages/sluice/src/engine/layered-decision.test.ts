import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/manual-time.ts";
import { SeededRandom } from "../../../../test/seeded-random.ts";
import type { Sequence } from "../core/brands.ts";
import type { TraceEvent } from "../core/trace.ts";
import { Engine, type WhenFull } from "./engine.ts";
import type { ReadOutcome, Verdict } from "./gate.ts";
import { encodeKey, keyOf } from "./key.ts";
import { LayeredDecision } from "./layered-decision.ts";
import { Ledger } from "./ledger.ts";

const MINUTE_MS = 60_000;

/** An engine behind a gate that says what it is told to. */
function setUp(options: { cellsMax?: number; whenFull?: WhenFull; isGated?: boolean; isTraced?: boolean } = {}) {
  const { cellsMax = 4, whenFull = "allow", isGated = true, isTraced = false } = options;
  const time = new ManualTime();
  const random = new SeededRandom(7);
  const engine = new Engine({ clock: time.clock, random, cellsMax, whenFull });
  const ledger = new Ledger(engine.table, random, { replays: true, publishes: true });
  const told = { isSettled: false, verdict: "proceed" as Verdict, suffices: true };
  const heard: unknown[] = [];
  const gate = {
    isSettled: () => told.isSettled,
    verdict: () => told.verdict,
    suffices: () => told.suffices,
    accepted: (...args: unknown[]) => void heard.push(["accepted", ...args]),
    denied: (...args: unknown[]) => void heard.push(["denied", ...args]),
  };
  const events: TraceEvent[] = [];
  const onDenial = (...args: unknown[]) => void heard.push(["told", ...args]);
  const trace = isTraced ? (event: TraceEvent) => void events.push(event) : null;
  engine.attach(new LayeredDecision(engine, { ledger, gate: isGated ? gate : null, onDenial, trace }));
  const scope = () => engine.scopes.find("default", "api", MINUTE_MS);
  const decide = (cost = 1, limit = 10, read: ReadOutcome | null = null, identifier = "a") =>
    engine.decide(scope(), identifier, limit, cost, read);
  const sequence = () => Math.floor(time.wallMs / MINUTE_MS) as Sequence;
  const slot = (identifier = "a") => {
    const { h0, h1, h2 } = engine.locateKey(keyOf(scope(), identifier));
    return engine.table.find(h0, h1, h2, scope().durationMs);
  };
  const read = (fields: Partial<ReadOutcome> = {}): ReadOutcome => ({
    isOk: true,
    beganMs: time.monoMs,
    sequence: sequence(),
    current: 0,
    previous: 0,
    ...fields,
  });
  return { time, engine, ledger, told, heard, events, decide, sequence, slot, read };
}

describe("a decision behind a gate", () => {
  test("is what the gate says of what fits: now, after a read, or degraded", () => {
    const { engine, told, decide, slot } = setUp();
    expect(decide()).toMatchObject({ success: true, reason: "allowed", source: "local", degraded: false });
    told.verdict = "read";
    expect(decide()).toBeNull();
    told.verdict = "degraded";
    expect(decide()).toMatchObject({ success: true, degraded: true });
    const { table, tally } = engine;
    expect(table.viewCurrent(slot())).toBe(2);
    expect([tally.read("allowed"), tally.read("degraded")]).toEqual([2, 1]);
  });

  test("a key whose cells are settled does not wait, whatever a closer look would say", () => {
    const { told, decide } = setUp({ isTraced: true });
    decide();
    Object.assign(told, { verdict: "read", isSettled: true });
    expect(decide()).toMatchObject({ success: true });
    expect(decide(1, 10, null, "b")).toBeNull();
  });

  test("rests on a read of its window if that suffices, and is degraded by one that failed", () => {
    const { told, decide, read, sequence } = setUp();
    told.verdict = "read";
    expect(decide(1, 10, read())).toMatchObject({ success: true, source: "origin", degraded: false });
    told.suffices = false;
    expect(decide(1, 10, read())).toBeNull();
    expect(decide(1, 10, read({ isOk: false }))).toMatchObject({ success: true, source: "local", degraded: true });
    // What was read of another window says nothing of this one.
    told.suffices = true;
    expect(decide(1, 10, read({ sequence: (sequence() - 1) as Sequence }))).toBeNull();
  });

  test("a read that failed degrades no denial: counts only grow", () => {
    const { engine, decide, read } = setUp();
    decide(10);
    expect(decide(1, 10, read({ isOk: false }))).toMatchObject({ success: false, reason: "limit", degraded: false });
    expect(engine.tally.read("degraded")).toBe(0);
  });

  test("what a read brought counts for a key without a slot", () => {
    const { told, decide, read } = setUp();
    told.verdict = "read";
    expect(decide(1, 10, read({ current: 10 }))).toMatchObject({ success: false, source: "origin" });
    expect(decide(0, 10, read({ current: 4, previous: 3 }))).toMatchObject({ success: true, current: 7 });
  });

  test("a full window is told to the gate and to whoever passes denials on, with slot, window, duration and limit", () => {
    const { heard, decide, sequence, slot } = setUp();
    decide(10);
    heard.length = 0;
    decide(1);
    expect(heard).toEqual([
      ["denied", slot(), MINUTE_MS],
      ["told", slot(), sequence(), MINUTE_MS, 10],
    ]);
  });

  test("neither a cost that never fits nor a key without a slot makes anything strict", () => {
    const { heard, decide, read } = setUp();
    decide(1);
    heard.length = 0;
    decide(11);
    decide(1, 10, read({ current: 10 }), "b");
    expect(heard).toEqual([]);
  });

  test("cost is told to the ledger and the gate, with what the limit has left; a peek is not, and takes no slot", () => {
    const { engine, ledger, heard, decide, slot } = setUp();
    decide(0);
    expect([heard, engine.table.size]).toEqual([[], 0]);
    decide(3);
    expect(heard).toEqual([["accepted", slot(), 7, 10, MINUTE_MS]]);
    expect([ledger.unreplayed.has(slot()), ledger.unpublished.has(slot())]).toEqual([true, true]);
    decide(0);
    expect([heard.length, engine.table.viewCurrent(slot())]).toEqual([1, 3]);
  });

  test.each(["allow", "deny"] as const)("without a place for its record, whenFull %s decides, degraded", (whenFull) => {
    const { engine, heard, events, decide } = setUp({ cellsMax: 1, whenFull, isTraced: true });
    decide(1);
    heard.length = 0;
    const answer = decide(2, 10, null, "b");
    expect(answer).toMatchObject({ success: whenFull === "allow", reason: "full", degraded: true });
    // The only slot is unreplayed: it stays.
    expect([engine.table.size, heard]).toEqual([1, []]);
    expect(events.at(-1)).toMatchObject({ reason: "full", isCounted: false, writer: "", own: 0 });
    // A peek needs none.
    expect(decide(0, 10, null, "b")).toMatchObject({ success: true, reason: "allowed" });
  });

  test("after a clock that was set back, a slot of a later window is given up where there is an origin", () => {
    for (const [isGated, writer] of [
      [true, ".1"],
      [false, ""],
    ] as const) {
      const { time, engine, ledger, decide, slot, sequence } = setUp({ isGated });
      decide(4);
      time.jumpWall(-MINUTE_MS);
      expect(decide(2)).toMatchObject({ success: true, current: 2 });
      expect(ledger.name(slot())!.writer).toBe(`${ledger.incarnation}${writer}`);
      expect([engine.table.sequence(slot()), engine.table.viewCurrent(slot())]).toEqual([sequence(), 2]);
      expect(ledger.orphans.map(({ total }) => total)).toEqual(isGated ? [4] : []);
    }
  });

  test("a slot of this window or an earlier one is not given up", () => {
    const { time, ledger, decide, slot } = setUp();
    decide(4);
    decide(1);
    time.pass(MINUTE_MS);
    decide(1);
    expect(ledger.name(slot())!.writer).toBe(ledger.incarnation);
  });

  test("a history hears what every decision rests on, before its cost was counted", () => {
    const { time, engine, ledger, events, decide, sequence, slot } = setUp({ isTraced: true });
    decide(4);
    engine.table.raiseOthers(slot(), sequence(), 2);
    engine.table.raiseForeign(slot(), sequence(), 3);
    decide(1);
    decide(1, 5);
    const key = encodeKey(ledger.name(slot())!.key);
    const clocks = { wallMs: time.wallMs, monoMs: time.monoMs, sequence: sequence(), durationMs: MINUTE_MS };
    const told = { kind: "decision", key, ...clocks, previous: 0, batch: 0, source: "local", degraded: false };
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
});
