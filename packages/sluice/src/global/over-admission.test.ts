import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/layered-engine.ts";
import { TroubledCounters } from "../../../../test/troubled-stores.ts";
import type { SlotName } from "../engine/ledger.ts";
import { Import } from "./import.ts";
import { OverAdmissions } from "./over-admission.ts";

const MINUTE_MS = 60_000;
const LIMIT = 100;

function setUp() {
  const world = new LayeredEngine(8);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const options = { region: "eu", importMs: 1_000, clock: time.clock, timers: time.timers, trace: null };
  const imports = new Import(engine, ledger, counters, options);
  const { sequence } = world;
  const put = (region: string, count: number, identifier = "a") =>
    counters.store.publish(region, [
      { key: world.key(identifier), sequence, count, expiresAtMs: (sequence + 2) * MINUTE_MS },
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

  /** A key's slot of a namespace: its own object, as the ledger has it. */
  const nameIn = (namespace: string): SlotName => ({
    key: { workspace: "default", namespace, identifier: "a", durationMs: MINUTE_MS as never },
    text: "",
    writer: "",
  });

  test("what was admitted too much is corrected upwards only, by the limit that was first told", () => {
    const over = new OverAdmissions();
    const name = nameIn("api");
    const told = (total: number, limit = LIMIT, sequence = 7) => {
      over.measure(name, sequence, total, limit);
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
    const over = new OverAdmissions();
    for (let i = 0; i < 1_003; i++) over.measure(nameIn(`n${i}`), 7, LIMIT + 1, LIMIT);
    over.measure(nameIn("n999"), 7, LIMIT + 2, LIMIT);
    const told = over.read();
    expect(Object.keys(told)).toHaveLength(1_001);
    expect(told["n998"]).toEqual({ cells: 1, cellsOver: 1, excess: 1, limits: LIMIT });
    expect(told["n999"]).toEqual({ cells: 2, cellsOver: 2, excess: 3, limits: 2 * LIMIT });
    expect(told[""]).toEqual({ cells: 3, cellsOver: 3, excess: 3, limits: 3 * LIMIT });
  });

  test("what was read does not change with what comes later", () => {
    const over = new OverAdmissions();
    over.measure(nameIn("api"), 7, LIMIT, LIMIT);
    const before = over.read();
    over.measure(nameIn("api"), 7, LIMIT, LIMIT);
    expect(before["api"]?.cells).toBe(1);
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
