import { describe, expect, test } from "vitest";
import { hiddenMax, NO_FLOOR, publishFloor } from "./floor.ts";

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

describe("what a region may hide", () => {
  test.each([
    // Rounded up: the other regions hide at most a tenth of the limit.
    [2, 10, 1],
    [2, 100, 1],
    [2, 3_000, 30],
    [10, 100, 1],
    [10, 3_000, 4],
    // Not rounded up: they would hide 2, 9 and 9 of it.
    [3, 10, 0],
    [10, 10, 0],
    [10, 60, 0],
    // Alone: all that does not reach the limit.
    [1, 100, 99],
  ])("%i regions, a limit of %i: %i", (regionsLive, limit, hidden) => {
    expect(hiddenMax({ part: publishFloor(regionsLive, 0.02), regionsLive }, limit)).toBe(hidden);
  });

  test("is never more than E contains, and rounding up never hides more than a tenth of the limit", () => {
    for (let regionsLive = 2; regionsLive <= 50; regionsLive++) {
      for (const limit of [1, 2, 9, 10, 99, 100, 1_000, 123_457]) {
        const part = publishFloor(regionsLive, 0.02);
        const hidden = hiddenMax({ part, regionsLive }, limit);
        expect(hidden).toBeLessThanOrEqual(Math.ceil(part * limit));
        expect((regionsLive - 1) * Math.max(0, hidden)).toBeLessThanOrEqual(limit / 10);
      }
    }
  });

  test("without a floor nothing stays hidden, whatever the limit", () => {
    for (const limit of [1, 100, Number.POSITIVE_INFINITY]) expect(1 <= hiddenMax(NO_FLOOR, limit)).toBe(false);
  });
});
