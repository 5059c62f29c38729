import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { TroubledOrigin } from "../../../../test/support/troubled-stores.ts";
import type { TraceEvent } from "../core/trace.ts";
import { encodeKey } from "../engine/key.ts";
import { nameBytes } from "../engine/name-budget.ts";
import { CellMerge } from "./cell-merge.ts";
import { OriginCalls } from "./origin-calls.ts";
import { RecentFailures } from "./recent-failures.ts";
import { type ReadWish, Refresh } from "./refresh.ts";

function setUp() {
  const world = new LayeredEngine();
  const { time } = world;
  const origin = new TroubledOrigin(time);
  const calls = new OriginCalls(origin, time.clock, time.timers);
  const refresh = new Refresh(
    calls,
    new CellMerge(world.engine, world.ledger),
    new RecentFailures(),
    time.clock,
    300,
    null,
  );
  const wish = (identifier = "a", fields: Partial<ReadWish> = {}): ReadWish => ({
    key: world.key(identifier),
    notBeforeMs: Number.NEGATIVE_INFINITY,
    mayClaim: true,
    ...fields,
  });
  return { world, time, origin, calls, refresh, wish };
}

describe("refresh", () => {
  test("a read brings both cells, and is as old as the moment it began", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    await origin.accept(encodeKey(world.key()), world.sequence, 5);
    await origin.accept(encodeKey(world.key()), world.previous, 7);
    const beganMs = time.monoMs;
    origin.trouble("stalled");
    const reading = refresh.read(wish());
    await time.advance(120);
    origin.heal();
    expect(await reading).toEqual({ isOk: true, beganMs, sequence: world.sequence, current: 5, previous: 7 });
  });

  /**
   * Two servers on a read-only replica of Redis: every read was answered, and no cost of either reached it. Each allowed the whole limit to a
   * client of multiLimit, for hours, and no answer said that it was a guess.
   */
  test("a read from an origin that accepts no writes brings its sums, makes nothing fresh, and does not count as a read", async () => {
    const { world, time, origin, calls, refresh, wish } = setUp();
    await origin.accept(encodeKey(world.key()), world.sequence, 5);
    const heartbeat = { key: "heartbeat:1", sequence: 0, writer: "0", total: 1, expiresAtMs: time.wallMs + 600_000 };
    const flushFor = async (ms: number) => {
      for (const endMs = time.monoMs + ms; time.monoMs < endMs; ) {
        await calls.raise([heartbeat], 1_000);
        await time.advance(500);
      }
    };
    origin.trouble("failing", "raises");
    // A key of a minute is fresh for 3 s: so long the costs of others may be missing anyway.
    await flushFor(3_000);
    expect((await refresh.read(wish("before"))).isOk).toBe(true);
    await flushFor(500);
    const beganMs = time.monoMs;
    const sums = { sequence: world.sequence, current: 5, previous: 0 };
    expect(await refresh.read(wish())).toEqual({ isOk: false, beganMs, ...sums });
    const { table } = world.engine;
    const slot = world.slot();
    expect([table.view(slot, world.sequence), table.freshUntilMs(slot, world.sequence)]).toEqual([5, 0]);
    origin.heal();
    await flushFor(500);
    expect(await refresh.read(wish())).toEqual({ isOk: true, beganMs: time.monoMs, ...sums });
  });

  test("a write that failed says nothing about an origin that has got no other for 2 s", async () => {
    const { time, origin, calls, refresh, wish } = setUp();
    const heartbeat = { key: "heartbeat:1", sequence: 0, writer: "0", total: 1, expiresAtMs: time.wallMs + 600_000 };
    origin.trouble("failing", "raises");
    for (let i = 0; i < 8; i++) {
      await calls.raise([heartbeat], 1_000);
      await time.advance(500);
    }
    await time.advance(1_500);
    expect([calls.refusedForMs, (await refresh.read(wish("a"))).isOk]).toEqual([5_500, false]);
    await time.advance(1);
    expect([calls.refusedForMs, (await refresh.read(wish("b"))).isOk]).toEqual([0, true]);
  });

  test("those who ask for a key that is being read share the one read", async () => {
    const { origin, refresh, wish } = setUp();
    const reads = [refresh.read(wish()), refresh.read(wish()), refresh.readMany([wish(), wish()])];
    expect(refresh.inFlight).toBe(1);
    await Promise.all(reads);
    expect([origin.reads.length, refresh.inFlight]).toEqual([1, 0]);
  });

  test("a read that is too old for an asker is followed by one more, for all of them", async () => {
    const { time, origin, refresh, wish } = setUp();
    origin.trouble("stalled");
    const first = refresh.read(wish());
    await time.advance(10);
    const later = [1, 2, 3].map(() => refresh.read(wish("a", { notBeforeMs: time.monoMs })));
    origin.heal();
    const outcomes = await Promise.all([first, ...later]);
    expect(origin.reads).toHaveLength(2);
    expect(new Set(outcomes.slice(1).map(({ beganMs }) => beganMs))).toEqual(new Set([time.monoMs]));
  });

  test("a read of the window before is not shared, and all who wait for it share the next one", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    await time.advanceToWindow(60_000);
    await time.advance(60_000 - 20);
    origin.trouble("stalled");
    const before = refresh.read(wish());
    const denied = refresh.read(wish("a", { notBeforeMs: time.monoMs + 1 }));
    await time.advance(30);
    const after = refresh.read(wish());
    origin.heal();
    const outcomes = await Promise.all([before, denied, after]);
    // The read that is begun for the second, which arrived in the window before, is of the window in which it begins.
    const { sequence, previous } = world;
    expect(outcomes.map((outcome) => outcome.sequence)).toEqual([previous, sequence, sequence]);
    expect(origin.reads).toHaveLength(2);
  });

  test("many keys are one round trip, each key once, answers in the order of the questions", async () => {
    const { world, origin, refresh, wish } = setUp();
    for (const [i, id] of ["a", "b", "c"].entries())
      await origin.accept(encodeKey(world.key(id)), world.sequence, i + 1);
    const outcomes = await refresh.readMany(["c", "a", "c", "b"].map((id) => wish(id)));
    expect(outcomes.map(({ current }) => current)).toEqual([3, 1, 3, 2]);
    expect(origin.reads.map((reads) => reads.length)).toEqual([6]);
  });

  test("many keys, some of which are being read: those are joined", async () => {
    const { origin, refresh, wish } = setUp();
    const first = refresh.read(wish("a"));
    const rest = refresh.readMany([wish("a"), wish("b")]);
    await Promise.all([first, rest]);
    expect(origin.reads.map((reads) => reads.length)).toEqual([2, 2]);
  });

  test("a read that a peek began makes a slot for a request that joined it", async () => {
    const { world, refresh, wish } = setUp();
    await refresh.read(wish("peek", { mayClaim: false }));
    await Promise.all([refresh.read(wish("both", { mayClaim: false })), refresh.read(wish("both"))]);
    expect([world.find("peek") >= 0, world.find("both") >= 0]).toEqual([false, true]);
  });

  test("a failure is told to all who wait, and not tried again for 300 ms", async () => {
    const { time, origin, refresh, wish } = setUp();
    origin.trouble("failing");
    const outcomes = await Promise.all([refresh.read(wish()), refresh.read(wish())]);
    expect(outcomes.map(({ isOk }) => isOk)).toEqual([false, false]);
    await time.advance(299);
    expect([(await refresh.read(wish())).isOk, origin.reads.length]).toEqual([false, 1]);
    origin.heal();
    await time.advance(1);
    expect([(await refresh.read(wish())).isOk, origin.reads.length]).toEqual([true, 2]);
  });

  test("one key's failure is no other key's", async () => {
    const { origin, refresh, wish } = setUp();
    origin.trouble("failing");
    await refresh.read(wish("a"));
    origin.heal();
    expect((await refresh.read(wish("b"))).isOk).toBe(true);
  });

  test("an answer after the deadline is dropped: the counts stay", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    world.accept("a");
    await origin.accept(encodeKey(world.key()), world.sequence, 5);
    origin.trouble("stalled");
    const reading = refresh.read(wish());
    await time.advance(300);
    expect((await reading).isOk).toBe(false);
    origin.heal();
    await time.settle();
    expect(world.engine.table.others(world.slot(), world.sequence)).toBe(0);
  });

  test("half an answer is none: a cell whose twin is junk is not merged", async () => {
    for (const [current, previous] of [
      [5, Number.NaN],
      [Number.NaN, 5],
    ] as const) {
      const { world, origin, refresh, wish } = setUp();
      world.accept("a");
      origin.read = async () => [
        { sum: current, component: 0 },
        { sum: previous, component: 0 },
      ];
      expect((await refresh.read(wish())).isOk).toBe(false);
      const { table } = world.engine;
      expect([world.sequence, world.previous].map((at) => table.others(world.slot(), at))).toEqual([0, 0]);
    }
  });

  test("no more than ten thousand keys are read at once: further ones fail without a call", async () => {
    const { origin, refresh, wish } = setUp();
    origin.trouble("stalled");
    const most = refresh.readMany(Array.from({ length: 9_999 }, (_, i) => wish(`user_${i}`, { mayClaim: false })));
    const last = refresh.read(wish("last", { mayClaim: false }));
    expect([(await refresh.read(wish("beyond"))).isOk, origin.reads.length]).toEqual([false, 2]);
    origin.heal();
    expect((await Promise.all([most, last])).flat().every(({ isOk }) => isOk)).toBe(true);
    expect((await refresh.read(wish("beyond"))).isOk).toBe(true);
  });

  test("a key that has just failed is asked about again where another key's call is made anyway", async () => {
    const { origin, refresh, wish } = setUp();
    origin.trouble("failing");
    await refresh.read(wish("a"));
    origin.heal();
    const outcomes = await refresh.readMany([wish("a"), wish("b")]);
    expect([outcomes.map(({ isOk }) => isOk), origin.reads.length]).toEqual([[true, true], 2]);
  });

  test("of failures ten thousand are remembered, and the oldest is forgotten first", async () => {
    const { origin, refresh, wish } = setUp();
    const read = origin.read.bind(origin);
    origin.read = async (reads) => reads.map(() => ({ sum: Number.NaN, component: Number.NaN }));
    await refresh.read(wish("second"));
    const others = Array.from({ length: 9_998 }, (_, i) => wish(`user_${i}`));
    await refresh.readMany(others);
    // Failed again, so no longer the oldest.
    await refresh.readMany([wish("second"), wish("fresh")]);
    origin.read = read;
    expect((await refresh.read(wish("user_0"))).isOk).toBe(false);
    origin.read = async (reads) => reads.map(() => ({ sum: Number.NaN, component: Number.NaN }));
    await refresh.read(wish("one too many"));
    origin.read = read;
    const outcomes = await Promise.all(["user_0", "user_1", "second"].map((id) => refresh.read(wish(id))));
    expect(outcomes.map(({ isOk }) => isOk)).toEqual([true, false, false]);
  });

  test("a strict key's unreplayed cost goes along, and its answer is the younger one", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    world.accept("a", 3);
    const text = encodeKey(world.key());
    // The origin hears of somebody else's cost between the read and the raise.
    const read = origin.read.bind(origin);
    origin.read = async (reads) => {
      const answers = await read(reads);
      await origin.accept(text, world.sequence, 5);
      return answers;
    };
    const raise = origin.raise.bind(origin);
    origin.raise = async (raises) => {
      await time.settle();
      return raise(raises);
    };
    const outcome = await refresh.read(wish("a", { notBeforeMs: time.monoMs }));
    expect(outcome).toMatchObject({ isOk: true, current: 8 });
    expect(await origin.sum(text, world.sequence)).toBe(8);
    // It went without a heartbeat: nothing is confirmed by it.
    expect(world.engine.table.replayed(world.slot(), world.sequence)).toBe(0);
  });

  test("a key that is not strict, or has nothing unreplayed, is only read", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    let raises = 0;
    origin.raise = async () => {
      raises++;
      return [];
    };
    world.accept("a", 3);
    await refresh.read(wish("a"));
    await refresh.read(wish("b", { notBeforeMs: time.monoMs }));
    expect(raises).toBe(0);
  });

  test("where a strict key's raise fails, what was read stands", async () => {
    const { world, time, origin, refresh, wish } = setUp();
    world.accept("a", 3);
    await origin.accept(encodeKey(world.key()), world.sequence, 5);
    origin.raise = async () => {
      throw new Error("refused");
    };
    const outcome = await refresh.read(wish("a", { notBeforeMs: time.monoMs }));
    expect(outcome).toMatchObject({ isOk: true, current: 5 });
  });

  test("a history hears of both cells, with what was answered or that nothing was", async () => {
    const { world, time, origin, calls } = setUp();
    const events: TraceEvent[] = [];
    const merge = new CellMerge(world.engine, world.ledger);
    const refresh = new Refresh(calls, merge, new RecentFailures(), time.clock, 300, (event) => events.push(event));
    const wish = {
      key: world.key(),
      notBeforeMs: Number.NEGATIVE_INFINITY,
      mayClaim: true,
    };
    world.accept("a", 2);
    const { writer } = world.ledger.name(world.slot())!;
    const key = encodeKey(world.key());
    await origin.accept(key, world.sequence, 5);
    await refresh.read(wish);
    origin.trouble("failing");
    await refresh.read(wish);
    const told = {
      kind: "read",
      key,
      writer,
      total: 0,
      wallMs: time.wallMs,
      monoMs: time.monoMs,
      beganMs: time.monoMs,
    };
    const { sequence, previous } = world;
    expect(events).toEqual([
      { ...told, sequence, isAnswered: true, sum: 5, component: 0 },
      { ...told, sequence: previous, isAnswered: true, sum: 0, component: 0 },
      { ...told, sequence, isAnswered: false, sum: 0, component: 0 },
      { ...told, sequence: previous, isAnswered: false, sum: 0, component: 0 },
    ]);
  });

  describe("is bounded in bytes", () => {
    const longest = (i: number) => "\u{1F600}".repeat(506) + String(i).padStart(6, "0");
    const MIB = 2 ** 20;

    test("keys with long names beyond 32 MiB are not read at once, and their requests are decided from memory", async () => {
      const { time, origin, refresh, wish } = setUp();
      origin.trouble("stalled");
      const reads = Array.from({ length: 9_000 }, (_, i) => refresh.read(wish(longest(i))));
      expect(refresh.bytes.inFlight).toBeLessThanOrEqual(32 * MIB);
      // Each takes 500 bytes, and its name twice.
      expect(refresh.inFlight).toBe(Math.floor((32 * MIB) / (500 + 2 * nameBytes(wish(longest(0)).key))));
      expect(await reads.at(-1)).toMatchObject({ isOk: false });
      await time.advance(300);
      expect((await Promise.all(reads)).some(({ isOk }) => isOk)).toBe(false);
      expect([refresh.inFlight, refresh.bytes.inFlight]).toEqual([0, 0]);
    });

    test("of reads that failed, the latest 8 MiB of names are remembered, and none for longer than it matters", async () => {
      const { time, origin, refresh, wish } = setUp();
      origin.trouble("failing");
      for (let i = 0; i < 6_000; i++) await refresh.read(wish(longest(i)));
      expect(refresh.bytes.failed).toBeLessThanOrEqual(8 * MIB);
      expect(refresh.bytes.failed).toBeGreaterThan(8 * MIB - 5_000);
      await time.advance(300);
      await refresh.read(wish("a"));
      expect(refresh.bytes.failed).toBeLessThan(200);
      origin.heal();
      await time.advance(5_000);
      await refresh.read(wish("a"));
      expect(refresh.bytes.failed).toBe(0);
    });
  });
});
