import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/layered-engine.ts";
import { TroubledOrigin } from "../../../../test/troubled-stores.ts";
import type { Sequence } from "../core/brands.ts";
import { encodeKey } from "../engine/key.ts";
import { CellMerge } from "./cell-merge.ts";
import { OriginCalls } from "./origin-calls.ts";
import { type ReadWish, Refresh } from "./refresh.ts";

function setUp() {
  const world = new LayeredEngine();
  const { time } = world;
  const origin = new TroubledOrigin(time);
  const calls = new OriginCalls(origin, time.clock, time.timers);
  const refresh = new Refresh(calls, new CellMerge(world.engine, world.ledger), time.clock, 300, null);
  const wish = (identifier = "a", fields: Partial<ReadWish> = {}): ReadWish => ({
    key: world.key(identifier),
    sequence: world.sequence,
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

  test("a read of another window is not shared", async () => {
    const { world, origin, refresh, wish } = setUp();
    const before = wish("a", { sequence: world.previous });
    const [one, other] = await Promise.all([refresh.read(before), refresh.read(wish())]);
    expect([one.sequence, other.sequence, origin.reads.length]).toEqual([world.previous, world.sequence, 2]);
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
    const { world, time, wish } = setUp();
    world.accept("a");
    const half = {
      read: async () => [
        { sum: 5, component: 0 },
        { sum: Number.NaN, component: 0 },
      ],
      raise: async () => [],
      close: async () => {},
    };
    const calls = new OriginCalls(half, time.clock, time.timers);
    const refresh = new Refresh(calls, new CellMerge(world.engine, world.ledger), time.clock, 300, null);
    expect((await refresh.read(wish())).isOk).toBe(false);
    expect(world.engine.table.others(world.slot(), world.sequence as Sequence)).toBe(0);
  });
});
