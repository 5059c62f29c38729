/** What the regions together admit, in named worlds: the figures of the guarantees, measured. */
import { runScenario, SCENARIOS } from "sluice/sim";
import { describe, expect, test } from "vitest";

const isDeep = process.env["CI"] === "true";
const SEEDS = isDeep ? [1, 2, 3] : [1];
/** A newcomer's run takes every fourth one. */
const CHOSEN = SCENARIOS.filter((_scenario, at) => isDeep || at === 4);

describe("admitted ÷ limit, in every window", () => {
  for (const scenario of CHOSEN) {
    test(`${scenario.name}: at most ${scenario.ratioMax}`, { timeout: 300_000 }, async () => {
      const worst: number[] = [];
      for (const seed of SEEDS) {
        const { report, ratioWorst } = await runScenario(scenario, seed);
        expect(report.problem).toBeUndefined();
        worst.push(ratioWorst);
      }
      console.log(
        `${scenario.name}: ${worst.map((ratio) => ratio.toFixed(3)).join(", ")} of at most ${scenario.ratioMax}`,
      );
      expect(Math.max(...worst)).toBeLessThanOrEqual(scenario.ratioMax);
      expect(Math.max(...worst)).toBeGreaterThanOrEqual(scenario.ratioMin);
    });
  }
});
