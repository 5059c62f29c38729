import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatedEngine } from "../../../../test/support/gated-engine.ts";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { COMPONENT_MAX, COST_MAX, LIMIT_MAX } from "../core/bounds.ts";
import type { Sequence } from "../core/brands.ts";
import { batchItem } from "./batch.ts";
import { NONE } from "./cell-table.ts";
import { charge, chargeAll } from "./charge.ts";
import type { Charge } from "./decision.ts";
import { Engine, type WhenFull } from "./engine.ts";
import { keyOf } from "./key.ts";
import { decide } from "./single.ts";
import { TALLY } from "./tally.ts";

const MINUTE_MS = 60_000;
const DURATIONS_MS = [1_000, MINUTE_MS];
const IDENTIFIERS = ["a", "b", "c"];

interface Step {
  readonly verb: "charge" | "decide";
  readonly identifier: string;
  readonly durationMs: number;
  readonly limit: number;
  readonly cost: number;
  readonly passMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom("charge", "charge", "decide"),
  identifier: fc.constantFrom(...IDENTIFIERS),
  durationMs: fc.constantFrom(...DURATIONS_MS),
  limit: fc.constantFrom(0, 1, 5, 10),
  cost: fc.constantFrom(0, 1, 2, 6, 25),
  passMs: fc.constantFrom(0, 0, 1, 300, 700, 1_000, 59_000, 130_000),
});

function bare(cellsMax = 8, whenFull: WhenFull = "allow") {
  const time = new ManualTime();
  const engine = new Engine({ clock: time.clock, random: new SeededRandom(7), cellsMax, whenFull });
  const scope = (durationMs = MINUTE_MS) => engine.scopes.find("default", "api", durationMs);
  const take = (cost: number, limit = 10, identifier = "a") => charge(engine, scope(), identifier, limit, cost);
  const ask = (cost: number, limit = 10, identifier = "a") => decide(engine, scope(), identifier, limit, cost, null)!;
  const item = (identifier: string, cost: number, limit = 10) => batchItem(engine, scope(), identifier, limit, cost);
  return { time, engine, scope, take, ask, item };
}

