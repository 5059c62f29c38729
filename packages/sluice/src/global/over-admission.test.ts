import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import type { Sequence, Slot } from "../core/brands.ts";
import { Import } from "./import.ts";
import { OverAdmissions } from "./over-admission.ts";
import { RowBudget } from "./row-budget.ts";

const MINUTE_MS = 60_000;
const LIMIT = 100;
const SEQUENCE = 7 as Sequence;

function setUp() {
  const world = new LayeredEngine(8);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const budget = new RowBudget({ namespaceRowsMax: 10, workspaceRowsMax: 10 });
  const options = { region: "eu", importMs: 1_000, clock: time.clock, timers: time.timers, trace: null, budget };
  const imports = new Import(engine, ledger, counters, options);
  const { sequence } = world;
  const put = (region: string, count: number, identifier = "a", note: { isCharged?: true } = {}) =>
    counters.store.publish(region, [
      { key: world.key(identifier), sequence, count, expiresAtMs: (sequence + 2) * MINUTE_MS, ...note },
    ]);
  const told = () => Object.values(imports.overAdmissions.read());
  return { world, time, imports, put, told };
}

describe("over-admission", () => {
  test("a window that is still open is not measured, one that is over is: by what all regions accepted", async () => {
    const { world, time, imports, put, told } = setUp();
    world.accept("a", 60, LIMIT);
    await put("eu", 60);
    await put("us", 50);
    await imports.importOnce();
    expect(told()).toEqual([]);
    await time.advanceToWindow(MINUTE_MS);
    for (let i = 0; i < 10; i++) await imports.importOnce();
    expect(told()).toEqual([{ cells: 1, cellsOver: 1, excess: 10, limits: LIMIT }]);
  });

  test("a cell that was charged beyond its limit is an overdraft, whoever charged it, and nothing was admitted too much", async () => {
    const { world, time, imports, put, told } = setUp();
    const by = ["here", "there", "nobody", "within"] as const;
    for (const identifier of by) world.accept(identifier, 60, LIMIT);
    world.charge("here", 1, LIMIT);
    for (const identifier of by) await put("eu", identifier === "here" ? 61 : 60, identifier);
    await put("us", 500, "here");
    await put("us", 500, "there", { isCharged: true });
    await put("us", 50, "nobody");
    await put("us", 40, "within", { isCharged: true });
    await time.advanceToWindow(MINUTE_MS);
    for (let i = 0; i < 10; i++) await imports.importOnce();
    // "nobody" charged a cell that is 10 over, and a cell that was charged within its limit is measured like any other.
    expect(told()).toEqual([{ cells: 2, cellsOver: 1, excess: 10, limits: 2 * LIMIT }]);
  });

  test("an import that finds a row without the note of this process's charge makes it due", async () => {
    const { world, imports, put } = setUp();
    world.charge("a", 60, LIMIT);
    world.ledger.markPublished(world.slot());
    await put("eu", 60);
    await imports.importOnce();
    expect(world.ledger.unpublished.has(world.slot())).toBe(true);
    world.ledger.markPublished(world.slot());
    await put("us", 1, "a", { isCharged: true });
    await imports.importOnce();
    expect(world.ledger.isChargeUntold(world.slot(), world.sequence)).toBe(false);
  });

  test("a total that arrives late corrects what was told, and repeats count once", async () => {
    const { world, time, imports, put, told } = setUp();
    world.accept("a", 60, LIMIT);
    await put("us", 40);
    await put("eu", 60);
    await time.advanceToWindow(MINUTE_MS);
    for (let i = 0; i < 11; i++) await imports.importOnce();
    expect(told()).toEqual([{ cells: 1, cellsOver: 0, excess: 0, limits: LIMIT }]);
    await put("us", 45);
    for (let i = 0; i < 11; i++) await imports.importOnce();
    expect(told()).toEqual([{ cells: 1, cellsOver: 1, excess: 5, limits: LIMIT }]);
  });

  /** Over-admissions by themselves, and slots of keys in any namespace. */
  function setUpSlots(cellsMax = 8) {
    const { engine, ledger, sequence } = new LayeredEngine(cellsMax);
    let claims = 0;
    const slotIn = (namespace: string): Slot => {
      const slot = engine.table.claim(++claims, 1, 1, MINUTE_MS as never, sequence);
      ledger.claimed(slot, {
        workspace: "default",
        namespace,
        identifier: `k${claims}`,
        durationMs: MINUTE_MS as never,
      });
      return slot;
    };
    return { over: new OverAdmissions(ledger, cellsMax), slotIn };
  }

  test("what was admitted too much is corrected upwards only, by the limit that was first told", () => {
    const { over, slotIn } = setUpSlots();
    const slot = slotIn("api");
    const told = (total: number, limit = LIMIT, sequence = 7) => {
      over.measure(slot, sequence as Sequence, total, limit);
      return over.read()["api"];
    };
    expect(told(100)).toEqual({ cells: 1, cellsOver: 0, excess: 0, limits: 100 });
    expect(told(101)).toEqual({ cells: 1, cellsOver: 1, excess: 1, limits: 100 });
    expect(told(110, 90)).toEqual({ cells: 1, cellsOver: 1, excess: 20, limits: 100 });
    expect(told(105)).toEqual({ cells: 1, cellsOver: 1, excess: 20, limits: 100 });
    // The next window is another cell.
    expect(told(103, 50, 8)).toEqual({ cells: 2, cellsOver: 2, excess: 73, limits: 150 });
    expect(told(1_000, Number.POSITIVE_INFINITY, 9)).toEqual({ cells: 2, cellsOver: 2, excess: 73, limits: 150 });
  });

  test("each namespace is told for itself, and those beyond the first thousand together", () => {
    const { over, slotIn } = setUpSlots(1_004);
    for (let i = 0; i < 1_003; i++) over.measure(slotIn(`n${i}`), SEQUENCE, LIMIT + 1, LIMIT);
    over.measure(slotIn("n999"), SEQUENCE, LIMIT + 2, LIMIT);
    const told = over.read();
    expect(Object.keys(told)).toHaveLength(1_001);
    expect(told["n998"]).toEqual({ cells: 1, cellsOver: 1, excess: 1, limits: LIMIT });
    expect(told["n999"]).toEqual({ cells: 2, cellsOver: 2, excess: 3, limits: 2 * LIMIT });
    expect(told[""]).toEqual({ cells: 3, cellsOver: 3, excess: 3, limits: 3 * LIMIT });
  });

  test("what was read does not change with what comes later", () => {
    const { over, slotIn } = setUpSlots();
    over.measure(slotIn("api"), SEQUENCE, LIMIT, LIMIT);
    const before = over.read();
    over.measure(slotIn("api"), SEQUENCE, LIMIT, LIMIT);
    expect(before["api"]?.cells).toBe(1);
  });

  test("another key that takes the place of one that was measured is measured by itself", async () => {
    const { world, time, imports, told } = setUp();
    await time.advanceToWindow(MINUTE_MS);
    const { engine, ledger } = world;
    const measure = (identifier: string, total: number) => {
      world.accept(identifier, 1, LIMIT);
      const slot = world.slot(identifier);
      imports.overAdmissions.measure(slot, world.previous, total, LIMIT);
      return slot;
    };
    const slot = measure("a", LIMIT + 5);
    expect(ledger.isMeasured(slot)).toBe(true);
    engine.release(slot, true);
    expect(measure("b", LIMIT + 5)).toBe(slot);
    expect(told()).toEqual([{ cells: 2, cellsOver: 2, excess: 10, limits: 2 * LIMIT }]);
  });

  test("a key that nobody asked about here has no limit that is known, and is not measured", async () => {
    const { time, imports, put, told } = setUp();
    await put("us", 5_000);
    await imports.importOnce();
    await time.advanceToWindow(MINUTE_MS);
    for (let i = 0; i < 10; i++) await imports.importOnce();
    expect(told()).toEqual([]);
  });
});
