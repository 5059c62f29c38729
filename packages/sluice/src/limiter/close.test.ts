import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { TroubledCounters, TroubledOrigin } from "../../../../test/support/troubled-stores.ts";
import type { LimiterEvent } from "./events.ts";
import { Limiter } from "./limiter.ts";
import { memoryOrigin } from "./memory-stores.ts";
import type { LimiterOptions } from "./options.ts";

const REQUEST = { namespace: "api", identifier: "user", limit: 100, duration: "1m" } as const;

/** One region on a global store, without an origin unless a test names one. */
function region(options: LimiterOptions = {}, time = new ManualTime()) {
  const counters = new TroubledCounters(time);
  const events: LimiterEvent[] = [];
  const { clock, timers } = time;
  const random = new SeededRandom(7);
  const start = () =>
    new Limiter({
      region: "eu",
      global: counters,
      clock,
      timers,
      random,
      onEvent: (event) => events.push(event),
      ...options,
    });
  const limiter = start();
  /** Closes it, and lets as much time pass as it takes; says how much that was. */
  const close = async (one = limiter) => {
    const beganMs = time.monoMs;
    let tookMs: number | undefined;
    const closing = one.close().then((report) => {
      tookMs = time.monoMs - beganMs;
      return report;
    });
    for (let i = 0; i < 2_000 && tookMs === undefined; i++) await time.advance(10);
    return { ...(await closing), tookMs };
  };
  return { time, counters, events, limiter, start, close };
}

describe("close, with a global store and no origin", () => {
  test("counts below the floor are published, and the region's next process continues from them", async () => {
    // Seen: 99 of 100 were accepted by a region that was alone, so that its floor was the whole limit. close() reported
    // { lost: 0 }, nothing was in the store, and the restarted process admitted 99 again.
    const { time, counters, limiter, start, close } = region();
    await time.advance(5_000);
    for (let i = 0; i < 11; i++) await limiter.limit({ ...REQUEST, cost: 9 });
    await time.advance(2_000);
    expect(counters.rowsOf("eu")).toEqual([]);
    expect(await close()).toMatchObject({ lost: 0 });
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 99 }]);
    const restarted = start();
    await time.advance(5_000);
    expect(restarted.inspect(REQUEST).effective).toBe(99);
    expect((await restarted.limit({ ...REQUEST, cost: 2 })).success).toBe(false);
  });

  test("what an unavailable store did not take is reported, in the event too", async () => {
    const { time, counters, events, limiter, close } = region();
    await time.advance(5_000);
    counters.trouble("failing");
    for (let i = 0; i < 10; i++) await limiter.limit({ ...REQUEST, cost: 9 });
    await time.advance(3_000);
    expect(await close()).toMatchObject({ lost: 90 });
    expect(events.at(-1)).toMatchObject({ kind: "closed", lost: 90 });
    expect(time.pending).toBe(0);
  });

  test("a store that recovers in time gets everything", async () => {
    const { time, counters, limiter, close } = region();
    await limiter.limit({ ...REQUEST, cost: 9 });
    counters.trouble("failing");
    const closing = close();
    await time.advance(4_000);
    counters.heal();
    expect(await closing).toMatchObject({ lost: 0 });
    expect(counters.rowsOf("eu").at(-1)).toMatchObject({ count: 9 });
    expect(time.pending).toBe(0);
  });

  test("a store that does not respond is given up when the time is over", async () => {
    const { time, counters, limiter, close } = region({ closeTimeoutMs: 700 });
    await limiter.limit({ ...REQUEST, cost: 9 });
    counters.trouble("stalled");
    expect(await close()).toEqual({ lost: 9, tookMs: 700 });
    expect(time.pending).toBe(0);
  });

  test("a store whose responses are lost is reported as one that took nothing", async () => {
    const { time, counters, limiter, close } = region();
    await time.advance(2_000);
    await limiter.limit({ ...REQUEST, cost: 9 });
    counters.trouble("deaf");
    expect(await close()).toMatchObject({ lost: 9 });
    expect((await counters.store.read("us", null)).cells).toMatchObject([{ foreign: 9 }]);
  });

  test("only what is missing in the row is lost, in both windows of a key, and of no window that has expired", async () => {
    const { time, counters, limiter, close } = region({ floor: 0 });
    await limiter.limit({ ...REQUEST, cost: 9 });
    await limiter.limit({ ...REQUEST, identifier: "early", cost: 3 });
    await time.advance(2_000);
    counters.trouble("failing");
    await limiter.limit({ ...REQUEST, cost: 4 });
    await time.advance(60_000);
    await limiter.limit({ ...REQUEST, cost: 5 });
    expect(await close()).toMatchObject({ lost: 9 });
    const second = region({ closeTimeoutMs: 100 });
    second.counters.trouble("failing");
    await second.limiter.limit(REQUEST);
    await second.time.advance(120_000);
    expect(await second.close()).toMatchObject({ lost: 0 });
  });

  test("windows that no store could have taken are not part of the report", async () => {
    for (const options of [{ globalDurationMin: 61_000 }, { globalMode: "denials" }] as const) {
      const { counters, limiter, close } = region(options);
      await limiter.limit(REQUEST);
      counters.trouble("failing");
      expect(await close()).toMatchObject({ lost: 0 });
    }
  });

  test("what a previous process of the region left in the row is not lost again", async () => {
    const { time, counters, limiter, start, close } = region();
    await limiter.limit({ ...REQUEST, cost: 9 });
    await close();
    const restarted = start();
    await time.advance(5_000);
    await restarted.limit({ ...REQUEST, cost: 2 });
    counters.trouble("failing");
    expect(await close(restarted)).toMatchObject({ lost: 2 });
  });

  test("a store with nothing to take is not waited for", async () => {
    const { time, counters, limiter, close } = region({ floor: 0 });
    await limiter.limit(REQUEST);
    await time.advance(2_000);
    const before = counters.published.length;
    counters.trouble("failing");
    expect(await close()).toEqual({ lost: 0, tookMs: 0 });
    expect(counters.published).toHaveLength(before);
  });

  test("a row that the store has lost is published again, or reported", async () => {
    const { time, counters, limiter, close } = region({ floor: 0 });
    await limiter.limit({ ...REQUEST, duration: "1h", cost: 9 });
    await time.advance(2_000);
    // The next full import notices that the row is not there.
    counters.read = async () => ({ cells: [], cursor: "0", regionsLive: 1 });
    counters.publish = async () => {
      throw new Error("refused");
    };
    await time.advance(12_000);
    expect(await close()).toMatchObject({ lost: 9 });
  });

  test("twenty thousand keys below the floor are published in calls of at most 512 rows", async () => {
    const { counters, limiter, close } = region({ floor: 0.5 });
    for (let i = 0; i < 20_000; i++) await limiter.limit({ ...REQUEST, identifier: `user_${i}` });
    expect(await close()).toMatchObject({ lost: 0 });
    expect(counters.rowsOf("eu")).toHaveLength(20_000);
    expect(Math.max(...counters.published.map(({ rows }) => rows.length))).toBeLessThanOrEqual(512);
  });

  test("a call that the store refuses does not keep the others from it", async () => {
    const { counters, limiter, close } = region({ floor: 0.5, closeTimeoutMs: 2_000 });
    for (let i = 0; i < 2_000; i++) await limiter.limit({ ...REQUEST, identifier: `user_${i}` });
    const publish = counters.publish.bind(counters);
    counters.publish = (name, rows) =>
      rows.some(({ key }) => key.identifier === "user_0") ? Promise.reject(new Error("refused")) : publish(name, rows);
    const { lost } = await close();
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThanOrEqual(512);
    expect(new Set(counters.rowsOf("eu").map(({ key }) => key.identifier)).size).toBe(2_000 - lost);
  });
});

