import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/layered-engine.ts";
import { encodeKey } from "./key.ts";

const MINUTE_MS = 60_000;

describe("ledger", () => {
  test("a key with a slot has its name, the text that processes share, and a writer id", () => {
    const world = new LayeredEngine();
    world.accept();
    const { ledger } = world;
    expect(ledger.name(world.slot())).toEqual({
      key: world.key(),
      text: encodeKey(world.key()),
      writer: ledger.incarnation,
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
      const id = `${name.text} ${name.writer}`;
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
});
