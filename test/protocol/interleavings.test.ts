/**
 * Random interleavings of the real promises: every request, message and reply may overtake every other one.
 *
 * In each run: no view above the truth and no false denial at any decision; batches count whole or not at all; the origin
 * never has more than was accepted; what close did not report has arrived; every promise settles.
 */
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { byLength, figure } from "../rig/length.ts";
import { type Action, type Fault, InterleavedWorld, KEYS } from "./interleaved-world.ts";

const RUNS = byLength({ fast: 150, short: 700, ci: 3_500, lab: 35_000 });
let runs = 0;

const key = fc.constantFrom(...KEYS);
const by = fc.nat(1);
const limit = fc.record({
  kind: fc.constant("limit" as const),
  by,
  key,
  cost: fc.integer({ min: 0, max: 3 }),
  limit: fc.integer({ min: 2, max: 6 }),
});
const item = fc.record({ key, cost: fc.integer({ min: 0, max: 3 }), limit: fc.integer({ min: 2, max: 6 }) });
const batch = fc.record({
  kind: fc.constant("batch" as const),
  by,
  items: fc.array(item, { minLength: 1, maxLength: 3 }),
});
const advance = fc.record({
  kind: fc.constant("advance" as const),
  ms: fc.constantFrom(1, 51, 120, 310, 2_000, 5_100),
});
const close = fc.record({ kind: fc.constant("close" as const), by });
const fault = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Fault>("none") },
  { weight: 1, arbitrary: fc.constantFrom<Fault>("refused", "deaf") },
);

interface Plan {
  /** What happens first, in order, with messages that travel at once. */
  readonly before: readonly Action[];
  readonly actions: fc.Arbitrary<Action>;
  readonly processes: number;
  readonly faults: fc.Arbitrary<Fault>;
}

const fill: Action = { kind: "limit", by: 0, key: "a", cost: 2, limit: 6 };
const flush: Action = { kind: "advance", ms: 60 };

const PLANS: readonly (readonly [string, Plan])[] = [
  ["cold requests", { before: [], actions: fc.oneof(limit, advance), processes: 2, faults: fc.constant("none") }],
  [
    "limit with an origin that fails",
    { before: [fill, flush], actions: fc.oneof(limit, limit, advance), processes: 2, faults: fault },
  ],
  ["batches", { before: [fill, flush], actions: fc.oneof(batch, batch, limit, advance), processes: 2, faults: fault }],
  [
    "stale cells",
    {
      before: [fill, { ...fill, by: 1 }, { ...fill, key: "b" }, flush, { kind: "advance", ms: 6_000 }],
      actions: fc.oneof(limit, limit, advance),
      processes: 2,
      faults: fc.constant("none"),
    },
  ],
  [
    "strict keys",
    {
      before: [{ ...fill, cost: 3 }, flush, { ...fill, cost: 2, limit: 4 }, { kind: "advance", ms: 5 }],
      actions: fc.oneof(limit, limit, batch, advance),
      processes: 1,
      faults: fault,
    },
  ],
  [
    "closing at any moment",
    { before: [fill], actions: fc.oneof(limit, limit, batch, advance, close), processes: 2, faults: fault },
  ],
];

describe("interleavings", () => {
  test.each(PLANS)(
    "%s: no order of events makes anything wrong",
    async (_, { before, actions, processes, faults }) => {
      const property = fc.asyncProperty(
        fc.scheduler(),
        fc.array(actions, { minLength: 2, maxLength: 6 }),
        fc.array(faults, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        async (scheduler, steps, faultList, isTraced, isNear) => {
          runs++;
          const world = new InterleavedWorld(scheduler, processes, faultList, isTraced, isNear);
          for (const action of before) {
            void world.act(action);
            await world.time.settle();
          }
          world.isWild = true;
          for (const step of steps) void scheduler.schedule(Promise.resolve(), step.kind).then(() => world.act(step));
          await world.finish();
          for (const member of world.members) void world.close(member);
          await world.finish();
          await world.checkEnd();
          expect(world.wrongs).toEqual([]);
          expect(world.time.pending).toBe(0);
        },
      );
      await fc.assert(property, { numRuns: RUNS });
    },
    1_800_000,
  );

  test("workers of one parent: requests one after the other are exact, in whatever order messages arrive", async () => {
    const worker = fc.nat(2);
    // Up to a limit of 10, every allow is near it.
    const fields = { key, cost: fc.integer({ min: 0, max: 3 }), limit: fc.integer({ min: 1, max: 10 }) };
    const single = fc.record({ kind: fc.constant("limit" as const), by: worker, ...fields });
    const items = fc.array(fc.record(fields), { minLength: 1, maxLength: 3 });
    const several = fc.record({ kind: fc.constant("batch" as const), by: worker, items });
    const steps = fc.array(fc.oneof({ weight: 4, arbitrary: single }, several, advance), {
      minLength: 4,
      maxLength: 16,
    });
    const property = fc.asyncProperty(fc.scheduler(), steps, fc.boolean(), async (scheduler, actions, isTraced) => {
      runs++;
      const world = new InterleavedWorld(scheduler, 3, ["none"], isTraced, true);
      world.isWild = true;
      for (const action of actions) {
        const fits = action.kind === "advance" || world.fits(action.kind === "limit" ? [action] : action.items);
        world.isAccepted = true;
        await scheduler.waitFor(world.act(action));
        expect(world.isAccepted).toBe(fits);
      }
      expect([world.wrongs, world.degraded]).toEqual([[], 0]);
    });
    await fc.assert(property, { numRuns: RUNS });
  }, 1_800_000);

  afterAll(() => {
    figure(`interleavings: ${runs} scheduler runs`);
    expect(runs).toBeGreaterThanOrEqual(5 * RUNS);
  });
});
