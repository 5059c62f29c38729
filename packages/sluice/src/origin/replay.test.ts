import { describe, expect, test } from "vitest";
import { replaying } from "../../../../test/support/replaying-engine.ts";
import type { TraceEvent } from "../core/trace.ts";
import { encodeKey } from "../engine/key.ts";

const MINUTE_MS = 60_000;

describe("replay", () => {
  test("sends each dirty cell's own total once, and a clean cell not at all", async () => {
    const { world, accept, replay, raised } = replaying();
    accept("a", 2);
    accept("a", 3);
    accept("b");
    await replay.flushOnce();
    await replay.flushOnce();
    expect(raised().sort()).toEqual(["a5", "b1"]);
    expect([world.ledger.unreplayed.size, replay.unconfirmed()]).toEqual([0, 0]);
  });

  test("an empty table asks nobody", async () => {
    const { origin, replay } = replaying();
    expect([await replay.flushOnce(), origin.raises]).toEqual([true, []]);
  });

  test("cells nearest their limit go first, within the budget, but for a quarter of it that is for the oldest", async () => {
    const { accept, time, replay, raised } = replaying(4);
    for (const [identifier, cost] of [
      ["a", 1],
      ["b", 80],
      ["c", 50],
      ["d", 100],
      ["e", 20],
      ["f", 90],
    ] as const)
      accept(identifier, cost);
    await replay.flushOnce();
    expect(raised()).toEqual(["a1", "d100", "f90", "b80"]);
    expect(replay.unconfirmed()).toBe(70);
    time.pass(50);
    await replay.flushOnce();
    expect(raised().slice(4)).toEqual(["c50", "e20"]);
  });

  test("a flush that comes late has the budget of the intervals it missed, up to four, and a carried cell", async () => {
    const { world, time, replay, raised } = replaying(2, 64);
    for (let i = 0; i < 60; i++) world.accept(`user_${i}`, 1);
    const sizes: number[] = [];
    for (const laterMs of [0, 50, 99, 100, 1_000, 50]) {
      time.pass(laterMs);
      const before = raised().length;
      await replay.flushOnce();
      sizes.push(raised().length - before);
    }
    // Two per 50 ms. After 99 ms nearly 4 have accrued, of which one interval's 2 and one more are kept.
    expect(sizes).toEqual([2, 2, 3, 4, 9, 2]);
  });

  test("a cell that uses little of its limit is not kept waiting for ever by busy ones", async () => {
    const { accept, time, replay, raised } = replaying(2);
    accept("z", 1);
    for (let flush = 0; flush < 3; flush++) {
      for (const identifier of ["a", "b", "c"]) accept(identifier, 10);
      time.pass(50);
      await replay.flushOnce();
    }
    expect(raised()).toContain("z1");
    // What was counted while a flush was under way waits anew, behind the others.
    const sent = raised().filter((one) => one.startsWith("a") || one.startsWith("b") || one.startsWith("c"));
    expect(new Set(sent.map((one) => one[0]))).toEqual(new Set(["a", "b", "c"]));
  });

  test("the heartbeat goes last: a state that has it has all that was sent with it", async () => {
    const { accept, origin, replay } = replaying();
    accept("a");
    await replay.flushOnce();
    await replay.flushOnce();
    const isBeat = (flush: number) => origin.raises[flush]!.map(({ key }) => key.startsWith("heartbeat"));
    expect([isBeat(0), isBeat(1)]).toEqual([[false, true], [true]]);
  });

  test("cost that comes while a flush is under way stays dirty", async () => {
    const { world, accept, origin, replay, sum } = replaying();
    accept("a", 2);
    origin.trouble("stalled");
    const flush = replay.flushOnce();
    accept("a", 3);
    origin.heal();
    await flush;
    expect([await sum(), replay.unconfirmed(), world.ledger.unreplayed.size]).toEqual([2, 3, 1]);
    await replay.flushOnce();
    expect([await sum(), replay.unconfirmed()]).toEqual([5, 0]);
  });

  test("one flush at a time", async () => {
    const { accept, origin, replay } = replaying();
    accept("a");
    origin.trouble("stalled");
    const flush = replay.flushOnce();
    expect(await replay.flushOnce()).toBe(true);
    origin.heal();
    await flush;
    expect(origin.raises).toHaveLength(1);
  });

  test("a flush that fails leaves everything dirty, and says so", async () => {
    const { accept, origin, replay, sum } = replaying();
    accept("a", 4);
    origin.trouble("failing");
    expect([await replay.flushOnce(), replay.unconfirmed()]).toEqual([false, 4]);
    origin.heal();
    await replay.flushOnce();
    expect(await sum()).toBe(4);
  });

  test("the window that ended is still replayed, and one that has expired is not", async () => {
    const { world, accept, time, replay, sum, raised } = replaying();
    accept("a", 4);
    time.pass(MINUTE_MS);
    accept("a", 2);
    await replay.flushOnce();
    expect([await sum(), await sum("a", world.previous)]).toEqual([2, 4]);
    accept("b", 3);
    time.pass(3 * MINUTE_MS);
    expect(replay.unconfirmed()).toBe(0);
    await replay.flushOnce();
    expect(raised()).not.toContain("b3");
  });

  test("a busy key's previous cell is kept fresh by the way, before it ages", async () => {
    const { world, time, replay, raised } = replaying();
    const { table } = world.engine;
    world.accept("a");
    await replay.flushOnce();
    expect(raised()).toEqual(["a1", "a0"]);
    const until = () => table.freshUntilMs(world.slot(), world.previous);
    const firstMs = until();
    time.pass(1_000);
    world.accept("a");
    await replay.flushOnce();
    expect(until()).toBe(firstMs);
    time.pass(1_000);
    world.accept("a");
    await replay.flushOnce();
    expect(until()).toBe(firstMs + 2_000);
  });

  test("an origin that lost what it had confirmed gets every live cell again", async () => {
    const { accept, origin, replay, sum } = replaying();
    for (const identifier of ["a", "b", "c"]) accept(identifier, 2);
    await replay.flushOnce();
    await replay.flushOnce();
    await origin.lose();
    await replay.flushOnce();
    expect([replay.losses, replay.unconfirmed()]).toEqual([1, 6]);
    await replay.flushOnce();
    expect(await Promise.all(["a", "b", "c"].map((identifier) => sum(identifier)))).toEqual([2, 2, 2]);
    await replay.flushOnce();
    expect([replay.losses, replay.unconfirmed()]).toEqual([1, 0]);
  });

  test("a flush confirmed without its heartbeat: once it is heard again, everything is sent again", async () => {
    // A node of a Cluster is away, and another one goes back to an older state meanwhile: that state may hold as much of the
    // heartbeat as was ever confirmed.
    const { accept, origin, replay, raised } = replaying();
    accept("a", 4);
    await replay.flushOnce();
    const raise = origin.raise.bind(origin);
    origin.raise = async (raises) => {
      const answers = await raise(raises);
      return answers.map((answer, i) =>
        raises[i]!.key.startsWith("heartbeat") ? { sum: Number.NaN, component: Number.NaN } : answer,
      );
    };
    accept("b", 2);
    await replay.flushOnce();
    expect([raised(), replay.unconfirmed()]).toEqual([["a4", "b2"], 0]);
    origin.raise = raise;
    await replay.flushOnce();
    await replay.flushOnce();
    expect([raised().slice(2).sort(), replay.losses, replay.unconfirmed()]).toEqual([["a4", "b2"], 0, 0]);
    await replay.flushOnce();
    expect(raised()).toHaveLength(4);
  });

  test("a flush that is not answered within a second has failed, and everything stays dirty", async () => {
    const { time, accept, origin, replay } = replaying();
    accept("a", 4);
    origin.trouble("stalled");
    let outcome: boolean | undefined;
    void replay.flushOnce().then((isOk) => {
      outcome = isOk;
    });
    await time.advance(999);
    expect([outcome, replay.isFlushing]).toEqual([undefined, true]);
    await time.advance(1);
    expect([outcome, replay.isFlushing, replay.unconfirmed()]).toEqual([false, false, 4]);
  });

  test("with an open breaker nothing is listed or sent, and nothing hurries any more", async () => {
    const { world, accept, origin, calls, replay } = replaying();
    accept("a", 4);
    origin.trouble("failing");
    for (let i = 0; i < 20; i++) await calls.read([], 100);
    origin.heal();
    replay.hurried.add(world.slot());
    expect([await replay.flushOnce(), origin.raises.length]).toEqual([false, 0]);
    expect([replay.hurried.size, replay.unconfirmed()]).toEqual([0, 4]);
  });

  test("no more cells go out than the budget says, though a key has two", async () => {
    const { time, accept, replay, raised } = replaying(3);
    for (const identifier of ["a", "b", "c"]) accept(identifier, 1);
    time.pass(MINUTE_MS);
    for (const identifier of ["a", "b", "c"]) accept(identifier, 2);
    await replay.flushOnce(3);
    expect(raised()).toHaveLength(3);
    expect(replay.unconfirmed()).toBeGreaterThan(0);
    await replay.flushOnce(3);
    expect([raised().length, replay.unconfirmed()]).toEqual([6, 0]);
  });

  test("while more are dirty than a flush carries, none is sent for its freshness alone", async () => {
    const { world, time, replay, raised } = replaying(2);
    for (const identifier of ["a", "b"]) world.accept(identifier, 1);
    await replay.flushOnce(4);
    expect(raised().sort()).toEqual(["a0", "a1", "b0", "b1"]);
    time.pass(2_000);
    for (const identifier of ["a", "b", "c"]) world.accept(identifier, 1);
    await replay.flushOnce(2);
    expect(
      raised()
        .slice(4)
        .filter((one) => one.endsWith("0")),
    ).toEqual([]);
  });

  test("cells that hurry go alone, not while a flush is under way, and within its budget", async () => {
    const { world, time, accept, origin, replay, raised } = replaying(3);
    await replay.flushHurriedOnce();
    expect(origin.raises).toEqual([]);
    accept("a", 1);
    accept("b", 2);
    replay.hurried.add(world.slot("b"));
    origin.trouble("stalled");
    const flush = replay.flushHurriedOnce();
    replay.hurried.add(world.slot("a"));
    await replay.flushHurriedOnce();
    expect([origin.raises.length, replay.hurried.size, replay.isFlushing]).toEqual([1, 1, true]);
    origin.heal();
    await flush;
    expect([raised(), replay.isFlushing]).toEqual([["b2"], false]);
    await replay.flushHurriedOnce();
    expect([raised(), replay.hurried.size]).toEqual([["b2", "a1"], 0]);
    // Two of three are used up: one more, and then none until time has passed.
    for (const identifier of ["a", "b"]) {
      accept(identifier, 1);
      replay.hurried.add(world.slot(identifier));
    }
    await replay.flushHurriedOnce();
    expect(raised()).toHaveLength(3);
    const calls = origin.raises.length;
    replay.hurried.add(world.slot("a"));
    await replay.flushHurriedOnce();
    expect([raised().length, origin.raises.length], "not even the heartbeat").toEqual([3, calls]);
    time.pass(50);
    await replay.flushOnce();
    expect(replay.unconfirmed()).toBe(0);
  });

  test("cells that hurried alone, with room for more, do not make the others confirmed", async () => {
    const { world, time, accept, replay } = replaying();
    for (const identifier of ["a", "b"]) accept(identifier);
    replay.hurried.add(world.slot("b"));
    time.pass(50);
    await replay.flushHurriedOnce();
    expect([replay.unconfirmedForMs, replay.unconfirmed()]).toEqual([50, 1]);
  });

  test("what a read has confirmed meanwhile is not sent, and waits no more", async () => {
    const { world, accept, replay, raised } = replaying();
    accept("a", 4);
    accept("b", 2);
    const slot = world.slot("a");
    world.engine.table.raiseReplayed(slot, world.sequence, 4);
    await replay.flushOnce();
    expect(raised()).toEqual(["b2"]);
    expect([world.ledger.isPinned(slot), world.ledger.unreplayed.size]).toEqual([false, 0]);
  });

  test("a cell without cost of its own is not sent along with the window before", async () => {
    const { world, time, accept, replay, raised } = replaying();
    accept("a", 4);
    time.pass(MINUTE_MS);
    world.engine.table.rotate(world.slot("a"), world.sequence);
    await replay.flushOnce();
    expect(raised()).toEqual(["a4"]);
  });

  test("a cell is sent up to its last millisecond", async () => {
    for (const [passedMs, sent] of [
      [2 * MINUTE_MS - 1, ["a4"]],
      [2 * MINUTE_MS, []],
    ] as const) {
      const { time, accept, replay, raised } = replaying();
      accept("a", 4);
      time.pass(passedMs);
      expect(replay.unconfirmed()).toBe(sent.length * 4);
      await replay.flushOnce();
      expect(raised()).toEqual(sent);
    }
  });

  test("how long cost may have waited is counted from the last flush that sent all there was", async () => {
    const { world, time, accept, origin, replay } = replaying(2);
    const afterFlush = async (flush: () => Promise<unknown>) => {
      time.pass(50);
      await flush();
      return replay.unconfirmedForMs;
    };
    const flushOnce = () => replay.flushOnce(2);
    // Nothing there: nothing waits.
    expect(await afterFlush(flushOnce)).toBe(0);
    accept("a");
    expect(await afterFlush(flushOnce)).toBe(0);
    // More than the budget, a failure, and cells that hurried alone: something may still wait.
    for (const identifier of ["a", "b", "c"]) accept(identifier);
    expect(await afterFlush(flushOnce)).toBe(50);
    origin.trouble("failing");
    expect(await afterFlush(flushOnce)).toBe(100);
    origin.heal();
    replay.hurried.add(world.slot("c"));
    expect(await afterFlush(() => replay.flushHurriedOnce())).toBe(150);
    expect(await afterFlush(flushOnce)).toBe(0);
    // A cell that the origin could not tell about.
    accept("a");
    const raise = origin.raise.bind(origin);
    origin.raise = async (raises) => [{ sum: Number.NaN, component: Number.NaN }, ...(await raise(raises)).slice(1)];
    expect(await afterFlush(flushOnce)).toBe(50);
    origin.raise = raise;
    expect(await afterFlush(flushOnce)).toBe(0);
    // It began before it was answered: what was accepted meanwhile waits.
    accept("a");
    origin.trouble("stalled");
    const flush = flushOnce();
    time.pass(20);
    origin.heal();
    await flush;
    expect(replay.unconfirmedForMs).toBe(20);
  });

  test("a loss is told with the number of keys that may be sent again", async () => {
    const { accept, origin, replay } = replaying();
    const told: number[] = [];
    replay.onLoss = (keys) => told.push(keys);
    for (const identifier of ["a", "b", "c"]) accept(identifier, 2);
    await replay.flushOnce();
    await origin.lose();
    await replay.flushOnce();
    expect(told).toEqual([3]);
  });

  test("after a loss the window before is sent again too, and a slot that is free is passed over", async () => {
    const { world, time, accept, origin, replay, sum } = replaying();
    for (const identifier of ["a", "b", "c"]) accept(identifier, 4);
    await replay.flushOnce();
    time.pass(MINUTE_MS);
    accept("a", 1);
    await replay.flushOnce();
    world.engine.release(world.slot("b"), true);
    await origin.lose();
    await replay.flushOnce();
    expect(replay.unconfirmed()).toBe(4 + 1 + 4);
    await replay.flushOnce();
    const sums = await Promise.all([sum("a"), sum("a", world.previous), sum("c", world.previous)]);
    expect([sums, replay.unconfirmed()]).toEqual([[1, 4, 4], 0]);
  });

  test("an answer for a slot that has become another key's confirms nothing of the new one", async () => {
    const { world, accept, origin, replay } = replaying();
    accept("a", 4);
    origin.trouble("stalled");
    const flush = replay.flushOnce();
    const slot = world.slot("a");
    world.engine.release(slot, true);
    accept("b", 3);
    expect(world.slot("b")).toBe(slot);
    origin.heal();
    await flush;
    expect([replay.unconfirmed(), world.ledger.unreplayed.size]).toEqual([3, 1]);
  });

  test("a history hears of every cell that was sent, with what was answered or that nothing was", async () => {
    const events: TraceEvent[] = [];
    const { world, time, accept, origin, replay } = replaying(100, 16, (event) => events.push(event));
    accept("a", 4);
    const { writer } = world.ledger.name(world.slot())!;
    const key = encodeKey(world.key());
    await origin.accept(key, world.sequence, 5);
    origin.trouble("failing");
    await replay.flushOnce();
    origin.heal();
    await replay.flushOnce();
    const { wallMs, monoMs } = time;
    const told = { kind: "raise", key, sequence: world.sequence, writer, total: 4, wallMs, monoMs, beganMs: monoMs };
    expect(events).toEqual([
      { ...told, isAnswered: false, sum: 0, component: 0 },
      { ...told, isAnswered: true, sum: 9, component: 4 },
    ]);
  });
});
