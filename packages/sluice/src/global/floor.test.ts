import { describe, expect, test } from "vitest";
import { publishFloor } from "./floor.ts";

describe("publish floor", () => {
  test("one region alone publishes what reaches the limit", () => {
    expect([publishFloor(0, 0.02), publishFloor(1, 0.02), publishFloor(1, 0)]).toEqual([1, 1, 1]);
  });

  test("a budget of more than the limit itself does not lift it above a fair part", () => {
    expect([publishFloor(2, 2), publishFloor(4, 8)]).toEqual([0.5, 0.25]);
  });

  test.each([
    [2, 0.02, 0.01],
    [3, 0.02, 0.005],
    [11, 0.02, 0.001],
    [2, 1, 0.5],
    [3, 1, 0.25],
  ])("%i regions and a budget of %d: %d of the limit", (regions, budget, floor) => {
    expect(publishFloor(regions, budget)).toBeCloseTo(floor, 12);
  });

  test("what all the others may hide together is at most half the budget, and never the whole limit", () => {
    for (let regions = 2; regions <= 50; regions++) {
      for (const budget of [0.001, 0.02, 0.5, 1]) {
        const floor = publishFloor(regions, budget);
        expect(floor).toBeGreaterThan(0);
        expect((regions - 1) * floor).toBeLessThanOrEqual(budget / 2 + 1e-12);
        expect(regions * floor).toBeLessThanOrEqual(1);
      }
    }
  });
});
