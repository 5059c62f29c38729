/** The invariant "Isolation" in whole worlds: a tenant's answers do not change when all others send nothing. */
import { runIsolation } from "@sluice/sim";
import { describe, expect, test } from "vitest";
import { byLength, figure } from "../rig/length.ts";

const SEEDS = byLength({ short: 5, ci: 40, lab: 400 });

describe("a tenant", () => {
  test("gets the same answers at the same moments, with and without the traffic of all others", {
    timeout: 3_600_000,
  }, async () => {
    let compared = 0;
    let others = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await runIsolation(seed);
      expect(outcome.problem, `seed ${seed}`).toBeUndefined();
      compared += outcome.compared;
      others += outcome.others;
    }
    figure(`${compared} answers compared, with and without ${others} decisions of others`);
    expect(Math.min(compared, others)).toBeGreaterThan(SEEDS * 100);
  });
});
