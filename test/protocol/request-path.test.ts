/** The request path: two cells, the sliding window over regional and global counts, all-or-nothing batches. */
import { describe, expect, test } from "vitest";
import { FLUSH_MS, keyOf, keyText, MINUTE_MS, Processes, request } from "../support/processes.ts";

/** A process with every kind of count: own, of other processes and of other regions, in both windows. */
async function setUp() {
  const world = new Processes();
  const process = world.start({ region: "eu", global: world.counters, floor: 0 });
  await world.time.advance(1_000);
  await process.ask({ cost: 10, limit: 1_000 });
  const rows = (sequence: number, count: number) => [
    { key: keyOf(), sequence, count, expiresAtMs: (sequence + 2) * MINUTE_MS },
  ];
  await world.origin.accept(keyText(), world.sequence(), 20);
  await world.counters.store.publish("us", rows(world.sequence(), 30));
  await world.time.advanceToWindow(MINUTE_MS);
  await world.time.advance(MINUTE_MS / 2);
  await world.origin.accept(keyText(), world.sequence(), 4);
  await world.counters.store.publish("us", rows(world.sequence(), 5));
  await world.time.advance(2_500);
  return { world, process, time: world.time };
}

describe("request path: the sliding window", () => {
  test("effective = current + previous * weight + cost, each cell the sum of its regional and global count", async () => {
    const { process, time } = await setUp();
    const decision = await process.ask({ cost: 2, limit: 1_000 });
    const leftMs = MINUTE_MS - (time.wallMs % MINUTE_MS);
    expect(decision.current).toBe(4 + 5 + Math.floor((60 * leftMs) / MINUTE_MS) + 2);
  });

  test("a caller cannot use the full limit at the end of one window and again at the start of the next", async () => {
    const world = new Processes();
    const { ask } = world.start();
    await world.time.advance(MINUTE_MS - 500);
    await ask({ cost: 10 });
    await world.time.advance(1_000);
    expect(await ask({ cost: 2 })).toMatchObject({ success: false, reason: "limit" });
    await world.time.advance(MINUTE_MS - 2_000);
    expect(await ask({ cost: 9 })).toMatchObject({ success: true });
  });

  test("regional and global count stay separate: only the regional one is published", async () => {
    const { process, world, time } = await setUp();
    await process.ask({ cost: 2, limit: 1_000 });
    await time.advance(2_500);
    const { current } = process.limiter.inspect(request());
    expect(current).toMatchObject({ own: 2, others: 4, foreign: 5, view: 11 });
    const rows = world.counters.rowsOf("eu").filter(({ sequence }) => sequence === world.sequence());
    expect(Math.max(...rows.map(({ count }) => count))).toBe(6);
  });
});

describe("request path: batches", () => {
  test("all or nothing: an item that does not fit keeps all the others from being counted, replayed or published", async () => {
    const world = new Processes();
    const { limiter, ask } = world.start({ region: "eu", global: world.counters, floor: 0 });
    await ask({ identifier: "a" });
    await world.time.advance(FLUSH_MS);
    const before = world.origin.cellsRaised().length;
    const answer = await limiter.limitMany([
      request({ identifier: "a", cost: 5 }),
      request({ identifier: "b", cost: 5 }),
      request({ identifier: "c", cost: 5, limit: 5 }),
      request({ identifier: "c", cost: 1, limit: 5 }),
    ]);
    expect(answer).toMatchObject({
      success: false,
      decisions: [{ success: true }, { success: true }, { success: true }, { success: false }],
    });
    await world.time.advance(3_000);
    expect(world.origin.cellsRaised().length).toBe(before);
    expect(world.counters.rowsOf("eu").map(({ count }) => count)).toEqual([1]);
  });

  test("a batch that waits for the origin shows no part of itself meanwhile", async () => {
    const world = new Processes();
    const { limiter, ask, askNow } = world.start();
    await ask({ identifier: "a" });
    await world.time.advance(FLUSH_MS);
    world.origin.trouble("stalled", "reads");
    const batch = limiter.limitMany([request({ identifier: "a", cost: 9 }), request({ identifier: "cold" })]);
    await world.time.advance(100);
    expect(limiter.inspect(request({ identifier: "a" })).current.own).toBe(1);
    // Another request takes what the batch would have needed: the batch is then decided on what is left.
    expect(askNow({ identifier: "a" })).toMatchObject({ success: true });
    world.origin.heal();
    await world.time.advance(FLUSH_MS);
    expect(await batch).toMatchObject({
      success: false,
      decisions: [{ success: false }, { success: true, reason: "batch" }],
    });
    expect(limiter.inspect(request({ identifier: "cold" })).current.own).toBe(0);
  });

  test("items of one cell add up, also across a read", async () => {
    const world = new Processes();
    await world.origin.accept(keyText(), world.sequence(), 5);
    const { limiter } = world.start();
    expect(await limiter.limitMany([request({ cost: 3 }), request({ cost: 3 })])).toMatchObject({
      success: false,
      decisions: [{ success: true }, { success: false }],
    });
    expect(await limiter.limitMany([request({ cost: 3 }), request({ cost: 2 })])).toMatchObject({
      success: true,
      decisions: [{ current: 8 }, { current: 10 }],
    });
  });

  test("an item that must be read, but cannot, makes the batch's own answer degraded and nothing else", async () => {
    const world = new Processes();
    const { limiter, ask } = world.start();
    await ask({ identifier: "a" });
    await world.time.advance(FLUSH_MS);
    world.origin.trouble("failing");
    const answer = await limiter.limitMany([request({ identifier: "a" }), request({ identifier: "cold" })]);
    expect(answer).toMatchObject({ success: true, decisions: [{ degraded: false }, { degraded: true }] });
  });
});

describe("request path: short windows stay regional", () => {
  test("windows shorter than 60 seconds are not published, and longer ones are", async () => {
    const world = new Processes();
    const { ask } = world.startRegion("eu", { floor: 0 });
    await ask({ duration: "59s" });
    await ask({ duration: "60s" });
    await ask({ duration: "1h" });
    await world.time.advance(3_000);
    const durations = world.counters.rowsOf("eu").map(({ key }) => key.durationMs);
    expect(durations.sort()).toEqual([3_600_000, 60_000]);
  });

  test("the shortest window that is told can be set", async () => {
    const world = new Processes();
    const { ask } = world.startRegion("eu", { floor: 0, globalDurationMin: "10s" });
    await ask({ duration: "10s" });
    await ask({ duration: "9s" });
    await world.time.advance(3_000);
    expect(world.counters.rowsOf("eu").map(({ key }) => key.durationMs)).toEqual([10_000]);
  });
});
