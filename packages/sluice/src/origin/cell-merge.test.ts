import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import type { Sequence } from "../core/brands.ts";
import { NONE } from "../engine/cell-table.ts";
import { encodeKey } from "../engine/key.ts";
import { CellMerge } from "./cell-merge.ts";

const MINUTE_MS = 60_000;
const FRESH_MS = 3_000;
const NOTHING = { sum: 0, component: 0 };

function setUp(cellsMax = 8) {
  const world = new LayeredEngine(cellsMax);
  const merge = new CellMerge(world.engine, world.ledger);
  const { table } = world.engine;
  /** Whose component a read of the key would ask for. */
  const writerOf = (): string => (world.find() < 0 ? "" : world.ledger.name(world.slot())!.writer);
  const read = (
    sum: number,
    component = 0,
    options: { readonly beganMs?: number; readonly mayClaim?: boolean } = {},
  ) => {
    const { beganMs = world.time.monoMs, mayClaim = true } = options;
    const writer = writerOf();
    return merge.applyRead(world.key(), world.sequence, writer, { sum, component }, NOTHING, beganMs, mayClaim);
  };
  const cell = (at: Sequence = world.sequence) => {
    const slot = world.slot();
    return { own: table.own(slot, at), others: table.others(slot, at), fresh: table.freshUntilMs(slot, at) };
  };
  /** A slot without a name in the ledger. */
  const claim = (identifier: string) => {
    const slot = world.engine.claimFor(world.key(identifier), world.sequence, world.time.wallMs);
    world.ledger.released(slot, true);
    return slot;
  };
  return { world, merge, table, writerOf, read, cell, claim };
}

