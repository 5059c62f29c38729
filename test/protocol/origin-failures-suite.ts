/**
 * A suite that runs on every store. Failures of a region: reads and replays that fail, an origin that loses data, the breaker.
 */
import { describe, expect, test } from "vitest";
import { FLUSH_MS, FRESH_MS, keyText, MINUTE_MS, Processes, request } from "../support/processes.ts";

export function originFailuresSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
} = {}): void {
  /** A process that has accepted 3, replayed, in the middle of a window; then gone stale. */
  async function stale(options = {}) {
    const world = makeProcesses();
    const process = world.start(options);
    await world.time.advance(MINUTE_MS / 4);
    await process.ask({ cost: 3 });
    await world.time.advance(FLUSH_MS + FRESH_MS);
    world.origin.reads.length = 0;
    return { world, process, origin: world.origin, time: world.time };
  }

  describe(`convergence, ${store}: a regional read fails`, () => {
    test("the process continues from its local count, and says that it is degraded", async () => {
      const { process, origin } = await stale();
      origin.trouble("failing");
      expect(await process.ask()).toMatchObject({ success: true, current: 4, degraded: true, source: "local" });
      expect(process.limiter.stats().decisions.degraded).toBe(1);
    });

    test("a cold cell too is decided locally", async () => {
      const world = makeProcesses();
      world.origin.trouble("failing");
      const { ask } = world.start();
      const answers = [await ask({ limit: 2 }), await ask({ limit: 2 }), await ask({ limit: 2 })];
      expect(answers).toMatchObject([
        { success: true, degraded: true },
        { success: true, degraded: true },
        { success: false, degraded: false },
      ]);
    });

    test("a failed read leaves the counts, and does not make the local entry fresh", async () => {
      const { process, origin, time } = await stale();
      await origin.accept(keyText(), Math.floor(time.wallMs / MINUTE_MS), 2);
      await process.ask();
      origin.trouble("failing", "reads");
      await time.advance(FRESH_MS * 2);
      await process.ask({ cost: 0 });
      expect(process.limiter.inspect(request()).current).toMatchObject({ own: 4, others: 2, view: 6 });
      origin.trouble("none");
      await time.advance(300);
      expect(process.askNow({ cost: 0 })).toBeUndefined();
    });

    test("a failed read is tried again after 300 ms, and not before", async () => {
      const { process, origin, time } = await stale();
      origin.trouble("failing");
      await process.ask();
      expect(origin.reads).toHaveLength(1);
      await time.advance(299);
      expect(await process.ask()).toMatchObject({ degraded: true });
      expect(origin.reads).toHaveLength(1);
      await time.advance(1);
      await process.ask();
      expect(origin.reads).toHaveLength(2);
    });

    test("nobody waits longer than the read timeout", async () => {
      for (const readTimeoutMs of [300, 80]) {
        const { process, origin, time } = await stale({ readTimeoutMs });
        origin.trouble("stalled");
        let answer: unknown;
        void process.ask().then((decision) => {
          answer = decision;
        });
        await time.advance(readTimeoutMs - 1);
        expect(answer).toBeUndefined();
        await time.advance(1);
        expect(answer).toMatchObject({ success: true, degraded: true });
      }
    });

    test.each([
      ["nothing", undefined],
      ["too few", [{ sum: 1, component: 1 }]],
      ["no numbers", ["1", null].map((sum) => ({ sum, component: 0 }))],
      [
        "negative ones",
        [
          { sum: -1, component: -1 },
          { sum: 0, component: 0 },
        ],
      ],
      [
        "a component above the sum",
        [
          { sum: 1, component: 2 },
          { sum: 0, component: 0 },
        ],
      ],
      [
        "fractions",
        [
          { sum: 1.5, component: 0 },
          { sum: 0, component: 0 },
        ],
      ],
    ])("an origin that answers %s is as good as away", async (_, answer) => {
      const world = makeProcesses();
      const junk = { raise: async () => answer as never, read: async () => answer as never, close: async () => {} };
      const { ask, limiter } = world.start({ origin: junk });
      expect(await ask()).toMatchObject({ success: true, current: 1, degraded: true });
      await world.time.advance(1_000);
      expect(limiter.stats().origin).toMatchObject({ unreplayed: 1 });
      expect(limiter.stats().origin!.junk).toBeGreaterThan(0);
    });
  });

  describe(`convergence, ${store}: regional replay lags`, () => {
    test("the cell stays dirty, and everything arrives after the return", async () => {
      const { process, origin, time, world } = await stale();
      origin.trouble("failing");
      for (let i = 0; i < 5; i++) {
        await process.ask();
        await time.advance(FLUSH_MS);
      }
      expect(await origin.sum(keyText(), world.sequence())).toBe(3);
      expect(process.limiter.stats().origin!.unreplayed).toBe(1);
      origin.heal();
      await time.advance(2_000);
      expect(await origin.sum(keyText(), world.sequence())).toBe(8);
      expect(process.limiter.stats().origin!.unreplayed).toBe(0);
    });

    test("other nodes converge later, or refresh when their local entry becomes stale", async () => {
      const { process, origin, time, world } = await stale();
      const other = world.start();
      await other.ask();
      origin.trouble("stalled", "raises");
      await process.ask({ cost: 4 });
      await time.advance(200);
      expect(other.limiter.inspect(request()).current.view).toBe(4);
      origin.heal();
      await time.advance(FRESH_MS * 2);
      expect(await other.ask({ cost: 0 })).toMatchObject({ current: 8 });
    });

    test("a raise whose reply is lost is sent again and counted once", async () => {
      const { process, origin, time, world } = await stale();
      origin.trouble("deaf", "raises");
      await process.ask({ cost: 4 });
      await time.advance(4 * FLUSH_MS);
      origin.heal();
      await time.advance(4 * FLUSH_MS);
      expect(await origin.sum(keyText(), world.sequence())).toBe(7);
      expect(process.limiter.inspect(request()).current).toMatchObject({ own: 7, others: 0, replayed: 7 });
    });
  });

  describe(`convergence, ${store}: an origin that loses data`, () => {
    test("restarted empty: every live cell is raised again within two flush intervals, also those nobody asks about", async () => {
      const { process, origin, time, world } = await stale();
      const identifiers = Array.from({ length: 20 }, (_, i) => `id_${i}`);
      for (const identifier of identifiers) await process.ask({ identifier, cost: 2 });
      await time.advance(5 * FLUSH_MS);
      await origin.lose();
      await time.advance(2 * FLUSH_MS);
      const sums = await Promise.all(
        identifiers.map((identifier) => origin.sum(keyText(identifier), world.sequence())),
      );
      expect(sums).toEqual(identifiers.map(() => 2));
      expect(await origin.sum(keyText(), world.sequence())).toBe(3);
      expect(process.limiter.stats().origin!.losses).toBe(1);
    });

    test("the previous window is raised again too", async () => {
      const { origin, time, world } = await stale();
      await time.advanceToWindow(MINUTE_MS);
      await origin.lose();
      await time.advance(2 * FLUSH_MS);
      expect(await origin.sum(keyText(), world.sequence() - 1)).toBe(3);
    });

    test("restarted empty while it was away for any number of flushes: noticed at its return", async () => {
      for (const flushesOk of [1, 2, 3]) {
        for (const flushesAway of [1, 2, 3, 4]) {
          const world = makeProcesses();
          const { ask } = world.start();
          await ask();
          await world.time.advance(flushesOk * FLUSH_MS);
          world.origin.trouble("failing");
          await world.origin.lose();
          await world.time.advance(flushesAway * FLUSH_MS);
          world.origin.heal();
          await world.time.advance(3 * FLUSH_MS);
          expect([flushesOk, flushesAway, await world.origin.sum(keyText(), world.sequence())]).toEqual([
            flushesOk,
            flushesAway,
            1,
          ]);
        }
      }
    });

    test("lost twice in a row, with a flush that failed in between: noticed both times", async () => {
      const { process, origin, time, world } = await stale();
      await time.advance(4 * FLUSH_MS);
      await origin.lose();
      await time.advance(FLUSH_MS);
      for (const away of [1, 2, 1]) {
        origin.trouble("failing");
        await origin.lose();
        await time.advance(away * FLUSH_MS);
        origin.heal();
        await time.advance(2 * FLUSH_MS);
      }
      await time.advance(FLUSH_MS);
      expect(await origin.sum(keyText(), world.sequence())).toBe(3);
      expect(process.limiter.inspect(request()).current.own).toBe(3);
    });

    test("a refresh of a cell that the origin has lost brings it back, or makes it dirty again", async () => {
      const { process, origin, time, world } = await stale();
      origin.trouble("failing", "raises");
      await origin.lose();
      await process.ask({ cost: 0 });
      const isBack = (await origin.sum(keyText(), world.sequence())) === 3;
      expect(isBack || process.limiter.stats().origin!.unreplayed === 1).toBe(true);
      origin.heal();
      await time.advance(2_000);
      expect(await origin.sum(keyText(), world.sequence())).toBe(3);
    });
  });

  describe(`convergence, ${store}: an origin that does not keep what it is told`, () => {
    test("what a refresh sent along is not taken as replayed, and close reports it", async () => {
      const world = makeProcesses();
      const forgetful = (list: readonly unknown[]) => Promise.resolve(list.map(() => ({ sum: 0, component: 0 })));
      const { ask, limiter } = world.start({ origin: { raise: forgetful, read: forgetful, close: async () => {} } });
      await world.time.advance(MINUTE_MS / 4);
      await ask({ cost: 3 });
      await world.time.advance(2 * FRESH_MS);
      await ask({ cost: 0 });
      expect(limiter.inspect(request()).current).toMatchObject({ own: 3, replayed: 0 });
      const closing = limiter.close();
      await world.time.advance(10_000);
      expect(await closing).toEqual({ lost: 3 });
    });
  });

  describe(`convergence, ${store}: the breaker around the origin`, () => {
    /** Twenty keys, each asked once, every read failing. */
    async function broken() {
      const world = makeProcesses();
      const process = world.start({ flushMs: 1_000 });
      world.origin.trouble("failing");
      for (let i = 0; i < 20; i++) await process.ask({ identifier: `id_${i}` });
      world.origin.reads.length = 0;
      return { world, process, origin: world.origin, time: world.time };
    }

    test("open, requests are decided locally at once, without waiting, and say so", async () => {
      const { process, origin } = await broken();
      expect(process.limiter.stats().origin!.breaker).toBe("open");
      expect(process.askNow({ identifier: "new" })).toMatchObject({ success: true, degraded: true, source: "local" });
      expect(origin.reads).toEqual([]);
    });

    test("after a second one request probes; the others do not wait for it", async () => {
      const { process, origin, time } = await broken();
      time.pass(999);
      expect(process.askNow({ identifier: "new" })).toMatchObject({ degraded: true });
      time.pass(1);
      expect(process.askNow({ identifier: "probe" })).toBeUndefined();
      expect(process.askNow({ identifier: "other" })).toMatchObject({ degraded: true });
      await time.settle();
      expect(origin.reads).toHaveLength(1);
    });

    test("a probe that succeeds closes it: decisions rest on the origin again", async () => {
      const { process, origin, time } = await broken();
      origin.heal();
      time.pass(1_000);
      await process.ask({ identifier: "probe" });
      expect(process.limiter.stats().origin).toMatchObject({ breaker: "closed", breakerOpened: 1 });
      expect(await process.ask({ identifier: "next" })).toMatchObject({ degraded: false, source: "origin" });
    });
  });
}
