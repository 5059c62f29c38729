/** A suite that runs on every store. Strict mode: after a denial, an allow needs a new read of the origin. */

import type { BatchDecision, Decision } from "sluice";
import { describe, expect, test } from "vitest";
import { FLUSH_MS, FRESH_MS, keyText, MINUTE_MS, Processes, request } from "../support/processes.ts";

export function strictModeSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
} = {}): void {
  /** A process whose key has 9 of 10 and was just denied a cost of 2. Everything is replayed. */
  async function denied(options = {}) {
    const world = makeProcesses();
    const process = world.start(options);
    await process.ask({ cost: 9 });
    await world.time.advance(FLUSH_MS);
    expect(process.askNow({ cost: 2 })).toMatchObject({ success: false, reason: "limit" });
    world.origin.reads.length = 0;
    return { world, process, origin: world.origin, time: world.time };
  }

  describe(`convergence, ${store}: strict mode`, () => {
    test("a denial does no I/O", async () => {
      const { process, origin, time } = await denied();
      for (let i = 0; i < 10; i++) expect(process.askNow({ cost: 2 })).toMatchObject({ success: false });
      await time.settle();
      expect(origin.reads).toEqual([]);
    });

    test("a denial does no I/O even if the cell is stale", async () => {
      const { process, origin, time } = await denied();
      await time.advance(FRESH_MS * 3);
      expect(process.askNow({ cost: 2 })).toMatchObject({ success: false, degraded: false });
      expect(origin.reads).toEqual([]);
    });

    test("after a denial each allow first refreshes the current window from the origin", async () => {
      const { process, origin, world } = await denied();
      await origin.accept(keyText(), world.sequence(), 1);
      expect(process.askNow({ limit: 11 })).toBeUndefined();
      await world.time.settle();
      expect(origin.reads).toHaveLength(1);
      const answer = await process.ask({ limit: 12 });
      expect(answer).toMatchObject({ success: true, current: 12, source: "origin", degraded: false });
      expect(origin.reads.length).toBeGreaterThanOrEqual(2);
    });

    test("a strict read that shows a full window denies", async () => {
      const { process, origin, world } = await denied();
      await origin.accept(keyText(), world.sequence(), 1);
      expect(await process.ask()).toMatchObject({ success: false, reason: "limit", source: "origin" });
    });

    test("a read suffices for the request that began it, though its key is denied while it is under way", async () => {
      const { process, origin, time } = await denied();
      origin.trouble("stalled", "reads");
      const asked = process.ask({ limit: 100 });
      await time.advance(20);
      expect(process.askNow({ cost: 2 })).toMatchObject({ success: false });
      await time.advance(20);
      origin.heal();
      expect(await asked).toMatchObject({ success: true, degraded: false, source: "origin" });
      expect(origin.reads).toHaveLength(1);
    });

    test("a flood of denials neither degrades the others' allows nor makes any of them wait for a second read", async () => {
      // Seen with 3 ms to a healthy Redis: one client sent costs that do not fit, and of 70 allows to the others 69 were degraded, after
      // four reads each. A read had to begin after the key's last denial, and there was always a later one.
      const { process, origin, time } = await denied();
      const answers: Promise<Decision>[] = [];
      const batches: Promise<BatchDecision>[] = [];
      for (let i = 0; i < 40; i++) {
        origin.trouble("stalled", "reads");
        answers.push(process.ask({ limit: 100_000 }));
        batches.push(process.limiter.limitMany([request({ limit: 100_000 }), request({ identifier: `new_${i}` })]));
        for (let denial = 0; denial < 3; denial++) {
          await time.advance(1);
          expect(process.askNow({ cost: 2 })).toMatchObject({ success: false });
        }
        origin.heal();
        await time.advance(1);
      }
      for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ success: true, degraded: false });
      for (const { decisions } of await Promise.all(batches)) {
        expect(decisions).toMatchObject([
          { success: true, degraded: false },
          { success: true, degraded: false },
        ]);
      }
      const { decisions, origin: stats } = process.limiter.stats();
      expect(decisions.degraded).toBe(0);
      // One for each request and one for each batch, and the one with which the key was first read.
      expect(stats?.reads).toBeLessThanOrEqual(1 + answers.length + batches.length);
    });

    test("a read of the window that has just ended suffices, if it began before the new one did", async () => {
      const { process, origin, time, world } = await denied();
      await time.advance(MINUTE_MS - FLUSH_MS - 20);
      await origin.accept(keyText(), world.sequence(), 40);
      origin.reads.length = 0;
      origin.trouble("stalled", "reads");
      const asked = process.ask({ limit: 100 });
      await time.advance(30);
      origin.heal();
      // 10 ms into the new window nearly all of the 49 count: floor(49 * 59990 / 60000) and the request's own.
      expect(await asked).toMatchObject({ success: true, degraded: false, source: "origin", current: 49 });
      expect(origin.reads).toHaveLength(1);
    });

    test("so does it for a peek, which has no slot", async () => {
      const world = makeProcesses();
      const { limiter } = world.start();
      await world.time.advance(MINUTE_MS - 20);
      await world.origin.accept(keyText(), world.sequence(), 50);
      world.origin.trouble("stalled", "reads");
      const asked = limiter.limit(request({ limit: 100, cost: 0 }));
      await world.time.advance(30);
      world.origin.heal();
      expect(await asked).toMatchObject({ success: true, degraded: false, current: 49 });
      expect(limiter.stats().cells.live).toBe(0);
    });

    test("a request that comes after a denial does not join a read from before it", async () => {
      const { process, origin, time } = await denied();
      origin.trouble("stalled", "reads");
      void process.ask({ limit: 100 });
      await time.advance(20);
      process.askNow({ cost: 2 });
      await time.advance(20);
      const later = [process.ask({ limit: 100 }), process.ask({ limit: 100 })];
      await time.advance(20);
      origin.heal();
      expect(await Promise.all(later)).toMatchObject([{ degraded: false }, { degraded: false }]);
      expect(origin.reads).toHaveLength(2);
    });

    test("requests that wait together share one read", async () => {
      const { process, origin } = await denied();
      await Promise.all([1, 2, 3].map(() => process.ask({ limit: 100 })));
      expect(origin.reads).toHaveLength(1);
    });

    test("strict mode ends one duration after the last denial", async () => {
      const { process, origin, time } = await denied();
      await time.advance(MINUTE_MS - 1);
      await process.ask({ limit: 1_000 });
      origin.reads.length = 0;
      expect(process.askNow({ limit: 1_000 })).toBeUndefined();
      await time.advance(FLUSH_MS);
      expect(process.askNow({ limit: 1_000 })).toMatchObject({ success: true, degraded: false });
    });

    test("the strict-mode key excludes the sequence: it survives the rollover", async () => {
      const world = makeProcesses();
      const { ask, askNow } = world.start();
      await world.time.advance(MINUTE_MS - 200);
      await ask({ cost: 9 });
      await world.time.advance(FLUSH_MS);
      askNow({ cost: 2 });
      await world.time.advance(300);
      world.origin.reads.length = 0;
      // The window is 150 ms old: without strict mode it would need no read.
      expect(askNow({ limit: 100 })).toBeUndefined();
      await world.time.settle();
      expect(world.origin.reads[0]).toContainEqual(expect.objectContaining({ sequence: world.sequence() }));
    });

    test("the sweep does not end it: a slot whose windows are over stays while its key is strict", async () => {
      // Seen: a key that was full late in one window, and denied in the next without anything accepted there, lost its slot and its
      // deadline at the end of that next window, up to one duration early.
      const world = makeProcesses();
      const { ask, askNow, limiter } = world.start();
      const { time, origin } = world;
      await time.advance(MINUTE_MS - 2_000);
      await ask({ limit: 100, cost: 100 });
      await time.advance(MINUTE_MS - 3_000);
      expect(askNow({ limit: 100, cost: 100 })).toMatchObject({ success: false, reason: "limit" });
      const { strictForMs } = limiter.inspect(request());
      expect(strictForMs).toBe(MINUTE_MS);
      await time.advance(6_000);
      expect(limiter.inspect(request()).strictForMs).toBe(MINUTE_MS - 6_000);
      for (let i = 1; i <= 3; i++) {
        origin.reads.length = 0;
        expect(await ask({ limit: 100 })).toMatchObject({ success: true, source: "origin", current: i });
        expect(origin.reads).toHaveLength(1);
      }
      await time.advance(MINUTE_MS - 6_000);
      expect(limiter.inspect(request()).strictForMs).toBe(0);
      await time.advance(2 * MINUTE_MS + 2_000);
      expect(limiter.stats().cells.live, "then the slot goes").toBe(0);
    });

    test("an eviction does not end it", async () => {
      const { process, origin, time } = await denied({ cellsMax: 1 });
      // The other key takes the only slot.
      await process.ask({ identifier: "other" });
      await time.advance(FLUSH_MS);
      const { isKnown, strictForMs } = process.limiter.inspect(request());
      expect([isKnown, strictForMs]).toEqual([false, MINUTE_MS - FLUSH_MS]);
      for (let i = 0; i < 3; i++) {
        origin.reads.length = 0;
        expect(await process.ask({ limit: 100 })).toMatchObject({ success: true, source: "origin", degraded: false });
        expect(origin.reads).toHaveLength(1);
      }
      expect(process.limiter.inspect(request())).toMatchObject({ isKnown: true, strictForMs: MINUTE_MS - FLUSH_MS });
    });

    test("a wall clock that is set forward does not end it", async () => {
      const { process, origin, time } = await denied();
      time.jumpWall(5 * MINUTE_MS);
      await time.advance(5_000);
      expect(process.limiter.inspect(request()).strictForMs).toBe(MINUTE_MS - 5_000);
      for (let i = 0; i < 2; i++) {
        origin.reads.length = 0;
        expect(await process.ask()).toMatchObject({ success: true, source: "origin" });
        expect(origin.reads).toHaveLength(1);
      }
    });

    test("neither does one that is set back", async () => {
      const { process, origin, time } = await denied();
      time.jumpWall(-5 * MINUTE_MS);
      await time.advance(5_000);
      expect(process.limiter.inspect(request()).strictForMs).toBe(MINUTE_MS - 5_000);
      for (let i = 0; i < 2; i++) {
        origin.reads.length = 0;
        expect(await process.ask()).toMatchObject({ success: true, source: "origin" });
        expect(origin.reads).toHaveLength(1);
      }
    });

    test("a denied peek at a key without a slot makes it neither known nor strict", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start();
      await world.origin.accept(keyText(), world.sequence(), 50);
      expect(await ask({ cost: 0 })).toMatchObject({ success: false, reason: "limit" });
      expect(limiter.stats().cells.live).toBe(0);
      expect(limiter.inspect(request())).toMatchObject({ isKnown: false, strictForMs: 0 });
    });

    test("the deadline is of one key: another duration of the same identifier is not strict", async () => {
      const { process, world } = await denied();
      await process.ask({ duration: "5m" });
      await world.time.advance(FLUSH_MS);
      expect(process.askNow({ duration: "5m" })).toMatchObject({ success: true });
    });

    test("strict mode does not publish cross-region state", async () => {
      const world = makeProcesses();
      const { ask, askNow } = world.start({ region: "eu", global: world.counters, floor: 1 });
      await ask({ cost: 9 });
      await world.time.advance(FLUSH_MS);
      askNow({ cost: 2 });
      await world.time.advance(10_000);
      expect(world.counters.rowsOf("eu")).toEqual([]);
      expect(world.counters.denialWrites).toEqual([]);
    });

    test("strict mode refreshes a previous window by the normal cold and stale path", async () => {
      const { process, origin, time, world } = await denied();
      await time.advanceToWindow(MINUTE_MS);
      await time.advance(FRESH_MS * 2);
      await origin.accept(keyText(), world.sequence() - 1, 50, "late");
      expect(await process.ask({ limit: 30 })).toMatchObject({ success: false });
      expect(process.limiter.inspect(request()).previous).toMatchObject({ own: 9, others: 50 });
    });

    test("neither a peek that is denied nor a charge makes its key strict: no request was refused", async () => {
      const world = makeProcesses();
      const { ask, askNow, limiter } = world.start();
      await ask({ cost: 10 });
      await world.time.advance(FLUSH_MS);
      expect(askNow({ cost: 0, limit: 9 })).toMatchObject({ success: false });
      expect(limiter.charge(request({ limit: 9 }))).toMatchObject({ success: false, over: 2 });
      expect(askNow({ limit: 100 })).toMatchObject({ success: true, current: 12 });
      expect(askNow({ limit: 9 })).toMatchObject({ success: false });
      expect(askNow({ limit: 100 })).toBeUndefined();
    });

    test("without an answer of the origin, a strict allow is decided locally and says that it is degraded", async () => {
      const { process, origin } = await denied();
      origin.trouble("failing");
      expect(await process.ask()).toMatchObject({ success: true, degraded: true, source: "local" });
    });

    test("a batch whose item was denied reads that item's cell before it may allow it", async () => {
      const { process, origin, time } = await denied();
      await process.ask({ identifier: "b" });
      await time.advance(FLUSH_MS);
      origin.reads.length = 0;
      const answer = await process.limiter.limitMany([request(), request({ identifier: "b" })]);
      expect(answer).toMatchObject({ success: true, decisions: [{ source: "origin" }, { source: "local" }] });
      expect(origin.reads.flat().map(({ key }) => key)).toEqual([keyText(), keyText()]);
    });
  });
}
