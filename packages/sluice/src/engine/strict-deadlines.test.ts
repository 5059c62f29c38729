import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { DurationMs } from "../core/brands.ts";
import { STRICT_KEPT_MAX, StrictDeadlines } from "./strict-deadlines.ts";

const MINUTE = 60_000 as DurationMs;
const HOUR = 3_600_000 as DurationMs;
const WAYS = 16;

describe("strict deadlines of keys without a slot", () => {
  test("are kept by the whole hash and the duration", () => {
    const kept = new StrictDeadlines();
    expect(kept.untilMs(1, 2, 3, MINUTE)).toBe(0);
    kept.raise(1, 2, 3, MINUTE, 500, 0);
    expect(kept.untilMs(1, 2, 3, MINUTE)).toBe(500);
    const others = [kept.untilMs(9, 2, 3, MINUTE), kept.untilMs(1, 9, 3, MINUTE), kept.untilMs(1, 2, 9, MINUTE)];
    expect([...others, kept.untilMs(1, 2, 3, HOUR)]).toEqual([0, 0, 0, 0]);
  });

  test("only rise, and negative hashes are hashes too", () => {
    const kept = new StrictDeadlines();
    kept.raise(-1, -2, -3, MINUTE, 500, 0);
    kept.raise(-1, -2, -3, MINUTE, 400, 0);
    expect(kept.untilMs(-1, -2, -3, MINUTE)).toBe(500);
    kept.raise(-1, -2, -3, MINUTE, 600, 0);
    expect(kept.untilMs(-1, -2, -3, MINUTE)).toBe(600);
  });

  test("are taken once: from then on the key's slot has them", () => {
    const kept = new StrictDeadlines();
    kept.raise(1, 2, 3, MINUTE, 500, 0);
    expect([kept.take(1, 2, 3, HOUR), kept.take(1, 2, 3, MINUTE), kept.take(1, 2, 3, MINUTE)]).toEqual([0, 500, 0]);
    kept.raise(1, 2, 3, MINUTE, 700, 600);
    expect(kept.untilMs(1, 2, 3, MINUTE)).toBe(700);
  });

  test("a deadline that has passed makes room for another, and is not counted as dropped", () => {
    const kept = new StrictDeadlines();
    for (let i = 0; i < WAYS; i++) kept.raise(i, i, 7, MINUTE, 500, 0);
    kept.raise(99, 99, 7, MINUTE, 1_000, 500);
    expect([kept.untilMs(99, 99, 7, MINUTE), kept.dropped]).toEqual([1_000, 0]);
  });

  test("without room the deadline that ends first is dropped and counted, be it the new one", () => {
    const kept = new StrictDeadlines();
    for (let i = 0; i < WAYS; i++) kept.raise(i, i, 7, MINUTE, 500 + i, 0);
    kept.raise(99, 99, 7, MINUTE, 400, 0);
    expect([kept.untilMs(99, 99, 7, MINUTE), kept.untilMs(0, 0, 7, MINUTE), kept.dropped]).toEqual([0, 500, 1]);
    kept.raise(99, 99, 7, MINUTE, 505, 0);
    expect([kept.untilMs(99, 99, 7, MINUTE), kept.untilMs(0, 0, 7, MINUTE), kept.dropped]).toEqual([505, 0, 2]);
    expect(kept.untilMs(1, 1, 7, MINUTE)).toBe(501);
  });

  test("hold a quarter of their size without a drop, and never grow", () => {
    const kept = new StrictDeadlines();
    const random = new SeededRandom(1);
    const hash = () => random.uint32() | 0;
    for (let i = 0; i < STRICT_KEPT_MAX / 4; i++) kept.raise(hash(), hash(), hash(), MINUTE, 1_000 + i, 0);
    // Four per set of 16 on average: a set with more than 16 has a chance of 10^-6, and there are 1,024 sets.
    expect(kept.dropped).toBe(0);
    for (let i = 0; i < 2 * STRICT_KEPT_MAX; i++) kept.raise(hash(), hash(), hash(), MINUTE, 1_000_000 + i, 0);
    // More than the table holds were added after the first ones, which end first: what was dropped is what is over.
    expect(kept.dropped).toBeGreaterThanOrEqual(STRICT_KEPT_MAX / 4 + STRICT_KEPT_MAX);
    expect(kept.bytes).toBe(STRICT_KEPT_MAX * 24);
  });

  test("cost no memory until the first is kept", () => {
    const kept = new StrictDeadlines();
    expect([kept.take(1, 2, 3, MINUTE), kept.untilMs(1, 2, 3, MINUTE), kept.bytes]).toEqual([0, 0, 0]);
  });
});
