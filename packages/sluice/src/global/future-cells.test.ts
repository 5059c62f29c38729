import { describe, expect, test } from "vitest";
import type { DurationMs } from "../core/brands.ts";
import { FutureCells } from "./future-cells.ts";

const MINUTE_MS = 60_000 as DurationMs;

function cell(identifier: string, sequence: number, foreign = 1, own = 0, durationMs: DurationMs = MINUTE_MS) {
  return { key: { workspace: "w", namespace: "n", identifier, durationMs }, sequence, foreign, own };
}

describe("future cells", () => {
  test("a cell is returned once, when its window has begun, with the largest counts that were seen", () => {
    const cells = new FutureCells();
    cells.keep(cell("a", 1, 5, 2), 10_000);
    cells.keep(cell("a", 1, 3, 4), 11_000);
    cells.keep(cell("b", 1, 7, 0, 70_000 as DurationMs), 12_000);
    expect(cells.takeBegun(59_999)).toEqual([]);
    expect(cells.takeBegun(60_000)).toEqual([cell("a", 1, 5, 4)]);
    expect(cells.takeBegun(60_000)).toEqual([]);
    expect(cells.takeBegun(70_000)).toEqual([cell("b", 1, 7, 0, 70_000 as DurationMs)]);
  });

  test("different windows of one key are different cells", () => {
    const cells = new FutureCells();
    const short = 10_000 as DurationMs;
    cells.keep(cell("a", 1, 5, 0, short), 0);
    cells.keep(cell("a", 2, 6, 0, short), 0);
    expect(cells.takeBegun(10_000)).toEqual([cell("a", 1, 5, 0, short)]);
    expect(cells.takeBegun(20_000)).toEqual([cell("a", 2, 6, 0, short)]);
  });

  test("a cell more than a minute ahead is ignored", () => {
    const cells = new FutureCells();
    cells.keep(cell("near", 2), 60_000);
    cells.keep(cell("far", 2), 59_999);
    expect(cells.takeBegun(Number.MAX_SAFE_INTEGER)).toEqual([cell("near", 2)]);
  });

  test("holds a thousand cells; a full pass is due when the first window of the others begins", () => {
    const cells = new FutureCells();
    for (let i = 0; i < 1_000; i++) cells.keep(cell(`k${i}`, 1), 30_000);
    expect(cells.isPassDue(Number.MAX_SAFE_INTEGER)).toBe(false);
    cells.keep(cell("k0", 1, 9), 30_000);
    expect(cells.isPassDue(Number.MAX_SAFE_INTEGER)).toBe(false);
    cells.keep(cell("late", 1, 1, 0, 80_000 as DurationMs), 30_000);
    cells.keep(cell("first", 1, 1, 0, 70_000 as DurationMs), 30_000);
    cells.keep(cell("later", 1, 1, 0, 90_000 as DurationMs), 30_000);
    expect([cells.isPassDue(69_999), cells.isPassDue(70_000)]).toEqual([false, true]);
    cells.passBegins();
    expect(cells.isPassDue(Number.MAX_SAFE_INTEGER)).toBe(false);
    expect(cells.takeBegun(60_000)).toHaveLength(1_000);
  });
});
