import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { CellTable } from "./cell-table.ts";
import { encodeKey } from "./key.ts";
import { Ledger } from "./ledger.ts";
import { nameBytes } from "./name-budget.ts";

const MINUTE_MS = 60_000;

describe("ledger", () => {
  test("a key with a slot has its name, what it takes of the budget, and a writer id", () => {
    const world = new LayeredEngine();
    world.accept();
    const { ledger } = world;
    expect(ledger.name(world.slot())).toEqual({
      key: world.key(),
      bytes: nameBytes(world.key()),
      writer: ledger.incarnation,
      reported: null,
    });
    expect(ledger.incarnation).toMatch(/^[0-9a-f]{16}$/);
  });

  test("accepted cost marks a slot unreplayed and unpublished, and pins it", () => {
    const world = new LayeredEngine();
    world.accept();
    const { ledger } = world;
    const slot = world.slot();
    expect([[...ledger.unreplayed], [...ledger.unpublished], ledger.isPinned(slot)]).toEqual([[slot], [slot], true]);
    ledger.markReplayed(slot);
    ledger.markPublished(slot);
    expect([ledger.unreplayed.size, ledger.unpublished.size, ledger.isPinned(slot)]).toEqual([0, 0, false]);
  });

  test("what the global store confirmed is forgotten with the slot, and of all slots at once", () => {
    const world = new LayeredEngine();
    const { ledger, sequence, previous } = world;
    for (const identifier of ["a", "b"]) {
      world.accept(identifier);
      ledger.confirm(world.slot(identifier), sequence);
    }
    const [a, b] = [world.slot("a"), world.slot("b")];
    expect([ledger.isConfirmed(a, sequence), ledger.isConfirmed(a, previous)]).toEqual([true, false]);
    world.engine.release(a, true);
    world.accept("c");
    expect(world.slot("c")).toBe(a);
    expect([ledger.isConfirmed(a, sequence), ledger.isConfirmed(b, sequence)]).toEqual([false, true]);
    ledger.forgetConfirmed();
    expect(ledger.isConfirmed(b, sequence)).toBe(false);
  });

  test("the two marks do not disturb each other", () => {
    const world = new LayeredEngine();
    world.accept();
    const { ledger } = world;
    const slot = world.slot();
    ledger.markReplayed(slot);
    expect([ledger.unreplayed.size, ledger.unpublished.size]).toEqual([0, 1]);
    ledger.markUnreplayed(slot);
    ledger.markPublished(slot);
    expect([ledger.unreplayed.size, ledger.unpublished.size, ledger.isPinned(slot)]).toEqual([1, 0, true]);
  });

  test("slots that are unreplayed are listed oldest first, each once", () => {
    const world = new LayeredEngine();
    for (const identifier of ["a", "b", "a", "c", "b"]) world.accept(identifier);
    const order = [...world.ledger.unreplayed].map((slot) => world.ledger.name(slot)!.key.identifier);
    expect(order).toEqual(["a", "b", "c"]);
  });

  test("a pinned slot is not evicted, a clean one is", () => {
    const world = new LayeredEngine(2);
    world.accept("a");
    world.accept("b");
    world.ledger.markReplayed(world.slot("b"));
    world.accept("c");
    expect([world.find("a") >= 0, world.find("b") >= 0, world.find("c") >= 0]).toEqual([true, false, true]);
  });

  test("after an eviction new slots count under a new writer id, and the old ones keep theirs", () => {
    const world = new LayeredEngine(2);
    const { ledger } = world;
    world.accept("a");
    world.accept("b");
    ledger.markReplayed(world.slot("b"));
    world.accept("c");
    const writer = (identifier: string) => ledger.name(world.slot(identifier))!.writer;
    expect(writer("a")).toBe(ledger.incarnation);
    expect(writer("c")).not.toBe(ledger.incarnation);
    ledger.markReplayed(world.slot("a"));
    ledger.markReplayed(world.slot("c"));
    world.accept("b");
    expect(new Set([ledger.incarnation, writer("c"), writer("b")]).size).toBeGreaterThanOrEqual(2);
    expect(writer("b")).not.toBe(ledger.incarnation);
  });

  test("no key ever counts one window under the same id from zero twice", () => {
    const world = new LayeredEngine(3);
    const seen = new Map<string, unknown>();
    for (let i = 0; i < 500; i++) {
      const identifier = `k${(i * 7) % 11}`;
      world.accept(identifier);
      const slot = world.find(identifier);
      if (slot < 0) continue;
      const name = world.ledger.name(slot)!;
      const id = `${encodeKey(name.key)} ${name.writer}`;
      // A writer id met again for a key must be the same claim: the very same name.
      expect(seen.get(id) ?? name).toBe(name);
      seen.set(id, name);
      if (i % 3 === 0) for (const one of [...world.ledger.unreplayed]) world.ledger.markReplayed(one);
    }
    expect(seen.size).toBeGreaterThan(100);
  });

  test("what expires is forgotten without a new id", () => {
    const world = new LayeredEngine(2);
    world.accept("a");
    world.time.pass(3 * MINUTE_MS);
    world.engine.sweepOnce(100, 100);
    world.accept("b");
    expect(world.find("a")).toBeLessThan(0);
    expect(world.ledger.name(world.slot("b"))!.writer).toBe(world.ledger.incarnation);
    expect([world.ledger.unreplayed.size, world.ledger.orphans]).toEqual([1, []]);
  });

  test("a slot that is given up before the origin confirmed it leaves its totals as orphans", () => {
    const world = new LayeredEngine();
    world.accept("a", 5);
    const slot = world.slot();
    world.engine.table.raiseReplayed(slot, world.sequence, 3);
    world.engine.release(slot, false);
    expect(world.ledger.orphans).toEqual([
      {
        key: encodeKey(world.key()),
        sequence: world.sequence,
        writer: world.ledger.incarnation,
        total: 5,
        unconfirmed: 2,
        expiresAtMs: (world.sequence + 2) * MINUTE_MS,
      },
    ]);
  });

  test("orphans whose cells have expired are dropped, and no others", () => {
    const world = new LayeredEngine();
    world.accept("a");
    world.time.pass(MINUTE_MS);
    world.accept("b");
    for (const identifier of ["a", "b"]) world.engine.release(world.slot(identifier), false);
    world.ledger.dropOrphans(world.time.wallMs);
    expect(world.ledger.orphans).toHaveLength(2);
    world.time.pass(MINUTE_MS);
    world.ledger.dropOrphans(world.time.wallMs);
    expect(world.ledger.orphans.map(({ key }) => key)).toEqual([encodeKey(world.key("b"))]);
  });

  test("a slot that is given up though nothing of it is missing, or because it is over, leaves no orphan", () => {
    const world = new LayeredEngine();
    world.accept("a", 5);
    world.engine.table.raiseReplayed(world.slot(), world.sequence, 5);
    world.engine.release(world.slot(), false);
    world.accept("b", 5);
    world.engine.release(world.slot("b"), true);
    expect(world.ledger.orphans).toEqual([]);
  });

  test("both windows of a slot may leave an orphan, each with its own expiry", () => {
    const world = new LayeredEngine();
    world.accept("a", 5);
    world.time.pass(MINUTE_MS);
    world.accept("a", 2);
    const { sequence } = world;
    world.engine.release(world.slot(), false);
    expect(world.ledger.orphans.map(({ total, expiresAtMs }) => [total, expiresAtMs])).toEqual([
      [2, (sequence + 2) * MINUTE_MS],
      [5, (sequence + 1) * MINUTE_MS],
    ]);
  });

  test("a hundred thousand orphans are kept, and the oldest are given up first", () => {
    const world = new LayeredEngine();
    const { ledger } = world;
    const filler = { key: "", sequence: 1, writer: "w", total: 1, unconfirmed: 1, expiresAtMs: 1 };
    for (let i = 0; i < 99_999; i++) ledger.orphans.push({ ...filler, total: i });
    for (const [length, oldest] of [
      [100_000, 0],
      [100_000, 1],
    ]) {
      world.accept();
      world.engine.release(world.slot(), false);
      expect([ledger.orphans.length, ledger.orphans[0]!.total]).toEqual([length, oldest]);
    }
  });

  test.each([
    [true, false],
    [false, true],
  ])("keeps in mind only what a layer asks for: replays %s, publishes %s", (replays, publishes) => {
    const table = new CellTable(4);
    const ledger = new Ledger(table, new SeededRandom(7), { replays, publishes });
    const slot = table.claim(1, 2, 3, MINUTE_MS as never, 7 as Sequence);
    ledger.claimed(slot, new LayeredEngine().key());
    ledger.accepted(slot, 10);
    ledger.accepted(slot, 10);
    expect([ledger.unreplayed.size, ledger.unpublished.size]).toEqual([Number(replays), Number(publishes)]);
    expect(ledger.isPinned(slot)).toBe(replays);
    expect(ledger.limitHigh(slot, 7 as Sequence)).toBe(publishes ? 10 : Number.POSITIVE_INFINITY);
    ledger.released(slot, true);
    expect([ledger.unreplayed.size, ledger.unpublished.size, ledger.name(slot)]).toEqual([0, 0, undefined]);
    expect(ledger.limitHigh(slot, 7 as Sequence)).toBe(Number.POSITIVE_INFINITY);
  });

  test("what the global store has of two windows in a row is kept apart, and forgotten when a pass begins", () => {
    const { ledger, engine } = new LayeredEngine();
    const slot = 0 as Slot;
    const [even, odd] = [8, 9] as unknown as [Sequence, Sequence];
    ledger.confirm(slot, even);
    expect([ledger.isConfirmed(slot, even), ledger.isConfirmed(slot, odd)]).toEqual([true, false]);
    ledger.confirm(slot, odd);
    ledger.markUnreplayed(slot);
    expect([ledger.isConfirmed(slot, even), ledger.isConfirmed(slot, odd)]).toEqual([true, true]);
    engine.table.claim(1, 2, 3, MINUTE_MS as never, even);
    ledger.forgetConfirmed();
    expect([ledger.isConfirmed(slot, even), ledger.isConfirmed(slot, odd), ledger.isPinned(slot)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("a row that has gone missing makes its slot due once more, and publishing it settles that", () => {
    const world = new LayeredEngine();
    world.accept("a");
    const { ledger } = world;
    const slot = world.slot();
    ledger.markPublished(slot);
    expect([ledger.isUnseen(slot), ledger.unpublished.has(slot)]).toEqual([false, false]);
    ledger.markUnseen(slot);
    expect([ledger.isUnseen(slot), ledger.unpublished.has(slot), ledger.isPinned(slot)]).toEqual([true, true, true]);
    ledger.markPublished(slot);
    expect([ledger.isUnseen(slot), ledger.unpublished.has(slot), ledger.isPinned(slot)]).toEqual([false, false, true]);
  });

  test("an incarnation is 64 bits in full, also of small numbers", () => {
    const random = { uint32: () => 0xab };
    expect(new Ledger(new CellTable(1), random, { replays: true, publishes: true }).incarnation).toBe(
      "000000ab000000ab",
    );
  });

  test("a new writer id is taken for what was counted in either window, once, and not for what was not", () => {
    const MINUTE = MINUTE_MS as DurationMs;
    for (const [own, ownBefore, isNew] of [
      [0, 0, false],
      [1, 0, true],
      [0, 1, true],
      [1, 1, true],
    ] as const) {
      const table = new CellTable(4);
      const ledger = new Ledger(table, new SeededRandom(7), { replays: true, publishes: true });
      const { key } = new LayeredEngine();
      const claim = (h0: number) => {
        const slot = table.claim(h0, 2, 3, MINUTE, 7 as Sequence);
        ledger.claimed(slot, key("a"));
        return slot;
      };
      const slot = claim(1);
      table.accept(slot, 7 as Sequence, ownBefore, 10);
      table.accept(slot, 8 as Sequence, own, 10);
      table.raiseOthers(slot, 8 as Sequence, 5);
      ledger.released(slot, false);
      table.release(slot);
      const writers = [claim(2), claim(3)].map((one) => ledger.name(one)?.writer);
      const expected = isNew ? `${ledger.incarnation}.1` : ledger.incarnation;
      expect(writers).toEqual([expected, expected]);
    }
  });

  test("a slot that was measured is so until it is released, whatever else is marked", () => {
    const world = new LayeredEngine();
    world.accept("a");
    const { ledger } = world;
    const slot = world.slot();
    expect(ledger.isMeasured(slot)).toBe(false);
    ledger.markMeasured(slot);
    ledger.markReplayed(slot);
    ledger.markPublished(slot);
    expect([ledger.isMeasured(slot), ledger.isPinned(slot)]).toEqual([true, false]);
    ledger.released(slot, true);
    expect(ledger.isMeasured(slot)).toBe(false);
  });
});
