/** A suite that runs on every store. Global counters: one grow-only component per region and cell; what is published, imported, and never sent on. */
import fc from "fast-check";
import type { CounterRow } from "sluice";
import { describe, expect, test } from "vitest";
import { keyOf, keyText, MINUTE_MS, type Process, Processes, request } from "../support/processes.ts";

/** Longer than a jittered publish and a jittered import together. */
const ROUND_MS = 2_300;

export function globalCountsSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
  propertyRuns = 25,
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
  readonly propertyRuns?: number;
} = {}): void {
  function setUp(options = {}) {
    const world = makeProcesses();
    const eu = world.startRegion("eu", { floor: 0.1, ...options });
    const us = world.startRegion("us", { floor: 0.1, ...options });
    const cell = ({ limiter }: Process) => limiter.inspect(request()).current;
    const row = (count: number, sequence = world.sequence()): CounterRow => ({
      key: keyOf(),
      sequence,
      count,
      expiresAtMs: (sequence + 2) * MINUTE_MS,
    });
    return { ...world, world, eu, us, cell, row };
  }

  describe(`global counts, ${store}: properties`, () => {
    test("monotonic: an older delayed publish does not move a component backward", async () => {
      const { eu, counters, time, cell, row } = setUp();
      await counters.store.publish("us", [row(7)]);
      await counters.store.publish("us", [row(4)]);
      await time.advance(ROUND_MS);
      expect(cell(eu).foreign).toBe(7);
    });

    test("monotonic: an import from a lagging replica never lowers the foreign count", async () => {
      const world = makeProcesses();
      let foreign = 7;
      const lagging = {
        publish: async () => {},
        read: async () => ({
          cells: [{ key: keyOf(), sequence: world.sequence(), foreign, own: 0 }],
          cursor: "1",
          regionsLive: 2,
        }),
        cleanUp: async () => 0,
        denials: { write: async () => {}, active: async () => [] },
        close: async () => {},
      };
      const { limiter } = world.start({ region: "eu", global: lagging });
      await world.time.advance(1_200);
      foreign = 3;
      await world.time.advance(1_200);
      expect(limiter.inspect(request()).current.foreign).toBe(7);
    });

    test("idempotent: publishing and importing the same value many times is harmless", async () => {
      const { eu, us, counters, time, cell, row } = setUp();
      await eu.ask({ cost: 5 });
      await time.advance(ROUND_MS);
      for (let i = 0; i < 5; i++) {
        await counters.store.publish("eu", [row(5)]);
        await time.advance(ROUND_MS);
      }
      expect([cell(eu).view, cell(us).view]).toEqual([5, 5]);
      expect(cell(us)).toMatchObject({ own: 0, others: 0, foreign: 5 });
    });

    test("commutative and associative: regions that publish and import in any order agree in the end", async () => {
      const step = fc.record({
        region: fc.nat(2),
        cost: fc.integer({ min: 1, max: 5 }),
        afterMs: fc.integer({ min: 0, max: 900 }),
      });
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const world = makeProcesses();
        const regions = ["eu", "us", "ap"].map((region) => world.startRegion(region, { floor: 0 }));
        let accepted = 0;
        for (const { region, cost, afterMs } of steps) {
          accepted += (await regions[region]!.ask({ cost, limit: 1_000 })).success ? cost : 0;
          await world.time.advance(afterMs);
          for (const { limiter } of regions)
            expect(limiter.inspect(request()).current.view).toBeLessThanOrEqual(accepted);
        }
        await world.time.advance(2 * ROUND_MS);
        for (const { limiter } of regions) expect(limiter.inspect(request()).current.view).toBe(accepted);
      });
      await fc.assert(property, { numRuns: propertyRuns });
    });
  });

  describe(`global counts, ${store}: invariants`, () => {
    test("each region owns only its own component", async () => {
      const { eu, us, counters, time } = setUp();
      await eu.ask({ cost: 5 });
      await us.ask({ cost: 3 });
      await time.advance(3 * ROUND_MS);
      for (const { region } of counters.published) expect(["eu", "us"]).toContain(region);
      expect(new Set(counters.rowsOf("eu").map(({ count }) => count))).toEqual(new Set([5]));
      expect(new Set(counters.rowsOf("us").map(({ count }) => count))).toEqual(new Set([3]));
    });

    test("an imported count is read by the request path, and never republished", async () => {
      const { eu, us, counters, time } = setUp();
      await eu.ask({ cost: 6 });
      await time.advance(ROUND_MS);
      expect(await us.ask({ cost: 3 })).toMatchObject({ success: true, current: 9 });
      expect(await us.ask({ cost: 2 })).toMatchObject({ success: false, reason: "limit" });
      for (let i = 0; i < 10; i++) {
        await us.ask({ cost: 1, limit: 1_000 });
        await time.advance(1_000);
      }
      const highest = Math.max(...counters.rowsOf("us").map(({ count }) => count));
      expect(highest).toBe(13);
    });

    test("imports exclude the current region's component: it is no foreign count", async () => {
      const { eu, time, cell } = setUp();
      await eu.ask({ cost: 6 });
      await time.advance(5 * ROUND_MS);
      expect(cell(eu)).toMatchObject({ own: 6, others: 0, foreign: 0, view: 6 });
    });

    test("a region's row counts what its processes accepted together, once", async () => {
      const world = makeProcesses();
      const options = { region: "eu", global: world.counters, floor: 0 };
      const [a, b] = [world.start(options), world.start(options)];
      const other = world.startRegion("us");
      await a.ask({ cost: 3 });
      await b.ask({ cost: 4 });
      await world.time.advance(4_000);
      await a.ask({ cost: 0 });
      await b.ask({ cost: 0 });
      await world.time.advance(2 * ROUND_MS);
      expect(other.limiter.inspect(request()).current.foreign).toBe(7);
    });

    test("a new window has a new set of components: the count starts from nothing, and the old one bleeds as the previous", async () => {
      const { eu, us, time } = setUp();
      await eu.ask({ cost: 8 });
      await time.advance(ROUND_MS);
      await time.advanceToWindow(MINUTE_MS);
      await time.advance(MINUTE_MS / 2);
      expect(us.limiter.inspect(request())).toMatchObject({
        current: { view: 0 },
        previous: { view: 8 },
        previousShare: 4,
      });
    });

    test("an old component stops mattering when it can no longer contribute, and its row is cleaned up", async () => {
      const { eu, counters, time, world } = setUp();
      await eu.ask({ cost: 8 });
      const expiresAtMs = (world.sequence() + 2) * MINUTE_MS;
      await time.advance(ROUND_MS);
      expect(counters.rowsOf("eu")).toMatchObject([{ expiresAtMs }]);
      await time.advance(4 * MINUTE_MS);
      expect(counters.cleanUps).toBeGreaterThan(1);
      expect(await counters.store.cleanUp(time.wallMs, 100)).toBe(0);
    });
  });

  describe(`global counts, ${store}: publish threshold`, () => {
    test("a count below the floor stays regional; at the floor it is published", async () => {
      const { eu, counters, time } = setUp({ floor: 0.5 });
      await eu.ask({ cost: 4 });
      await time.advance(ROUND_MS);
      expect(counters.rowsOf("eu")).toEqual([]);
      await eu.ask();
      await time.advance(ROUND_MS);
      expect(counters.rowsOf("eu")).toMatchObject([{ count: 5 }]);
    });

    test("a count below the floor is published once other regions have counts of that cell", async () => {
      const { eu, us, counters, time } = setUp({ floor: 0.5 });
      await eu.ask();
      await time.advance(ROUND_MS);
      await us.ask({ cost: 6 });
      await time.advance(2 * ROUND_MS);
      expect(counters.rowsOf("eu")).toMatchObject([{ count: 1 }]);
    });

    test("the floor is measured by the lowest limit seen on the cell", async () => {
      const { eu, counters, time } = setUp({ floor: 0.5 });
      await eu.ask({ cost: 4, limit: 1_000 });
      await time.advance(ROUND_MS);
      expect(counters.rowsOf("eu")).toEqual([]);
      await eu.ask({ cost: 0, limit: 6 });
      await eu.ask({ limit: 6 });
      await time.advance(ROUND_MS);
      expect(counters.rowsOf("eu")).toMatchObject([{ count: 5 }]);
    });

    test("without a fixed floor it follows the number of live regions and the error budget", async () => {
      const world = makeProcesses();
      const regions = ["a", "b", "c", "d", "e"].map((name) => world.startRegion(name, { errorBudget: 0.4 }));
      expect(regions[0]!.limiter.stats().global!.floor).toBe(1);
      await world.time.advance(2 * ROUND_MS);
      for (const { limiter } of regions)
        expect(limiter.stats().global).toMatchObject({ regionsLive: 5, floor: 0.4 / 8 });
    });

    test("what did not change is not sent again", async () => {
      const { eu, counters, time } = setUp();
      await eu.ask({ cost: 5 });
      await time.advance(10 * ROUND_MS);
      expect(counters.rowsOf("eu")).toHaveLength(1);
    });

    test("a process whose count its region's row covers already, as last imported, does not send it again", async () => {
      const world = makeProcesses();
      const options = { region: "eu", global: world.counters, floor: 0, publishMs: 20_000, importMs: 500 };
      const { ask } = world.start(options);
      await ask({ cost: 3 });
      const expiresAtMs = (world.sequence() + 2) * MINUTE_MS;
      await world.counters.store.publish("eu", [{ key: keyOf(), sequence: world.sequence(), count: 3, expiresAtMs }]);
      await world.time.advance(30_000);
      expect(world.counters.published.length).toBeGreaterThan(0);
      expect(world.counters.rowsOf("eu")).toEqual([]);
    });

    test("rows go out in calls of at most 512, and every key once", async () => {
      const world = makeProcesses();
      const { ask } = world.startRegion("eu", { floor: 0, cellsMax: 2_000 });
      for (let i = 0; i < 1_300; i++) await ask({ identifier: `id_${(i * 7) % 1_300}` });
      await world.time.advance(1_200);
      const calls = world.counters.published.filter(({ rows }) => rows.length > 0);
      expect(calls.map(({ rows }) => rows.length)).toEqual([511, 511, 278]);
      expect(new Set(calls.flatMap(({ rows }) => rows.map(({ key }) => keyText(key.identifier)))).size).toBe(1_300);
    });
  });

  describe(`global counts, ${store}: failures of the global store`, () => {
    test("lastPublished moves only after success: a publish that failed is sent again", async () => {
      const { eu, us, counters, time, cell } = setUp();
      counters.trouble("failing");
      await eu.ask({ cost: 5 });
      await time.advance(3 * ROUND_MS);
      expect([cell(eu).published, cell(us).foreign]).toEqual([0, 0]);
      counters.heal();
      await time.advance(ROUND_MS);
      expect([cell(eu).published, cell(us).foreign]).toEqual([5, 5]);
    });

    test("global import lags: the region continues with its existing imported counts", async () => {
      const { eu, us, counters, time } = setUp();
      await eu.ask({ cost: 6 });
      await time.advance(ROUND_MS);
      for (const trouble of ["failing", "stalled", "deaf"] as const) {
        counters.trouble(trouble);
        await time.advance(5_000);
        expect(us.askNow({ cost: 5 })).toMatchObject({ success: false });
        counters.heal();
      }
      expect(us.limiter.stats().global!.roundsFailed).toBeGreaterThan(0);
    });

    test("a request never waits for the global layer", async () => {
      const { eu, counters, time } = setUp();
      await eu.ask();
      await time.advance(50);
      counters.trouble("stalled");
      await time.advance(2_900);
      expect(eu.askNow({ cost: 2 })).toMatchObject({ success: true, degraded: false, source: "local" });
    });

    test("a store that lost its rows is told again", async () => {
      const world = makeProcesses();
      const eu = world.startRegion("eu", { floor: 0 });
      await eu.ask({ cost: 5, duration: "1h" });
      await world.time.advance(ROUND_MS);
      world.loseCounters();
      await world.time.advance(90_000);
      const late = world.startRegion("us");
      await world.time.advance(ROUND_MS);
      expect(late.limiter.inspect(request({ duration: "1h" })).current.foreign).toBe(5);
    });
  });
}
