/**
 * Small worlds of fixed seeds: what a campaign does in minutes, in a second, so that every mutant of the layers can be let out
 * into them (`npm run lab -- mutation`).
 *
 * The seeds were chosen from 160 so that together they meet every mark, fault, traffic shape and mode of sim/, at the least
 * cost. Any others hold as well: the campaign runs fresh ones.
 */
import { describe, expect, test } from "vitest";
import { drawOptions } from "./draw-options.ts";
import { runWorld } from "./world.ts";

const SEEDS = [41, 116, 75, 71, 140, 138, 105, 131, 63];
/** A third of the length that a seed draws, with as many faults. */
const SMALLER = 3;

describe("a small world", () => {
  test.each(SEEDS)("of seed %i keeps every invariant", async (seed) => {
    const { safetyMs, faultEveryMs } = drawOptions(seed);
    const options = { safetyMs: Math.ceil(safetyMs / SMALLER), faultEveryMs: faultEveryMs / SMALLER };
    const { problem, decisions } = await runWorld(seed, { options });
    expect(problem).toBeUndefined();
    expect(decisions).toBeGreaterThan(0);
  });
});