describe("close, with a global store and an origin", () => {
  test("an origin that outlives the process keeps the counts: the floor holds, and a store that is away loses nothing", async () => {
    const time = new ManualTime();
    const { counters, limiter, close } = region({ origin: new TroubledOrigin(time) }, time);
    await limiter.limit(REQUEST);
    await time.advance(100);
    expect(await close()).toMatchObject({ lost: 0 });
    expect(counters.rowsOf("eu")).toEqual([]);
    const away = region({ origin: new TroubledOrigin(time), closeTimeoutMs: 500 }, time);
    await time.advance(2_000);
    await away.limiter.limit({ ...REQUEST, cost: 100 });
    away.counters.trouble("failing");
    // Tried every 50 ms; the last try would be at the deadline.
    expect(await away.close()).toMatchObject({ lost: 0, tookMs: 450 });
    expect(away.counters.rowsOf("eu")[0]).toMatchObject({ count: 100 });
  });

  test("what such an origin did not take is lost, though it is published regardless of the floor", async () => {
    const time = new ManualTime();
    const origin = new TroubledOrigin(time);
    const { counters, limiter, close } = region({ origin, closeTimeoutMs: 500 }, time);
    await limiter.limit({ ...REQUEST, cost: 7 });
    origin.trouble("failing");
    expect(await close()).toMatchObject({ lost: 7 });
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 7 }]);
  });

  test("an origin in memory ends with its process: everything is published, and what is not is lost", async () => {
    const time = new ManualTime();
    const kept = region({ origin: memoryOrigin({ clock: time.clock }) }, time);
    await kept.limiter.limit({ ...REQUEST, cost: 7 });
    expect(await kept.close()).toMatchObject({ lost: 0 });
    expect(kept.counters.rowsOf("eu")).toMatchObject([{ count: 7 }]);
    const away = region({ origin: memoryOrigin({ clock: time.clock }) }, time);
    await away.limiter.limit({ ...REQUEST, cost: 7 });
    await away.limiter.limit({ ...REQUEST, duration: "1s", cost: 2 });
    away.counters.trouble("failing");
    expect(await away.close()).toMatchObject({ lost: 7 });
  });
});
