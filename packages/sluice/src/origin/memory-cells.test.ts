import { describe, expect, test } from "vitest";
import { CELL_SHARE_BYTES, MemoryCells } from "./memory-cells.ts";

const NOW_MS = 1_000;
const LATER_MS = 1_000_000;
const pad = "\u{1F600}".repeat(506);
const short = (i: number) => `7/60000:7:default3:api8:${String(i).padStart(8, "0")}`;
const long = (i: number) => `7/60000:7:default3:api1020:${pad}${String(i).padStart(8, "0")}`;

function setUp(cellsMax: number) {
  const cells = new MemoryCells(cellsMax);
  const raise = (name: string, total = 1, writer = "w", expiresAtMs = LATER_MS) =>
    cells.raise(name, writer, total, expiresAtMs, NOW_MS);
  const has = (name: string) => cells.live(name, NOW_MS) !== undefined;
  return { cells, raise, has };
}

describe("cells in memory", () => {
  test("there are never more than cellsMax of them", () => {
    const { cells, raise, has } = setUp(100);
    for (let i = 0; i < 1_000; i++) {
      raise(short(i));
      expect(cells.size).toBeLessThanOrEqual(100);
      expect(has(short(i)), "the newest is kept").toBe(true);
    }
    expect(cells.evicted).toBe(900);
  });

  test("they take at most their share each, and one cell more, whatever their names", () => {
    const { cells, raise } = setUp(1_000);
    for (let i = 0; i < 3_000; i++) {
      raise(long(i));
      expect(cells.bytes).toBeLessThan(1_000 * CELL_SHARE_BYTES + 2_500);
    }
    expect(cells.size).toBeGreaterThan(100);
  });

  test("cells with long names push out no cells with short ones", () => {
    const { raise, has } = setUp(1_000);
    for (let i = 0; i < 800; i++) raise(short(i));
    for (let i = 0; i < 3_000; i++) raise(long(i));
    expect(Array.from({ length: 800 }, (_, i) => has(short(i))).every(Boolean)).toBe(true);
  });

  test("components that many writers add are bounded too", () => {
    const { cells, raise } = setUp(100);
    for (let i = 0; i < 50; i++) raise(short(i));
    for (let i = 0; i < 10_000; i++) {
      raise(short(i % 50), 1, `writer.${i}`);
      expect(cells.bytes).toBeLessThan(100 * CELL_SHARE_BYTES + 600);
    }
  });

  test("an expired cell goes first, then one that was not raised recently, then the one with the lowest sum", () => {
    const expired = setUp(8);
    for (let i = 0; i < 8; i++) expired.raise(short(i), i + 1, "w", i === 5 ? NOW_MS : LATER_MS);
    expired.raise(short(100), 9);
    expect([5, 0].map((i) => expired.has(short(i)))).toEqual([false, true]);
    const busy = setUp(8);
    for (let i = 0; i < 8; i++) busy.raise(short(i), i === 3 ? 1 : 50);
    // Raised again and again: the one with the lowest sum is in use.
    for (let total = 2; total < 10; total++) busy.raise(short(3), total);
    for (let i = 100; i < 103; i++) busy.raise(short(i), 60);
    expect(busy.has(short(3))).toBe(true);
    const sums = setUp(8);
    for (let i = 0; i < 8; i++) sums.raise(short(i), i === 1 ? 1 : 5);
    sums.raise(short(100), 9);
    expect([1, 0].map((i) => sums.has(short(i)))).toEqual([false, true]);
  });

  test("heartbeats and the identity of the origin are never forgotten before they expire", () => {
    const { raise, has } = setUp(50);
    raise("0/heartbeat:0123456789abcdef.0", 3);
    raise("0/identity", 4);
    for (let i = 0; i < 5_000; i++) raise(i % 2 === 0 ? short(i) : long(i), 9);
    expect([has("0/heartbeat:0123456789abcdef.0"), has("0/identity")]).toEqual([true, true]);
  });

  test("what a cell takes is given back when it has expired, however it is found", () => {
    const { cells, raise } = setUp(100);
    for (let i = 0; i < 10; i++) for (const writer of ["a", "b", "c"]) raise(short(i), 1, writer, 2_000);
    raise(long(1), 1, "w", 2_000);
    expect(cells.bytes).toBeGreaterThan(0);
    for (let i = 0; i < 5; i++) expect(cells.live(short(i), 2_000)).toBeUndefined();
    cells.sweepOnce(2_000, 100);
    cells.sweepOnce(2_000, 100);
    expect([cells.size, cells.bytes]).toEqual([0, 0]);
  });

  test("a component keeps its largest total, and the sum adds them up", () => {
    const { cells, raise } = setUp(10);
    for (const [writer, total] of [
      ["a", 5],
      ["b", 3],
      ["a", 4],
      ["b", 7],
      ["c", 0],
    ] as const)
      raise(short(1), total, writer);
    const cell = cells.live(short(1), NOW_MS)!;
    expect([cell.sum, ...["a", "b", "c", "d"].map((writer) => cell.component(writer))]).toEqual([12, 5, 7, 0, 0]);
  });
});
