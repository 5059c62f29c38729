/** Limits that an operator changes in mid-window: what the other regions learn of it, and what is reported as over-admission. */
import { describe, expect, test } from "vitest";
import { MINUTE_MS, Processes, request } from "../../../../test/support/processes.ts";
import type { LimitRequest } from "../limiter/request.ts";

/** Longer than a jittered publish and a jittered import together. */
const ROUND_MS = 2_300;

/** Two regions that know of each other: the floor is 0.01 of a limit. */
async function twoRegions() {
  const world = new Processes();
  const eu = world.startRegion("eu");
  const us = world.startRegion("us");
  await world.time.advance(ROUND_MS);
  return { world, time: world.time, counters: world.counters, eu, us };
}

/** Ten milliseconds into it: jittered rhythms leave fractions of one behind. */
async function nextWindow(time: Processes["time"]): Promise<void> {
  await time.advanceToWindow(MINUTE_MS);
  await time.advance(10);
}

describe("a limit that is lowered", () => {
  // Seen: eu had accepted 9000 of a million, which is below its floor. The limit became 100. eu denied, and published nothing; us still allowed 100.
  test.each<[string, Partial<LimitRequest>]>([
    ["a denial", { limit: 100 }],
    ["a denial of a cost above the limit", { limit: 100, cost: 101 }],
    ["a peek", { limit: 9_001, cost: 0 }],
  ])("is known to the other regions after %s under it", async (_, fields) => {
    const { time, counters, eu, us } = await twoRegions();
    await eu.ask({ limit: 1_000_000, cost: 9_000 });
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toEqual([]);
    await eu.ask(fields);
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 9_000 }]);
    expect(await us.ask({ limit: 100 })).toMatchObject({ success: false, reason: "limit" });
  });

  test("is known after a batch that failed under it", async () => {
    const { time, counters, eu } = await twoRegions();
    await eu.ask({ limit: 1_000_000, cost: 9_000 });
    await eu.limiter.limitMany([request({ limit: 100 }), request({ limit: 100, identifier: "another" })]);
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 9_000 }]);
  });

  test("is known in the next window too, where the count is the previous window's", async () => {
    const { time, counters, eu, us } = await twoRegions();
    await eu.ask({ limit: 1_000_000, cost: 9_000 });
    await nextWindow(time);
    expect(counters.rowsOf("eu")).toEqual([]);
    // floor(9000 * 59990 / 60000) of the window before, and 1.
    expect(await eu.ask({ limit: 100 })).toMatchObject({ success: false, current: 8_999 });
    expect(eu.limiter.inspect(request())).toMatchObject({ current: { own: 0 }, previous: { own: 9_000 } });
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 9_000 }]);
    expect(await us.ask({ limit: 100 })).toMatchObject({ success: false, reason: "limit" });
  });

  test("is known even if another process of the region had accepted the count", async () => {
    const { world, time, counters, eu } = await twoRegions();
    await eu.ask({ limit: 1_000_000, cost: 9_000 });
    await time.advance(100);
    const second = world.start({ region: "eu", origin: eu.origin, global: counters });
    await time.settle();
    expect(await second.ask({ limit: 100 })).toMatchObject({ success: false, source: "origin" });
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toContainEqual(expect.objectContaining({ count: 9_000 }));
  });

  test("a ban publishes nothing: under a limit of 0 no count matters", async () => {
    const { time, counters, eu } = await twoRegions();
    await eu.ask({ limit: 1_000_000, cost: 9_000 });
    expect(await eu.ask({ limit: 0 })).toMatchObject({ success: false, reason: "cost" });
    await time.advance(ROUND_MS);
    expect(counters.rowsOf("eu")).toEqual([]);
  });
});

describe("over-admission, of a limit that changes", () => {
  const over = async (ask: (world: Awaited<ReturnType<typeof twoRegions>>) => Promise<void>) => {
    const world = await twoRegions();
    await ask(world);
    await world.time.advanceToWindow(MINUTE_MS);
    await world.time.advance(12_000);
    return world.eu.limiter.stats().global?.overAdmission;
  };

  // Seen: 10 accepted of 10, then 490 more of 1000, were reported as 4900 % over the limit.
  test("a raised limit is not reported", async () => {
    const told = await over(async ({ eu }) => {
      await eu.ask({ limit: 10, cost: 10 });
      await eu.ask({ limit: 1_000, cost: 490 });
    });
    expect(told).toEqual({ api: { cells: 1, cellsOver: 0, excess: 0, limits: 1_000 } });
  });

  test("a lowered limit is not reported: what was accepted before fitted", async () => {
    const told = await over(async ({ eu }) => {
      await eu.ask({ limit: 1_000, cost: 500 });
      await eu.ask({ limit: 10 });
    });
    expect(told).toEqual({ api: { cells: 1, cellsOver: 0, excess: 0, limits: 1_000 } });
  });

  test("what both regions accepted over the limit is reported", async () => {
    const told = await over(async ({ eu, us }) => {
      await Promise.all([eu.ask({ limit: 10, cost: 8 }), us.ask({ limit: 10, cost: 8 })]);
    });
    expect(told).toEqual({ api: { cells: 1, cellsOver: 1, excess: 6, limits: 10 } });
  });

  test("a window is judged by its own limit, whatever the next one accepts under", async () => {
    const world = await twoRegions();
    await Promise.all([world.eu.ask({ limit: 10, cost: 8 }), world.us.ask({ limit: 10, cost: 8 })]);
    await nextWindow(world.time);
    await world.eu.ask({ limit: 1_000, cost: 100 });
    await world.time.advance(12_000);
    const told = world.eu.limiter.stats().global?.overAdmission;
    expect(told).toEqual({ api: { cells: 1, cellsOver: 1, excess: 6, limits: 10 } });
  });
});
