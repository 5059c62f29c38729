import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/layered-engine.ts";
import { TroubledCounters } from "../../../../test/troubled-stores.ts";
import { Import } from "./import.ts";

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

  test("a key that nobody asked about here has no limit that is known, and is not measured", async () => {
    const { time, imports, put, told } = setUp();
    await put("us", 5_000);
    await imports.importOnce();
    await time.advanceToWindow(MINUTE_MS);
    for (let i = 0; i < 10; i++) await imports.importOnce();
    expect(told()).toEqual([]);
  });
});
