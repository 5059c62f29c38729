/** What the regions together admit, in named worlds: the figures of the guarantees, measured. */
import { runScenario, SCENARIOS } from "sluice/sim";
import { describe, expect, test } from "vitest";
import { byLength, figure, LENGTH } from "./rig/length.ts";

const SEEDS = byLength({ short: [1], ci: [1, 2], lab: [1, 2, 3, 4, 5] });
const CHOSEN = SCENARIOS.filter((_scenario, at) => LENGTH !== "short" || at === 4);

describe("admitted ÷ limit, in every window", () => {
  for (const scenario of CHOSEN) {
    test(`${scenario.name}: at most ${scenario.ratioMax}`, { timeout: 300_000 }, async () => {
      const worst: number[] = [];
      for (const seed of SEEDS) {
        const { report, ratioWorst } = await runScenario(scenario, seed);
        expect(report.problem).toBeUndefined();
        worst.push(ratioWorst);
      }
      figure(`${scenario.name}: ${worst.map((ratio) => ratio.toFixed(3)).join(", ")} of at most ${scenario.ratioMax}`);
      expect(Math.max(...worst)).toBeLessThanOrEqual(scenario.ratioMax);
      expect(Math.max(...worst)).toBeGreaterThanOrEqual(scenario.ratioMin);
    });
  }
});
