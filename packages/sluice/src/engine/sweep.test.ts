import { describe, expect, test } from "vitest";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { CellTable, NONE } from "./cell-table.ts";
import { Sweep } from "./sweep.ts";

const SECOND = 1_000 as DurationMs;
const HOUR = 3_600_000 as DurationMs;
const NOW_MS = 1_000 * HOUR;

/** Claims a key whose last count was so many windows ago. */
function claim(table: CellTable, id: number, durationMs: DurationMs, windowsAgo: number): Slot {
  return table.claim(id, id, id, durationMs, (Math.floor(NOW_MS / durationMs) - windowsAgo) as Sequence);
}

function setUp(capacity: number) {
  const table = new CellTable(capacity);
  const released: Slot[] = [];
  const sweep = new Sweep(table, (slot) => {
    expect(table.isFree(slot), "told while the slot can still be read").toBe(false);
    released.push(slot);
    table.release(slot);
  });
  return { table, sweep, released };
}

describe("sweep", () => {
  test("it frees what is over and nothing that still matters", () => {
    const { table, sweep, released } = setUp(8);
    const over = [claim(table, 1, HOUR, 2), claim(table, 2, SECOND, 2), claim(table, 3, SECOND, 3_000)];
    const alive = [claim(table, 4, HOUR, 0), claim(table, 5, HOUR, 1), claim(table, 6, SECOND, 1)];
    expect(sweep.sweepOnce(NOW_MS, 100)).toBe(3);
    expect(released).toEqual(over);
    expect(over.every((slot) => table.isFree(slot))).toBe(true);
    expect(alive.some((slot) => table.isFree(slot))).toBe(false);
    expect(table.size).toBe(3);
    expect([1, 2, 3].map((id) => table.find(id, id, id, id === 1 ? HOUR : SECOND))).toEqual([NONE, NONE, NONE]);
  });

  test("a cell that is previous counts to the last millisecond", () => {
    const { table, sweep } = setUp(2);
    claim(table, 1, HOUR, 1);
    expect(sweep.sweepOnce(NOW_MS + HOUR - 1, 10)).toBe(0);
    expect(sweep.sweepOnce(NOW_MS + HOUR, 10)).toBe(1);
  });

  test("a step looks at no more slots than it may", () => {
    const { table, sweep, released } = setUp(20);
    for (let id = 0; id < 20; id++) claim(table, id, SECOND, 5);
    expect(sweep.sweepOnce(NOW_MS, 3)).toBe(3);
    expect(released).toEqual([0, 1, 2]);
    expect(sweep.sweepOnce(NOW_MS, 0)).toBe(0);
    expect(table.size).toBe(17);
  });

  test("a step frees no more slots than it may, and the next goes on from there", () => {
    const { table, sweep, released } = setUp(20);
    for (let id = 0; id < 20; id++) claim(table, id, SECOND, id % 2 === 0 ? 5 : 0);
    expect(sweep.sweepOnce(NOW_MS, 100, 3)).toBe(3);
    expect(released).toEqual([0, 2, 4]);
    expect(sweep.sweepOnce(NOW_MS, 100, 100)).toBe(7);
    expect([released.length, table.size]).toEqual([10, 10]);
  });

  test("steps go round and round: every slot is looked at, though others stay and new ones come", () => {
    const { table, sweep } = setUp(10);
    for (let id = 0; id < 10; id++) claim(table, id, HOUR, 0);
    // 4 and 4 slots, then 2 to the end and 2 from the start.
    for (let step = 0; step < 3; step++) expect(sweep.sweepOnce(NOW_MS, 4)).toBe(0);
    const laterMs = NOW_MS + 2 * HOUR;
    let freed = 0;
    for (let step = 0; step < 3; step++) freed += sweep.sweepOnce(laterMs, 4);
    expect(freed).toBe(10);
    claim(table, 99, SECOND, 0);
    expect(sweep.sweepOnce(laterMs, 10)).toBe(1);
  });

  test("a step never goes round the table twice", () => {
    const { table, sweep, released } = setUp(4);
    for (let id = 0; id < 4; id++) claim(table, id, id === 2 ? SECOND : HOUR, 2 * (id % 2));
    expect(sweep.sweepOnce(NOW_MS, 1_000_000)).toBe(2);
    expect(new Set(released).size).toBe(released.length);
  });

  test("an empty table takes no step", () => {
    expect(setUp(4).sweep.sweepOnce(NOW_MS, 100)).toBe(0);
  });
});
