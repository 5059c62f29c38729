import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { inspect } from "./inspection.ts";

const MINUTE_MS = 60_000;

describe("inspection", () => {
  test("shows what every owner has of both cells, what is confirmed of it, and how long it is fresh or strict", () => {
    const world = new LayeredEngine();
    const { time, engine } = world;
    const { table } = engine;
    world.accept("a", 4, 20);
    time.pass(MINUTE_MS + 15_000);
    world.accept("a", 3, 20);
    const slot = world.slot();
    const { sequence, previous } = world;
    for (const [at, count] of [
      [sequence, 10],
      [previous, 40],
    ] as const) {
      table.raiseOthers(slot, at, count + 1);
      table.raiseForeign(slot, at, count + 2);
      table.raiseReplayed(slot, at, count + 3);
      table.raisePublished(slot, at, count + 4);
      table.raiseFreshUntil(slot, at, time.monoMs + count + 5);
    }
    table.raiseStrictUntil(slot, time.monoMs + 99);
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    const cell = (at: number, own: number, count: number) => ({
      sequence: at,
      startMs: at * MINUTE_MS,
      endMs: (at + 1) * MINUTE_MS,
      own,
      others: count + 1,
      foreign: count + 2,
      view: own + 2 * count + 3,
      replayed: count + 3,
      published: count + 4,
      freshForMs: count + 5,
    });
    const found = inspect(engine, scope, "a", undefined);
    expect(found).toMatchObject({ isKnown: true, strictForMs: 99, limit: 20, remaining: 0 });
    expect(found.current).toEqual(cell(sequence, 3, 10));
    expect(found.previous).toEqual(cell(previous, 4, 40));
    expect(found.previousShare).toBe(Math.floor((87 * 45_000) / MINUTE_MS));
    expect(found.effective).toBe(found.current.view + found.previousShare);
    time.pass(200);
    const later = inspect(engine, scope, "a", 500);
    expect([later.strictForMs, later.current.freshForMs, later.previous.freshForMs]).toEqual([0, 0, 0]);
    expect(later).toMatchObject({ limit: 500, remaining: 500 - later.effective });
  });

  test("of a key without a record it shows nothing but the windows, and has no limit unless one is asked about", () => {
    const { engine, sequence, time } = new LayeredEngine();
    const scope = engine.scopes.find("default", "api", MINUTE_MS);
    const nothing = { own: 0, others: 0, foreign: 0, view: 0, replayed: 0, published: 0, freshForMs: 0 };
    const found = inspect(engine, scope, "b", undefined);
    expect(found).toMatchObject({ isKnown: false, effective: 0, strictForMs: 0, limit: null, remaining: null });
    expect(found.current).toEqual({ ...nothing, sequence, startMs: time.wallMs, endMs: time.wallMs + MINUTE_MS });
    expect(found.previous).toMatchObject({ ...nothing, sequence: sequence - 1 });
    expect(inspect(engine, scope, "b", 7)).toMatchObject({ limit: 7, remaining: 7 });
  });
});
