import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatedEngine } from "../../../../test/support/gated-engine.ts";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { NONE } from "./cell-table.ts";
import { Engine } from "./engine.ts";
import { keyOf } from "./key.ts";
import { decide, decideSlowly } from "./single.ts";
import { TALLY } from "./tally.ts";
import { viewOf } from "./view.ts";

const DURATIONS_MS = [1_000, 60_000];
const IDENTIFIERS = ["a", "b", "c", "d", "e"];
const CELLS_MAX = 4;

interface Step {
  readonly identifier: string;
  readonly durationMs: number;
  readonly limit: number;
  readonly cost: number;
  readonly passMs: number;
  readonly isSettled: boolean;
  readonly mustAsk: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  identifier: fc.constantFrom(...IDENTIFIERS),
  durationMs: fc.constantFrom(...DURATIONS_MS),
  limit: fc.constantFrom(0, 1, 5, 10),
  cost: fc.constantFrom(0, 1, 2, 6, 11),
  passMs: fc.constantFrom(0, 0, 1, 300, 700, 1_000, 59_000, 130_000, -3_000, -70_000),
  isSettled: fc.boolean(),
  mustAsk: fc.boolean(),
});

/** An engine to be asked by one of the two paths; two with the same options are alike. */
function setUp(layers: "none" | "ledger" | "gate", isFast: boolean) {
  const gated = layers === "none" ? null : gatedEngine({ cellsMax: CELLS_MAX, isGated: layers === "gate" });
  const time = gated?.time ?? new ManualTime();
  const bare = { clock: time.clock, random: new SeededRandom(7), cellsMax: CELLS_MAX, whenFull: "allow" } as const;
  const engine = gated?.engine ?? new Engine(bare);
  const ask = ({ identifier, durationMs, limit, cost, passMs, isSettled, mustAsk }: Step) => {
    if (passMs < 0) time.jumpWall(passMs);
    else time.pass(passMs);
    const verdict = isSettled && !mustAsk ? "proceed" : "read";
    if (gated !== null) Object.assign(gated.told, { isSettled, mustAsk, verdict });
    const scope = engine.scopes.find("default", "api", durationMs);
    if (isFast) return decide(engine, scope, identifier, limit, cost, null);
    const { key, h0, h1, h2 } = engine.hashed(scope, identifier);
    const nowMs = engine.clock.nowMs();
    const slot = engine.slotOf(key);
    if (slot !== NONE) engine.touch(slot);
    return decideSlowly(engine, viewOf(engine.table, { key, h0, h1, h2, limit, cost }, slot, nowMs, 0, null));
  };
  /** All that a decision may change. */
  const state = () => ({
    tally: Object.keys(TALLY).map((name) => engine.tally.read(name as keyof typeof TALLY)),
    heard: gated?.heard,
    due: gated === null ? null : [gated.ledger.unreplayed.size, gated.ledger.unpublished.size],
    cells: DURATIONS_MS.flatMap((durationMs) =>
      IDENTIFIERS.map((identifier) => {
        const slot = engine.slotOf(keyOf(engine.scopes.find("default", "api", durationMs), identifier));
        if (slot === NONE) return null;
        const { table } = engine;
        const counts = [table.sequence(slot), table.viewCurrent(slot), table.viewPrevious(slot)];
        return [...counts, table.limitLow(slot), table.lastUse(slot)];
      }),
    ),
  });
  return { ask, state };
}

describe("the fast path", () => {
  test.each(["none", "ledger", "gate"] as const)(
    "answers and counts what the slow path would; layers: %s",
    (layers) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
          const fast = setUp(layers, true);
          const slow = setUp(layers, false);
          for (const one of steps) {
            expect(fast.ask(one)).toEqual(slow.ask(one));
            expect(fast.state()).toEqual(slow.state());
          }
        }),
        { numRuns: 200 },
      );
    },
  );
});

describe("retryAfterMs", () => {
  test("is the first moment at which the same cost fits, if nothing else arrives", () => {
    let denials = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { ask } = setUp("none", true);
        for (const drawn of steps) {
          // Forward only: while a clock is held back, time does not pass at its usual pace.
          const one = { ...drawn, passMs: Math.abs(drawn.passMs) };
          const answer = ask(one)!;
          if (answer.success) expect(answer.retryAfterMs).toBe(0);
          if (answer.reason !== "limit") continue;
          denials++;
          expect(answer.retryAfterMs).toBeGreaterThan(0);
          expect(ask({ ...one, passMs: answer.retryAfterMs - 1 })).toMatchObject({ success: false, retryAfterMs: 1 });
          expect(ask({ ...one, passMs: 1 })).toMatchObject({ success: true, retryAfterMs: 0 });
        }
      }),
      { numRuns: 400 },
    );
    expect(denials).toBeGreaterThan(0);
  });

  test("of a cost above the limit is the rest of the window, though it never fits", () => {
    const { ask } = setUp("none", true);
    const never = { identifier: "a", durationMs: 60_000, limit: 10, cost: 11, isSettled: true, mustAsk: false };
    const first = ask({ ...never, passMs: 15_000 })!;
    expect(first).toMatchObject({ success: false, reason: "cost" });
    expect(ask({ ...never, passMs: first.retryAfterMs })).toMatchObject({ reason: "cost", retryAfterMs: 60_000 });
  });
});
