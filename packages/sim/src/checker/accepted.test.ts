import { describe, expect, test } from "vitest";
import { SeededRandom } from "../model/seeded-random.ts";
import { Accepted } from "./accepted.ts";

const MOMENTS = 40;

describe("what was accepted", () => {
  test("is nothing before the first, and everything after the last", () => {
    const accepted = new Accepted();
    expect([accepted.total, accepted.before(5), accepted.upTo(5)]).toEqual([0, 0, 0]);
    accepted.add(5, 2);
    accepted.add(5, 3);
    accepted.add(9, 4);
    expect([Number.NEGATIVE_INFINITY, 4, 5, 6, 9, 10].map((ms) => accepted.before(ms))).toEqual([0, 0, 0, 5, 5, 9]);
    expect([Number.NEGATIVE_INFINITY, 4, 5, 6, 9, 10].map((ms) => accepted.upTo(ms))).toEqual([0, 0, 5, 5, 9, 9]);
    expect(accepted.total).toBe(9);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("of seed %i is what a walk over all of it finds", (seed) => {
    const random = new SeededRandom(seed);
    const accepted = new Accepted();
    const walked: { atMs: number; cost: number }[] = [];
    const sumOf = (isMeant: (atMs: number) => boolean) =>
      walked.reduce((sum, { atMs, cost }) => (isMeant(atMs) ? sum + cost : sum), 0);
    for (let atMs = 0; atMs < MOMENTS; atMs += random.between(0, 3)) {
      const cost = random.between(1, 9);
      accepted.add(atMs, cost);
      walked.push({ atMs, cost });
      for (let ms = -1; ms <= MOMENTS; ms += 0.5) {
        expect(accepted.before(ms)).toBe(sumOf((at) => at < ms));
        expect(accepted.upTo(ms)).toBe(sumOf((at) => at <= ms));
      }
    }
    expect(accepted.total).toBe(sumOf(() => true));
  });

  test("a history that goes back in time is refused", () => {
    const accepted = new Accepted();
    accepted.add(5, 1);
    expect(() => accepted.add(4, 1)).toThrow("goes back in time");
  });
});