describe("a charge", () => {
  test("is counted whether it fits or not, and says where its key stands", () => {
    const { time, take, ask } = bare();
    const endMs = time.wallMs - (time.wallMs % MINUTE_MS) + MINUTE_MS;
    expect(take(4)).toEqual({
      success: true,
      limit: 10,
      remaining: 6,
      over: 0,
      reset: endMs,
      current: 4,
      reason: "charged",
      source: "local",
      degraded: false,
      retryAfterMs: 0,
    });
    expect(take(6)).toMatchObject({ success: true, remaining: 0, over: 0, current: 10 });
    expect(take(25)).toMatchObject({ success: false, remaining: 0, over: 25, current: 35, reason: "charged" });
    expect(ask(1)).toMatchObject({ success: false, reason: "limit", current: 36 });
  });

  test("of cost 0 counts nothing, takes no slot, and says where its key stands", () => {
    const { engine, take } = bare();
    expect(take(0)).toMatchObject({ success: true, remaining: 10, current: 0, reason: "charged" });
    expect(engine.table.size).toBe(0);
    take(12);
    expect(take(0)).toMatchObject({ success: false, over: 2, current: 12 });
  });

  test("leaves a peek at exactly the limit allowed, and one above it denied", () => {
    const { take, ask } = bare();
    take(10);
    expect(ask(0)).toMatchObject({ success: true, remaining: 0, current: 10 });
    take(1);
    expect(ask(0)).toMatchObject({ success: false, remaining: 0, current: 11, reason: "limit" });
  });

  test("above a limit of 0 names the end of the window: nothing ever fits", () => {
    const { time, engine, take } = bare();
    const answer = take(3, 0);
    expect(answer).toMatchObject({ success: false, over: 3, reset: time.wallMs + answer.retryAfterMs });
    expect(answer.reset % MINUTE_MS).toBe(0);
    // Under a ban no count matters: it does not become the limit that the key's use is measured by.
    expect(engine.table.limitLow(engine.slotOf(keyOf(engine.scopes.find("default", "api", MINUTE_MS), "a")))).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  test("answers and counts what a plain sliding window would, and `reset` is when a cost of 1 fits again", () => {
    let overdrafts = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { time, engine } = bare();
        const counts = new Map<string, number>();
        for (const { verb, identifier, durationMs, limit, cost, passMs } of steps) {
          time.pass(passMs);
          const scope = engine.scopes.find("default", "api", durationMs);
          const sequence = Math.floor(time.wallMs / durationMs);
          const at = (window: number) => `${identifier}/${durationMs}/${window}`;
          const leftMs = (sequence + 1) * durationMs - time.wallMs;
          const before =
            (counts.get(at(sequence)) ?? 0) + Math.floor(((counts.get(at(sequence - 1)) ?? 0) * leftMs) / durationMs);
          const count = () => counts.set(at(sequence), (counts.get(at(sequence)) ?? 0) + cost);
          if (verb === "decide") {
            const { success } = decide(engine, scope, identifier, limit, cost, null)!;
            expect(success).toBe(before + cost <= limit);
            if (success) count();
            continue;
          }
          const answer = charge(engine, scope, identifier, limit, cost);
          count();
          const current = before + cost;
          expect(answer).toMatchObject({ current, success: current <= limit, over: Math.max(0, current - limit) });
          expect(answer.remaining).toBe(Math.max(0, limit - current));
          expect(answer.retryAfterMs).toBe(answer.success ? 0 : answer.reset - time.wallMs);
          if (answer.success || limit === 0) continue;
          overdrafts++;
          time.pass(answer.retryAfterMs - 1);
          expect(charge(engine, scope, identifier, limit, 0).remaining).toBe(0);
          time.pass(1);
          expect(charge(engine, scope, identifier, limit, 0).remaining).toBeGreaterThan(0);
        }
      }),
      { numRuns: 400 },
    );
    expect(overdrafts).toBeGreaterThan(100);
  });

  test.each([true, false])("takes the fast path or the slow one with the same result; with a gate: %s", (isGated) => {
    /** A history keeps every request off the fast path. */
    const setUp = (isTraced: boolean) => {
      const world = gatedEngine({ cellsMax: 4, isGated, isTraced });
      world.told.isSettled = true;
      return world;
    };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [fast, slow] = [setUp(false), setUp(true)];
        for (const { verb, identifier, durationMs, limit, cost, passMs } of steps) {
          const [one, other] = [fast, slow].map(({ time, engine, ledger, heard }) => {
            time.pass(passMs);
            const scope = engine.scopes.find("default", "api", durationMs);
            const answer =
              verb === "charge"
                ? charge(engine, scope, identifier, limit, cost)
                : decide(engine, scope, identifier, limit, cost, null);
            const tally = Object.keys(TALLY).map((name) => engine.tally.read(name as keyof typeof TALLY));
            const slot = engine.slotOf(keyOf(scope, identifier));
            const { table } = engine;
            const cell =
              slot === NONE ? null : [table.viewCurrent(slot), table.viewPrevious(slot), table.limitLow(slot)];
            return { answer, tally, heard: [...heard], cell, due: [ledger.unreplayed.size, ledger.unpublished.size] };
          });
          expect(one).toEqual(other);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("is told to a history before it is counted, with what it rests on", () => {
    const { engine, events } = gatedEngine({ isTraced: true });
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    charge(engine, scope, "a", 10, 4);
    charge(engine, scope, "a", 10, 20);
    expect(events).toMatchObject([
      { kind: "decision", reason: "charged", success: true, isCounted: true, cost: 4, own: 0, effective: 4 },
      { kind: "decision", reason: "charged", success: false, isCounted: true, cost: 20, own: 4, effective: 24 },
    ]);
  });

  test("that fails to be told is not counted", () => {
    const world = gatedEngine({ isTraced: true });
    const { engine, layers } = world;
    layers.decided = () => {
      throw new RangeError("a trace failed");
    };
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    expect(() => charge(engine, scope, "a", 10, 4)).toThrow(RangeError);
    expect(engine.table.viewCurrent(world.slot())).toBe(0);
  });

  test("makes no key strict and tells nobody of a denial; nor does a denied peek", () => {
    const { engine, heard, decide: ask, told } = gatedEngine();
    told.isSettled = true;
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    charge(engine, scope, "a", 10, 11);
    expect(ask(0)).toMatchObject({ success: false, reason: "limit" });
    expect(heard).toEqual([["charged", 0, -1, 10, MINUTE_MS, true]]);
    // A request that asked for something is denied as ever.
    ask(1);
    expect(heard.slice(1).map((one) => (one as unknown[])[0])).toEqual(["denied", "told"]);
  });

  test("above its limit already is no news", () => {
    const { engine, heard } = gatedEngine();
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    for (const cost of [10, 1, 1]) charge(engine, scope, "a", 10, cost);
    expect(heard.map((one) => (one as unknown[]).at(-1))).toEqual([true, true, false]);
  });

  test("in a window before the slot's, after a clock that was followed back, gives up what the slot counted", () => {
    const { time, engine, sequence, slot, ledger } = gatedEngine();
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    charge(engine, scope, "a", 10, 4);
    const writer = ledger.name(slot())!.writer;
    time.jumpWall(-MINUTE_MS);
    expect(charge(engine, scope, "a", 10, 3)).toMatchObject({ current: 3 });
    expect(engine.table.own(slot(), sequence())).toBe(3);
    expect(ledger.name(slot())!.writer).not.toBe(writer);
    expect(ledger.orphans.map(({ total }) => total)).toEqual([4]);
  });
});

describe("a component", () => {
  test("stops at its maximum, and everything computed from the key stays exact", () => {
    const { time, engine, take, ask } = bare();
    const charges = COMPONENT_MAX / COST_MAX;
    let last: Charge = take(COST_MAX, LIMIT_MAX);
    expect(last.success).toBe(true);
    for (let i = 1; i < charges + 3; i++) last = take(COST_MAX, LIMIT_MAX);
    expect(last).toMatchObject({ success: false, current: COMPONENT_MAX, over: COMPONENT_MAX - LIMIT_MAX });
    const { table } = engine;
    const slot = engine.slotOf(keyOf(engine.scopes.find("default", "api", MINUTE_MS), "a"));
    const sequence = table.sequence(slot);
    // What stores answer at most.
    for (const at of [sequence, (sequence - 1) as Sequence]) {
      table.raiseOthers(slot, at, Number.MAX_SAFE_INTEGER);
      table.raiseForeign(slot, at, Number.MAX_SAFE_INTEGER);
    }
    for (const passMs of [0, 1, 30_000, 59_000]) {
      time.pass(passMs);
      for (const { current, reset } of [ask(COST_MAX, LIMIT_MAX), take(COST_MAX, LIMIT_MAX), take(COST_MAX, 1)]) {
        expect(Number.isSafeInteger(current)).toBe(true);
        expect(reset).toBeGreaterThan(time.wallMs);
        expect(reset - time.wallMs).toBeLessThanOrEqual(2 * MINUTE_MS);
      }
    }
  });
});

describe("charges together", () => {
  test("are all counted, and items of one cell add up", () => {
    const { engine, item, ask } = bare();
    const answer = chargeAll(engine, [item("a", 6), item("b", 1), item("a", 6)]);
    expect(answer.success).toBe(false);
    expect(answer.decisions).toMatchObject([
      { success: true, current: 6 },
      { success: true, current: 1 },
      { success: false, current: 12, over: 2 },
    ]);
    expect(ask(0, 10, "b").current).toBe(1);
  });

  test("do not evict each other's keys, and what finds no room is not counted", () => {
    const { engine, item } = bare(2);
    const { success, decisions } = chargeAll(engine, [item("a", 1), item("b", 1), item("c", 1), item("a", 1)]);
    expect(decisions.map(({ reason }) => reason)).toEqual(["charged", "charged", "full", "charged"]);
    expect(decisions[2]).toMatchObject({ success: true, degraded: true, current: 1, retryAfterMs: 0 });
    expect(decisions[3]!.current).toBe(2);
    expect(success).toBe(true);
    expect([engine.tally.read("unrecorded"), engine.tally.read("charged")]).toEqual([1, 3]);
  });

  test("without room are refused where `whenFull` says so", () => {
    const { engine, item } = bare(1, "deny");
    const { success, decisions } = chargeAll(engine, [item("a", 1), item("b", 1)]);
    expect(success).toBe(false);
    expect(decisions[1]).toMatchObject({ success: false, reason: "full", degraded: true });
    expect(decisions[1]!.retryAfterMs).toBeGreaterThan(0);
  });
});
