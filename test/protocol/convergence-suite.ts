/**
 * A suite that runs on every store. Convergence within a region: cold, stale and fresh cells, replay. Failures:
 * origin-failures-suite.ts.
 */
import { describe, expect, test } from "vitest";
import { FLUSH_MS, FRESH_MS, keyText, MINUTE_MS, Processes, request } from "../support/processes.ts";

export function convergenceSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
} = {}): void {
  /** A world whose one process knows its key: it has accepted 1, and both cells are fresh. */
  async function warm(options = {}) {
    const world = makeProcesses();
    const process = world.start(options);
    await process.ask();
    await world.time.advance(FLUSH_MS);
    return { world, process, ...world };
  }

  describe(`convergence, ${store}: regional convergence`, () => {
    test("a cold counter reads the origin synchronously before its first decision", async () => {
      const world = makeProcesses();
      await world.origin.accept(keyText(), world.sequence(), 9);
      const { ask, askNow } = world.start();
      const answer = await ask();
      expect(answer).toMatchObject({ success: true, current: 10, remaining: 0, source: "origin", degraded: false });
      expect(world.origin.reads).toHaveLength(1);
      expect(askNow()).toMatchObject({ success: false, reason: "limit" });
    });

    test("the first read brings the current and the previous window in one round trip", async () => {
      const world = makeProcesses();
      await world.time.advance(30_000);
      await world.origin.accept(keyText(), world.sequence(), 3);
      await world.origin.accept(keyText(), world.sequence() - 1, 8);
      expect(await world.start().ask()).toMatchObject({ current: 3 + 4 + 1 });
      const writer = expect.any(String);
      expect(world.origin.reads).toEqual([
        [world.sequence(), world.sequence() - 1].map((sequence) => ({ key: keyText(), sequence, writer })),
      ]);
    });

    test("while an entry is fresh, the request path uses local memory without blocking on the origin", async () => {
      const { process, origin, time } = await warm();
      origin.reads.length = 0;
      for (let i = 0; i < 5; i++) {
        expect(process.askNow()).toMatchObject({ success: true, source: "local", degraded: false });
        await time.advance(FRESH_MS / 10);
      }
      expect(origin.reads).toEqual([]);
    });

    test("after the freshness deadline the next request refreshes from the origin before deciding", async () => {
      const { process, origin, time, world } = await warm();
      await time.advance(MINUTE_MS / 2);
      origin.reads.length = 0;
      await origin.accept(keyText(), world.sequence(), 8);
      expect(process.askNow()).toBeUndefined();
      await time.settle();
      expect(process.limiter.inspect(request()).current).toMatchObject({ own: 2, others: 8 });
      expect(origin.reads).toHaveLength(1);
    });

    test("the freshness deadline is a twentieth of the window, from 50 ms to 5 s", async () => {
      for (const [duration, freshMs] of [
        [1_000, 50],
        [20_000, 1_000],
        [60_000, 3_000],
        [3_600_000, 5_000],
      ] as const) {
        const world = makeProcesses();
        // So long a flush interval that only the read makes it fresh; a window that is not young.
        const { ask, askNow } = world.start({ flushMs: 1_000 });
        await world.time.advance(duration / 2);
        await ask({ duration });
        world.time.pass(freshMs - 1);
        expect(askNow({ duration })).toMatchObject({ success: true });
        world.time.pass(1);
        expect(askNow({ duration })).toBeUndefined();
      }
    });

    test("a window younger than the freshness interval needs no read while its previous cell is fresh", async () => {
      const { process, origin, time } = await warm();
      await time.advance(MINUTE_MS - 1_000);
      await process.ask();
      await time.advance(FLUSH_MS);
      await time.advanceToWindow(MINUTE_MS);
      origin.reads.length = 0;
      time.pass(FRESH_MS / 2);
      expect(process.askNow()).toMatchObject({ success: true, degraded: false });
      expect(origin.reads).toEqual([]);
    });

    test("a young window whose previous cell is cold or stale is read first", async () => {
      // Seen: an idle process let a whole limit pass at the start of a window, on a previous cell that it had last heard of
      // forty seconds before.
      const { process, origin, time, world } = await warm();
      await origin.accept(keyText(), world.sequence(), 9);
      await time.advanceToWindow(MINUTE_MS);
      time.pass(100);
      expect(await process.ask({ cost: 5 })).toMatchObject({ success: false });
      expect(process.limiter.inspect(request()).previous).toMatchObject({ own: 1, others: 9 });
      await time.advance(5 * MINUTE_MS);
      expect(process.askNow()).toBeUndefined();
    });

    test("after a request is accepted its total is replayed within a flush interval", async () => {
      const { process, origin, time, world } = await warm();
      process.askNow({ cost: 4 });
      await time.advance(FLUSH_MS);
      expect(await origin.sum(keyText(), world.sequence())).toBe(5);
    });

    test("ten thousand requests to one cell cost one command", async () => {
      const { process, origin, time, world } = await warm();
      const before = origin.cellsRaised().length;
      for (let i = 0; i < 10_000; i++) process.askNow({ limit: 100_000 });
      await time.advance(FLUSH_MS);
      expect(origin.cellsRaised().length - before).toBe(1);
      expect(await origin.sum(keyText(), world.sequence())).toBe(10_001);
    });

    test("a successful replay extends the freshness deadline: an active identifier never waits", async () => {
      const { process, origin, time } = await warm();
      origin.reads.length = 0;
      for (let i = 0; i < 40; i++) {
        await time.advance(1_000);
        expect(process.askNow({ limit: 1_000 })).toMatchObject({ success: true, degraded: false });
      }
      expect(origin.reads).toEqual([]);
    });

    test("replay merges the regional value back into local memory with max", async () => {
      const { process, origin, time, world } = await warm();
      await origin.accept(keyText(), world.sequence(), 4);
      process.askNow();
      await time.advance(FLUSH_MS);
      expect(process.limiter.inspect(request()).current).toMatchObject({ own: 2, others: 4, view: 6 });
      // The origin forgets what the others had: what this process has heard stays.
      await origin.lose();
      process.askNow();
      await time.advance(FLUSH_MS);
      expect(process.limiter.inspect(request()).current).toMatchObject({ own: 3, others: 4 });
    });

    test("processes of one region converge without waiting on every request", async () => {
      const world = makeProcesses();
      const [a, b] = [world.start(), world.start()];
      await Promise.all([a.ask(), b.ask()]);
      for (let i = 0; i < 3; i++) {
        a.askNow();
        b.askNow();
        await world.time.advance(2 * FLUSH_MS);
      }
      // Whoever flushed first has not heard the other's last one yet; a read once it is stale brings it.
      for (const { limiter } of [a, b]) expect(limiter.inspect(request()).current.view).toBeGreaterThanOrEqual(7);
      await world.time.advance(FRESH_MS);
      for (const { ask } of [a, b]) expect(await ask({ cost: 3 })).toMatchObject({ success: false, current: 11 });
    });

    test("concurrent stale requests for one cell share one origin read, then continue from the same value", async () => {
      const { process, origin, time, world } = await warm();
      await time.advance(MINUTE_MS / 2);
      await origin.accept(keyText(), world.sequence(), 7);
      origin.reads.length = 0;
      const answers = await Promise.all(Array.from({ length: 5 }, () => process.ask()));
      expect(origin.reads).toHaveLength(1);
      expect(answers.map(({ success }) => success)).toEqual([true, true, false, false, false]);
      expect(answers.slice(0, 2)).toMatchObject([{ current: 9 }, { current: 10 }]);
    });

    test("a batch reads all its cells at once", async () => {
      const world = makeProcesses();
      const { limiter } = world.start();
      const requests = ["a", "b", "c", "a"].map((identifier) => request({ identifier }));
      expect(await limiter.limitMany(requests)).toMatchObject({ success: true });
      expect(world.origin.reads).toHaveLength(1);
      expect(new Set(world.origin.reads[0]!.map(({ key }) => key)).size).toBe(3);
      expect(world.origin.reads[0]).toHaveLength(6);
    });

    test("a peek makes no cell here and no key in the origin", async () => {
      const world = makeProcesses();
      await world.origin.accept(keyText(), world.sequence(), 10);
      const { ask, limiter } = world.start();
      expect(await ask({ cost: 0, limit: 9 })).toMatchObject({ success: false, reason: "limit" });
      expect(await ask({ cost: 0, limit: 11 })).toMatchObject({ success: true, current: 10, remaining: 1 });
      await world.time.advance(1_000);
      expect([limiter.stats().cells.live, world.origin.cellsRaised()]).toEqual([0, []]);
    });

    test("own-region imports only raise the count, and do not refresh the freshness deadline", async () => {
      const world = makeProcesses();
      const { ask, askNow, limiter } = world.start({ region: "eu", global: world.counters, flushMs: 1_000 });
      await world.time.advance(MINUTE_MS / 2);
      await ask();
      const key = { workspace: "default", namespace: "api", identifier: "user_42", durationMs: MINUTE_MS as never };
      const row = { key, sequence: world.sequence(), expiresAtMs: world.time.wallMs + 2 * MINUTE_MS };
      await world.counters.store.publish("eu", [{ ...row, count: 6 }]);
      world.time.pass(FRESH_MS - 1_200);
      await world.time.advance(1_100);
      expect(limiter.inspect(request()).current).toMatchObject({ own: 1, others: 5, foreign: 0 });
      world.origin.trouble("stalled", "raises");
      await world.counters.store.publish("eu", [{ ...row, count: 7 }]);
      await world.time.advance(FRESH_MS + 2_000);
      await world.counters.store.publish("eu", [{ ...row, count: 8 }]);
      await world.time.advance(1_100);
      expect(limiter.inspect(request()).current.others).toBe(7);
      expect(askNow()).toBeUndefined();
    });

    test("a count that was already passed on is no reason for a second owner: the truth is counted once", async () => {
      const world = makeProcesses();
      const processes = [world.start(), world.start(), world.start()];
      let accepted = 0;
      for (let i = 0; i < 30; i++) {
        for (const { ask } of processes) accepted += (await ask({ limit: 40 })).success ? 1 : 0;
        await world.time.advance(30);
      }
      await world.time.advance(1_000);
      expect(await world.origin.sum(keyText(), world.sequence())).toBe(accepted);
      for (const { limiter } of processes)
        expect(limiter.inspect(request()).current.view).toBeLessThanOrEqual(accepted);
    });
  });

  describe(`convergence, ${store}: global convergence`, () => {
    /** Longer than a jittered publish and a jittered import together. */
    const ROUND_MS = 2_300;

    /** Two processes of one region, and one of another. */
    function setUp() {
      const world = makeProcesses();
      const eu = { region: "eu", global: world.counters, floor: 0.5 };
      return {
        world,
        time: world.time,
        a: world.start(eu),
        b: world.start(eu),
        us: world.startRegion("us", { floor: 0.5 }),
      };
    }

    test("a region's nodes converge, it publishes its regional count, and another region includes that in later decisions", async () => {
      const { world, time, a, b, us } = setUp();
      await a.ask({ cost: 2 });
      await time.advance(2 * FLUSH_MS);
      await b.ask({ cost: 2 });
      await time.advance(ROUND_MS);
      // Four of ten are not worth telling yet.
      expect(world.counters.rowsOf("eu")).toEqual([]);
      expect(await us.ask({ cost: 0 })).toMatchObject({ current: 0 });
      await a.ask({ cost: 3 });
      await time.advance(2 * ROUND_MS);
      expect(Math.max(...world.counters.rowsOf("eu").map(({ count }) => count))).toBe(7);
      expect(await us.ask({ cost: 3 })).toMatchObject({ success: true, current: 10 });
      expect(await us.ask()).toMatchObject({ success: false, reason: "limit" });
    });

    test("simultaneous traffic in two regions passes briefly, until each has imported the other's", async () => {
      const { time, a, us } = setUp();
      for (const { limiter } of [a, us]) expect(await limiter.ready()).toBe(true);
      expect(await a.ask({ cost: 8 })).toMatchObject({ success: true, degraded: false });
      expect(await us.ask({ cost: 8 })).toMatchObject({ success: true, degraded: false });
      await time.advance(ROUND_MS);
      for (const { ask } of [a, us]) expect(await ask()).toMatchObject({ success: false, current: 17 });
    });

    test("windows shorter than 60 seconds stay regional, longer ones do not", async () => {
      const { time, a, us } = setUp();
      for (const duration of ["59s", "60s"] as const) await a.ask({ cost: 8, duration });
      await time.advance(ROUND_MS);
      expect(await us.ask({ cost: 8, duration: "59s" })).toMatchObject({ success: true, current: 8 });
      expect(await us.ask({ cost: 8, duration: "60s" })).toMatchObject({ success: false, current: 16 });
    });
  });
}
