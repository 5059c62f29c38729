/** Processes that are restarted one after another, with nothing else wrong, while keys are used up in other regions. */
import { describe, expect, test } from "vitest";
import { byLength } from "../../../../test/rig/length.ts";
import { SCENARIOS } from "../campaign/scenarios.ts";
import type { WorldOptions } from "../model/options.ts";
import { runWorld } from "./world.ts";

/** One key at three times its limit, and a process is stopped and started again every second or so. */
const ROLLING: WorldOptions = {
  ...SCENARIOS[0]!.options,
  processes: 2,
  keys: [{ workspace: "acme", namespace: "api", identifier: "user", durationMs: 60_000, limit: 600 }],
  traffic: { shape: "even", perSecond: 30, costMax: 1, batches: 0.1, peeks: 0 },
  safetyMs: 120_000,
  faults: ["process-stopped"],
  faultEveryMs: 1_000,
};

const SEEDS = byLength({ fast: [1], short: [1, 2], ci: [1, 2, 3, 4], lab: [1, 2, 3, 4] });

describe("a rolling restart", () => {
  // Seen: a new process knew nothing of the other regions for up to a second, did not flag its allows as degraded, and admitted up to a whole limit.
  test.each(SEEDS)(
    "no allow of a new process exceeds E, with no exemption for having just started (seed %i)",
    async (seed) => {
      const report = await runWorld(seed, { options: ROLLING });
      expect(report.problem).toBeUndefined();
      expect(report.faults["process-stopped"]).toBeGreaterThan(50);
    },
  );
});
