/** A suite that runs on every store. The denial channel: the first denial of a window is reported to all regions, which deny that cell too. */
import type { DenialRow, LimiterOptions } from "sluice";
import { describe, expect, test } from "vitest";
import { FLUSH_MS, keyOf, MINUTE_MS, type Process, Processes, request } from "../support/processes.ts";

/** Longer than a jittered write (1 s), and than a jittered read of the active rows (10 s). */
const WRITE_MS = 1_150;
const READ_MS = 11_100;

export function denialsSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
} = {}): void {
  function setUp(options: LimiterOptions = {}) {
    const world = makeProcesses();
    const eu = world.startRegion("eu", { globalMode: "denials", ...options });
    const us = world.startRegion("us", { globalMode: "denials", ...options });
    const row = (limit: number, sequence = world.sequence()): DenialRow => ({
      key: keyOf(),
      sequence,
      limit,
      expiresAtMs: (sequence + 2) * MINUTE_MS,
    });
    return { ...world, world, eu, us, row };
  }

  /** Uses up a limit of 10 and is denied once. */
  async function exhaust({ ask }: Process, fields = {}): Promise<void> {
    await ask({ cost: 10, ...fields });
    expect(await ask(fields)).toMatchObject({ success: false, reason: "limit" });
  }

  describe(`denial channel, ${store}: emission`, () => {
    test("the first denial in a window writes one row with the key, the sequence, the limit and the expiry", async () => {
      const { eu, counters, time, row } = setUp();
      await exhaust(eu);
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu")).toEqual([row(10)]);
    });

    test("expires_at is (sequence + 2) * duration: the end of the window after the originating one", async () => {
      const { eu, counters, time } = setUp();
      await time.advance(1_234_567);
      await exhaust(eu, { duration: "5m" });
      const sequence = Math.floor(time.wallMs / 300_000);
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu")).toMatchObject([{ sequence, expiresAtMs: (sequence + 2) * 300_000 }]);
    });

    test("each region and window writes exactly once, however often it denies", async () => {
      const { eu, counters, time } = setUp();
      await exhaust(eu);
      for (let i = 0; i < 20; i++) {
        await eu.ask();
        await time.advance(1_000);
      }
      expect(counters.denialRowsOf("eu")).toHaveLength(1);
    });

    test("the next window writes again", async () => {
      const { eu, counters, time } = setUp();
      await exhaust(eu);
      await time.advanceToWindow(MINUTE_MS);
      await time.advance(2 * MINUTE_MS);
      await exhaust(eu);
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu")).toHaveLength(2);
    });

    test("a window shorter than a minute is enforced here, and not told", async () => {
      const { eu, counters, time } = setUp();
      await exhaust(eu, { duration: "59s" });
      await time.advance(WRITE_MS);
      expect(counters.denialWrites).toEqual([]);
    });

    test.each(["5s", "5m"] as const)(
      "globalDurationMin %s is about counts: a minute is told, less is not",
      async (least) => {
        const { eu, counters, time } = setUp({ globalDurationMin: least });
        await exhaust(eu, { duration: "59s" });
        await exhaust(eu, { identifier: "b" });
        await time.advance(WRITE_MS);
        expect(counters.denialRowsOf("eu").map(({ key }) => key.identifier)).toEqual(["b"]);
      },
    );

    test("a denied peek writes no row: it asked for nothing that the other regions could deny", async () => {
      const { eu, counters, time } = setUp();
      await eu.ask({ limit: 100, cost: 10 });
      expect(await eu.ask({ limit: 5, cost: 0 })).toMatchObject({ success: false, reason: "limit" });
      eu.limiter.charge(request({ limit: 5, cost: 10 }));
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu")).toEqual([]);
    });

    test("a denial under a low limit does not hide a later one under a higher limit", async () => {
      // Seen: a request with a limit of 5 wrote the window's only row; when the real limit of 100 was used up, nobody else learned of it.
      const { eu, us, counters, time } = setUp();
      await eu.ask({ limit: 100, cost: 10 });
      expect(await eu.ask({ limit: 5 })).toMatchObject({ success: false });
      await time.advance(WRITE_MS);
      await eu.ask({ limit: 100, cost: 90 });
      expect(await eu.ask({ limit: 100 })).toMatchObject({ success: false });
      await time.advance(WRITE_MS + READ_MS);
      expect(counters.denialRowsOf("eu").map(({ limit }) => limit)).toEqual([5, 100]);
      expect(us.limiter.inspect(request()).current.foreign).toBe(100);
    });

    test.each([
      [4, 7, 0],
      [5, 6, 1],
      [8, 3, 1],
    ])(
      "a denial with %i of 10 used and a cost of %i writes %i rows: half the limit must be used",
      async (used, cost, rows) => {
        const { eu, counters, time } = setUp();
        await eu.ask({ cost: used });
        expect(await eu.ask({ cost })).toMatchObject({ success: false, reason: "limit" });
        await time.advance(WRITE_MS);
        expect(counters.denialRowsOf("eu")).toHaveLength(rows);
      },
    );

    test("a cost above the limit on a fresh key is not told", async () => {
      const { eu, counters, time } = setUp();
      expect(await eu.ask({ cost: 11 })).toMatchObject({ success: false, reason: "cost" });
      await time.advance(WRITE_MS);
      expect(counters.denialWrites).toEqual([]);
    });

    test("in a batch, items that were not counted are no usage: 2 of 10 used and items of 4 and 5 tell nothing", async () => {
      const { eu, counters, time } = setUp();
      await eu.ask({ cost: 2 });
      const batch = await eu.limiter.limitMany([request({ cost: 4 }), request({ cost: 5 })]);
      expect(batch.decisions[1]).toMatchObject({ success: false, reason: "limit" });
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu")).toEqual([]);
    });

    test("a key that takes an evicted key's place tells its own first denial", async () => {
      const { eu, counters, time } = setUp({ cellsMax: 1 });
      await exhaust(eu);
      await time.advance(FLUSH_MS);
      await exhaust(eu, { identifier: "b" });
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("eu").map(({ key }) => key.identifier)).toEqual(["user_42", "b"]);
    });

    test("with mode counters no row is written or read, with mode both counts and rows are", async () => {
      for (const [globalMode, rows, published] of [
        ["counters", 0, 1],
        ["both", 1, 1],
        ["denials", 1, 0],
      ] as const) {
        const { eu, counters, time } = setUp({ globalMode, floor: 0 });
        await exhaust(eu);
        await time.advance(READ_MS);
        expect([counters.denialRowsOf("eu").length, counters.rowsOf("eu").length]).toEqual([rows, published]);
        expect(counters.denialReads > 0).toBe(rows > 0);
      }
    });
  });

  describe(`denial channel, ${store}: receiving`, () => {
    test("a row raises the exact cell in every other region: the same denial without local traffic", async () => {
      const { eu, us, time } = setUp();
      await exhaust(eu);
      await time.advance(WRITE_MS + READ_MS);
      expect(us.limiter.inspect(request()).current).toMatchObject({ own: 0, others: 0, foreign: 10 });
      expect(us.askNow()).toMatchObject({ success: false, reason: "limit" });
    });

    test("what the region has counted itself is not added: the view reaches the limit, and no more", async () => {
      const { eu, us, time } = setUp();
      await us.ask({ cost: 4 });
      await exhaust(eu);
      await time.advance(WRITE_MS + READ_MS);
      expect(us.limiter.inspect(request()).current).toMatchObject({ own: 4, foreign: 6, view: 10 });
    });

    test("the sequence is stored, not derived: a row read in the next window raises the window it came from", async () => {
      const { us, counters, time, row, world } = setUp();
      const sequence = world.sequence();
      await time.advanceToWindow(MINUTE_MS);
      await counters.store.denials.write("eu", [row(10, sequence)]);
      await time.advance(READ_MS);
      expect(us.limiter.inspect(request())).toMatchObject({ current: { view: 0 }, previous: { foreign: 10 } });
    });

    test("it bleeds into the next window by the weights, and is gone after it", async () => {
      const { us, counters, time, row } = setUp();
      await counters.store.denials.write("eu", [row(10)]);
      await time.advance(READ_MS);
      await time.advanceToWindow(MINUTE_MS);
      await time.advance(6_000);
      expect(await us.ask({ cost: 2 })).toMatchObject({ success: false });
      expect(us.limiter.inspect(request({ limit: 10 }))).toMatchObject({ previousShare: 9, remaining: 1 });
      await time.advance(MINUTE_MS);
      expect(await us.ask({ cost: 10 })).toMatchObject({ success: true });
    });

    test("a row of a window that is over, or has not begun, raises nothing", async () => {
      const { us, counters, time, row, world } = setUp();
      const rows = [row(10, world.sequence() - 2), row(10, world.sequence() + 2)];
      await counters.store.denials.write(
        "eu",
        rows.map((one) => ({ ...one, expiresAtMs: time.wallMs + 10 * MINUTE_MS })),
      );
      await time.advance(READ_MS);
      expect(us.limiter.inspect(request())).toMatchObject({ effective: 0 });
    });

    test("a region that received a row does not emit it again", async () => {
      const { us, counters, time, row } = setUp();
      await us.ask({ cost: 7 });
      await counters.store.denials.write("eu", [row(10)]);
      await time.advance(READ_MS);
      for (let i = 0; i < 5; i++) {
        expect(await us.ask()).toMatchObject({ success: false });
        await time.advance(WRITE_MS);
      }
      expect(counters.denialWrites).toEqual([]);
    });

    test("a region's own row does not raise its own cells: what it has left of the limit stays its own", async () => {
      // Seen: a cost of 60 denied at 50 of 100 wrote a row; the region read it back, and denied a cost of 1 to itself.
      const { eu, world, counters, time } = setUp();
      const { origin } = eu;
      const sibling = world.start({ region: "eu", origin, global: counters, globalMode: "denials" });
      await eu.ask({ limit: 100, cost: 50 });
      expect(await eu.ask({ limit: 100, cost: 60 })).toMatchObject({ success: false });
      await time.advance(WRITE_MS + READ_MS);
      for (const { ask } of [eu, sibling]) expect(await ask({ limit: 100, cost: 0 })).toMatchObject({ remaining: 50 });
    });

    test("a row for a low limit does not silence a denial here under a higher one", async () => {
      const { us, counters, time, row } = setUp();
      await us.ask({ limit: 100, cost: 60 });
      await counters.store.denials.write("eu", [row(10)]);
      await time.advance(READ_MS);
      expect(await us.ask({ limit: 100, cost: 50 })).toMatchObject({ success: false });
      await time.advance(WRITE_MS);
      expect(counters.denialRowsOf("us")).toEqual([row(100)]);
    });

    test("an inflated count is foreign: it is neither replayed nor published", async () => {
      const { us, counters, time, row } = setUp({ globalMode: "both", floor: 0 });
      await us.ask({ cost: 3 });
      await counters.store.denials.write("eu", [row(10)]);
      await time.advance(READ_MS);
      await us.ask({ limit: 100 });
      await time.advance(3_000);
      expect(Math.max(...us.origin.cellsRaised().map(({ total }) => total))).toBe(4);
      expect(Math.max(...counters.rowsOf("us").map(({ count }) => count))).toBe(4);
    });

    test("a key that is only retried is free again: no row follows from another row", async () => {
      // Seen: a denial in S+1 that rested on nothing but the share of S wrote a row for S+1, which raised S+1 to the limit
      // everywhere, which denied in S+2, and so on: a client that retries was locked out for ever.
      const { eu, us, time, counters } = setUp();
      await exhaust(eu);
      let allowed = 0;
      for (let i = 0; i < 4 * 60; i++) {
        await time.advance(1_000);
        for (const { ask } of [eu, us]) allowed += (await ask({ cost: 6 })).success ? 1 : 0;
        if (allowed > 0) break;
      }
      expect(allowed).toBeGreaterThan(0);
      expect(counters.denialWrites.flatMap(({ rows }) => rows).length).toBeLessThanOrEqual(2);
    });
  });

  describe(`denial channel, ${store}: batches and failures`, () => {
    test("a hundred rows are written at once, without waiting for the second to pass", async () => {
      const { eu, counters, time } = setUp();
      for (let i = 0; i < 99; i++) await exhaust(eu, { identifier: `id_${i}` });
      await time.settle();
      expect(counters.denialWrites).toEqual([]);
      await exhaust(eu, { identifier: "id_99" });
      await time.settle();
      expect(counters.denialWrites.map(({ rows }) => rows.length)).toEqual([100]);
    });

    test("fewer are written within a second", async () => {
      const { eu, counters, time } = setUp();
      for (let i = 0; i < 3; i++) await exhaust(eu, { identifier: `id_${i}` });
      await time.advance(WRITE_MS);
      expect(counters.denialWrites.map(({ rows }) => rows.length)).toEqual([3]);
    });

    test.each(["failing", "stalled"] as const)(
      "a %s store drops batches, and the denial stands here all the same",
      async (trouble) => {
        const { eu, counters, time } = setUp();
        await time.settle();
        counters.trouble(trouble);
        await exhaust(eu);
        await time.advance(30_000);
        expect(await eu.ask()).toMatchObject({ success: false, reason: "limit" });
        expect(eu.limiter.stats().global!.denials).toMatchObject({ emitted: 0, dropped: 1 });
        counters.trouble("none");
        await time.advance(3 * WRITE_MS);
        expect(counters.denialRowsOf("eu")).toHaveLength(1);
      },
    );

    test("a store that keeps failing is not asked any more: its breaker is its own", async () => {
      const { eu, counters, time } = setUp();
      await time.advance(1);
      counters.trouble("failing");
      for (let i = 0; i < 40; i++) {
        await exhaust(eu, { identifier: `id_${i}` });
        if (i < 25) await time.advance(180);
      }
      const stats = eu.limiter.stats();
      expect(stats.origin!.breaker).toBe("closed");
      await time.advance(WRITE_MS);
      expect(eu.limiter.stats().global!.denials).toMatchObject({ emitted: 0, dropped: 40 });
    });

    test("the ages of mode denials are those of the channel: they do not grow while it works", async () => {
      // Seen: publishAgeMs and importAgeMs grew for ever, and every key that was ever accepted counted as unpublished.
      const { eu, counters, time } = setUp();
      await exhaust(eu);
      await time.advance(5 * MINUTE_MS);
      const read = () => eu.limiter.stats().global!;
      expect(read()).toMatchObject({ mode: "denials", importEveryMs: 10_000, unpublished: 0, isImported: true });
      expect(read().importAgeMs).toBeLessThanOrEqual(11_000);
      expect(read().publishAgeMs).toBeLessThanOrEqual(1_100);
      expect(read().denials).toMatchObject({
        emitted: 1,
        waiting: 0,
        writesFailed: 0,
        readsFailed: 0,
        breaker: "closed",
      });
      expect(read().denials.readAgeMs).toBe(read().importAgeMs);
      expect(read().denials.writeAgeMs).toBeGreaterThan(4 * MINUTE_MS);
      counters.trouble("failing");
      await exhaust(eu, { identifier: "b" });
      expect(read()).toMatchObject({ unpublished: 1, denials: { waiting: 1 } });
      await time.advance(MINUTE_MS);
      expect(read().importAgeMs).toBeGreaterThanOrEqual(MINUTE_MS);
      expect(read().denials).toMatchObject({ dropped: 1, writesFailed: 1 });
      expect(read().denials.readsFailed).toBeGreaterThanOrEqual(5);
    });

    test("in mode counters the channel has no ages, in mode both its own beside those of the counts", async () => {
      for (const [globalMode, hasAge] of [
        ["counters", false],
        ["both", true],
      ] as const) {
        const { eu, time } = setUp({ globalMode });
        await time.advance(MINUTE_MS);
        const { denials, importAgeMs, importEveryMs } = eu.limiter.stats().global!;
        expect([denials.readAgeMs !== null, denials.writeAgeMs, importEveryMs]).toEqual([hasAge, null, 1_000]);
        expect(importAgeMs).toBeLessThanOrEqual(1_100);
      }
    });

    test("read errors are counted, and the reading continues", async () => {
      const { us, counters, time, row } = setUp();
      await time.settle();
      counters.trouble("failing");
      await time.advance(3 * READ_MS);
      expect(us.limiter.stats().global!.roundsFailed).toBeGreaterThanOrEqual(3);
      expect(await us.ask()).toMatchObject({ success: true, degraded: false });
      counters.heal();
      await counters.store.denials.write("eu", [row(10)]);
      await time.advance(READ_MS);
      expect(us.askNow({ cost: 5 })).toMatchObject({ success: false });
    });
  });
}