describe("cell merge", () => {
  test("a read that asked for no component merges nothing while a call of the key is under way: the sum may have its cost", () => {
    const { world, merge, read, cell } = setUp();
    read(0);
    world.ledger.markCalling(world.slot());
    const [sum, beganMs] = [{ sum: 3, component: 0 }, world.time.monoMs];
    expect(merge.applyRead(world.key(), world.sequence, "", sum, NOTHING, beganMs, true)).toBe(false);
    expect(cell()).toMatchObject({ others: 0 });
    expect(read(3, 3)).toBe(true);
  });

  test("others are the sum without this slot's own component, by max", () => {
    const { world, read, cell } = setUp();
    world.accept("a", 3);
    read(10, 3);
    expect(cell()).toMatchObject({ own: 3, others: 7 });
    read(8, 3);
    expect(cell()).toMatchObject({ own: 3, others: 7 });
  });

  test("cost that the origin has not heard of yet is not counted twice", () => {
    const { world, read, cell } = setUp();
    world.accept("a", 5);
    read(9, 2);
    expect(cell()).toMatchObject({ own: 5, others: 7 });
  });

  test("a cell is fresh from the moment the call began, not from its answer", () => {
    const { world, read, cell } = setUp();
    const beganMs = world.time.monoMs;
    world.time.pass(250);
    read(1, 0, { beganMs });
    expect(cell().fresh).toBe(beganMs + FRESH_MS);
    expect(cell(world.previous).fresh).toBe(beganMs + FRESH_MS);
  });

  test("an answer that was overtaken by a younger one makes nothing less fresh", () => {
    const { world, read, cell } = setUp();
    const beganMs = world.time.monoMs;
    world.time.pass(1_000);
    read(5);
    read(4, 0, { beganMs });
    expect(cell()).toMatchObject({ others: 5, fresh: beganMs + 1_000 + FRESH_MS });
  });

  test("a key without a slot gets one that knows the sum, unless it was peeked at", () => {
    const { world, read, cell } = setUp();
    expect(read(6, 0, { mayClaim: false })).toBe(true);
    expect(world.find()).toBeLessThan(0);
    expect(read(6)).toBe(true);
    expect(cell()).toMatchObject({ own: 0, others: 6 });
  });

  test("a slot that came while the read was under way learns a lower bound, and is not fresh", () => {
    const { world, merge, writerOf, cell } = setUp();
    const writer = writerOf();
    world.accept("a", 4);
    const isOk = merge.applyRead(world.key(), world.sequence, writer, { sum: 9, component: 0 }, NOTHING, 5, true);
    expect([isOk, cell()]).toEqual([false, { own: 4, others: 5, fresh: 0 }]);
  });

  test("a slot that an import made while the read was under way has counted nothing, and is fresh", () => {
    const { world, merge, writerOf, cell, claim } = setUp();
    const writer = writerOf();
    const slot = claim("a");
    const learn = (sum: number) =>
      merge.applyRead(world.key(), world.sequence, writer, { sum, component: 0 }, NOTHING, 5, true);
    expect([learn(8), cell()]).toEqual([true, { own: 0, others: 8, fresh: 5 + FRESH_MS }]);
    world.ledger.claimed(slot, world.key());
    expect([learn(9), cell()]).toEqual([true, { own: 0, others: 9, fresh: 5 + FRESH_MS }]);
  });

  test("a slot of a later window is begun anew, also for a peek, and stays strict", () => {
    const { world, table, read, cell, writerOf } = setUp();
    world.time.pass(10 * MINUTE_MS);
    world.accept("a", 9);
    const [writer, slot] = [writerOf(), world.slot()];
    table.raiseStrictUntil(slot, 12_345);
    world.time.jumpWall(-10 * MINUTE_MS);
    expect(read(4, 0, { mayClaim: false })).toBe(true);
    expect([world.slot(), cell()]).toMatchObject([slot, { own: 0, others: 4 }]);
    expect(table.strictUntilMs(slot)).toBe(12_345);
    world.accept("a", 1);
    expect(writerOf()).not.toBe(writer);
  });

  test("a slot that was evicted while the read was under way: all of the sum is somebody else's", () => {
    const { world, merge, writerOf, cell } = setUp(1);
    world.accept("a", 9);
    const writer = writerOf();
    world.ledger.markReplayed(world.slot());
    world.accept("b");
    world.ledger.markReplayed(world.slot("b"));
    const answer = { sum: 9, component: 9 };
    expect(merge.applyRead(world.key(), world.sequence, writer, answer, NOTHING, world.time.monoMs, true)).toBe(true);
    expect(cell()).toMatchObject({ own: 0, others: 9 });
  });

  test("an answer of a window that has ended merges into what is the previous one now", () => {
    const { world, merge, writerOf, cell } = setUp();
    world.accept("a", 1);
    const { sequence } = world;
    const beganMs = world.time.monoMs;
    const writer = writerOf();
    world.time.pass(MINUTE_MS);
    world.accept("a", 1);
    merge.applyRead(world.key(), sequence, writer, { sum: 8, component: 1 }, NOTHING, beganMs, true);
    expect([cell().others, cell(sequence).others]).toEqual([0, 7]);
  });

  test("a component below what was confirmed makes the cell unreplayed again", () => {
    const { world, merge, table, read } = setUp();
    world.accept("a", 5);
    const slot = world.slot();
    table.raiseReplayed(slot, world.sequence, 5);
    world.ledger.markReplayed(slot);
    read(2, 2);
    expect([table.replayed(slot, world.sequence), world.ledger.isPinned(slot), merge.healed]).toEqual([2, true, 1]);
  });

  test("a raise that is answered confirms its total and brings the others", () => {
    const { world, merge, table, cell } = setUp();
    world.accept("a", 5);
    const slot = world.slot();
    const name = world.ledger.name(slot)!;
    merge.applyRaise(slot, name, world.sequence, 5, { sum: 12, component: 5 }, world.time.monoMs);
    expect([table.replayed(slot, world.sequence), cell().others]).toEqual([5, 7]);
  });

  test("the answer of a raise whose slot has become another key's is dropped", () => {
    const { world, merge, table } = setUp(1);
    world.accept("a", 5);
    const slot = world.slot();
    const name = world.ledger.name(slot)!;
    world.ledger.markReplayed(slot);
    world.accept("b");
    merge.applyRaise(slot, name, world.sequence, 5, { sum: 12, component: 5 }, world.time.monoMs);
    expect([table.replayed(slot, world.sequence), table.others(slot, world.sequence)]).toEqual([0, 0]);
  });

  test("a read asks for the component that the key is counted under; for a key without one, for nobody's", () => {
    const { world, merge, claim } = setUp();
    expect(merge.writerOf(world.key())).toBe("");
    world.accept("a");
    expect(merge.writerOf(world.key())).toBe(world.ledger.name(world.slot())!.writer);
    claim("unnamed");
    expect(merge.writerOf(world.key("unnamed"))).toBe("");
  });

  test("what goes along with a read is the whole own total, of a cell that is not confirmed, and of no other", () => {
    const { world, merge, table, claim } = setUp();
    table.accept(claim("unnamed"), world.sequence, 3, 10);
    expect([
      merge.unreplayed(world.key(), world.sequence),
      merge.unreplayed(world.key("unnamed"), world.sequence),
    ]).toEqual([null, null]);
    world.accept("a", 5);
    const slot = world.slot();
    const { writer } = world.ledger.name(slot)!;
    const text = encodeKey(world.key());
    const { sequence } = world;
    table.raiseReplayed(slot, sequence, 4);
    const expiresAtMs = (sequence + 2) * MINUTE_MS;
    expect(merge.unreplayed(world.key(), sequence)).toEqual({ key: text, sequence, writer, total: 5, expiresAtMs });
    table.raiseReplayed(slot, sequence, 5);
    expect(merge.unreplayed(world.key(), sequence)).toBeNull();
  });

  test("both cells are learnt, each without its own component", () => {
    const { world, merge, table, cell, writerOf } = setUp();
    world.accept("a", 2);
    world.time.pass(MINUTE_MS);
    const [current, previous] = [
      { sum: 4, component: 0 },
      { sum: 9, component: 2 },
    ];
    merge.applyRead(world.key(), world.sequence, writerOf(), current, previous, 5, true);
    expect(table.sequence(world.slot())).toBe(world.sequence);
    expect([cell(), cell(world.previous)]).toEqual([
      { own: 0, others: 4, fresh: 5 + FRESH_MS },
      { own: 2, others: 7, fresh: 5 + FRESH_MS },
    ]);
  });

  test("cost in the previous window alone makes an answer about another component a mere lower bound, of both cells", () => {
    const { world, merge, cell } = setUp();
    world.accept("a", 4);
    world.time.pass(MINUTE_MS);
    const [current, previous] = [
      { sum: 3, component: 0 },
      { sum: 9, component: 0 },
    ];
    expect(merge.applyRead(world.key(), world.sequence, "another", current, previous, 5, true)).toBe(false);
    expect([cell(), cell(world.previous)]).toEqual([
      { own: 0, others: 3, fresh: 0 },
      { own: 4, others: 5, fresh: 0 },
    ]);
  });

  test("an answer of the window that has just ended makes a slot, and is its previous cell", () => {
    const { world, merge, cell } = setUp();
    const { sequence } = world;
    world.time.pass(MINUTE_MS);
    expect(merge.applyRead(world.key(), sequence, "", { sum: 8, component: 0 }, NOTHING, 5, true)).toBe(true);
    expect([cell(world.sequence).others, cell(sequence).others]).toEqual([0, 8]);
  });

  test("an answer of the window that has just ended turns the slot of its key forward", () => {
    const { world, merge, cell, table, writerOf } = setUp();
    world.accept("a", 3);
    const { sequence } = world;
    world.time.pass(2 * MINUTE_MS);
    const read = (sequence + 1) as typeof sequence;
    expect(merge.applyRead(world.key(), read, writerOf(), { sum: 8, component: 0 }, NOTHING, 5, true)).toBe(true);
    expect([table.sequence(world.slot()), cell(read).others]).toEqual([world.sequence, 8]);
  });

  test("an answer of a window that has ended before the last makes no slot", () => {
    const { world, merge } = setUp();
    const { sequence } = world;
    world.time.pass(2 * MINUTE_MS);
    expect(merge.applyRead(world.key(), sequence, "", { sum: 8, component: 0 }, NOTHING, 5, true)).toBe(true);
    expect(world.find()).toBeLessThan(0);
  });

  test("an answer of a window that a clock has left again turns no slot forward", () => {
    const { world, merge, table, writerOf } = setUp();
    world.accept("a", 4);
    const { sequence } = world;
    const later = (sequence + 1) as Sequence;
    expect(merge.applyRead(world.key(), later, writerOf(), { sum: 8, component: 0 }, NOTHING, 5, true)).toBe(true);
    expect([table.sequence(world.slot()), table.own(world.slot(), sequence)]).toEqual([sequence, 4]);
  });

  test("where the table is full of what nobody else has, a read leaves no trace and may be relied on", () => {
    const { world, merge, read } = setUp(1);
    world.accept("b", 1);
    expect(read(6)).toBe(true);
    expect([world.find(), world.ledger.name(NONE), merge.healed]).toEqual([NONE, undefined, 0]);
  });

  test("a component as high as was confirmed heals nothing", () => {
    const { world, merge, table, read } = setUp();
    world.accept("a", 5);
    table.raiseReplayed(world.slot(), world.sequence, 5);
    world.ledger.markReplayed(world.slot());
    read(5, 5);
    expect([merge.healed, world.ledger.isPinned(world.slot())]).toEqual([0, false]);
  });

  test("news of other processes makes a key due for publishing, old news does not", () => {
    const { world, read } = setUp();
    world.accept("a", 1);
    world.ledger.markPublished(world.slot());
    read(1, 1);
    expect(world.ledger.unpublished.size).toBe(0);
    read(4, 1);
    expect(world.ledger.unpublished.size).toBe(1);
  });
});
