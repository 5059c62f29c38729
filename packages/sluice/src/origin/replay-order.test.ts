import { describe, expect, test } from "vitest";
import type { Sequence, Slot } from "../core/brands.ts";
import { CellTable } from "../engine/cell-table.ts";
import { ReplayOrder } from "./replay-order.ts";

const LIMIT = 16;
const NOW = 7 as Sequence;

/** A table with a slot a key; each has used so much of a limit of 16. */
function setUp(...used: readonly number[]) {
  const table = new CellTable(Math.max(1, used.length));
  const slots = used.map((cost, i) => {
    const slot = table.claim(i, 1, 1, 60_000 as never, NOW);
    table.accept(slot, NOW, cost, LIMIT);
    return slot;
  });
  const order = new ReplayOrder(table);
  /** What the flushes of `count` take, one after the other, of slots that came in this order. */
  const of = (came: readonly number[], count: number) => [...order.of(new Set(came as Slot[]), count)].map(Number);
  return { table, slots, of };
}

describe("replay order", () => {
  test("where all fit, the nearest to their limit go first, by eighths of it; among equals, who came first", () => {
    const { of } = setUp(1, 15, 16, 14, 2, 3, 40);
    expect(of([0, 1, 2, 3, 4, 5, 6], 7)).toEqual([1, 2, 3, 6, 4, 5, 0]);
    expect(of([6, 3, 2, 1], 7)).toEqual([6, 3, 2, 1]);
  });

  test("a key that was never allowed anything is the farthest from its limit", () => {
    const { table, of } = setUp(1, 8);
    table.restart(0 as Slot, NOW);
    expect(of([0, 1], 2)).toEqual([1, 0]);
  });

  test("where not all fit, a quarter of the flush is for those that came first, and the rest for the nearest", () => {
    const { of } = setUp(1, 1, 1, 1, 4, 8, 12, 16);
    expect(of([0, 1, 2, 3, 4, 5, 6, 7], 4).slice(0, 4)).toEqual([0, 7, 6, 5]);
    expect(of([0, 1, 2, 3, 4, 5, 6, 7], 5).slice(0, 5)).toEqual([0, 1, 7, 6, 5]);
  });

  test("only those of the set are taken, each once, and at least as many as the flush carries", () => {
    const { of } = setUp(16, 16, 16, 1, 1, 1);
    const taken = of([5, 4, 3, 0], 3);
    expect(taken.slice(0, 2)).toEqual([5, 0]);
    expect([...taken].sort()).toEqual([0, 3, 4, 5]);
  });

  test("a flush that carries nothing takes nobody for having waited", () => {
    const { of } = setUp(1, 16);
    expect(of([0, 1], 0)).toEqual([1, 0]);
  });
});
