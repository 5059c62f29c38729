/** What the regions together admit, in named worlds: the figures of the guarantees, measured. */
import { freshnessMs, type HistoryLine, runScenario, runWorld, SCENARIOS } from "@sluice/sim";
import { describe, expect, test } from "vitest";
import { byLength, figure } from "../rig/length.ts";

const SEEDS = byLength({ short: [1], ci: [1, 2], lab: [1, 2, 3, 4, 5] });
const CHOSEN = SCENARIOS.filter((_scenario, at) => byLength({ short: at === 4, ci: true, lab: true }));

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

describe("requests that wait for the origin, in a world without faults", () => {
  /** Of a key far below its limit, in one region of two processes, without the wait of each process's first read. */
  async function waitingShare(durationMs: number, flushMs: number, originDelayMs: number): Promise<number> {
    const calm = SCENARIOS.find(({ name }) => name === "one region, windows of 1 s")!.options;
    const perSecond = 1_000;
    const options = {
      ...calm,
      processes: 2,
      safetyMs: 5 * durationMs,
      keys: [{ ...calm.keys[0]!, durationMs, limit: 1_000_000 }],
      traffic: { ...calm.traffic, perSecond },
      flushMs,
      originDelayMs,
    };
    let answers = 0;
    let waited = 0;
    const beganMs = new Map<string, number>();
    const observe = ({ atMs, process, event }: HistoryLine) => {
      if (event.kind !== "answer") return;
      const firstMs = beganMs.get(process) ?? atMs;
      beganMs.set(process, firstMs);
      // The first answers come together, a read after the first request.
      if (atMs === firstMs) return;
      answers++;
      if (event.waitedMs > 0) waited++;
    };
    const { problem } = await runWorld(1, { options, observe });
    expect(problem).toBeUndefined();
    expect(answers).toBeGreaterThan((perSecond * 5 * durationMs * 0.9) / 1_000);
    return waited / answers;
  }

  test.each([
    [1_000, 50],
    [1_000, 1_000],
    [1_200, 50],
    [2_000, 50],
    [3_000, 200],
  ])("windows of %i ms, a flush every %i ms: at most 0.2 percent", async (durationMs, flushMs) => {
    // A message takes up to half as long again as the delay on average: both ways together stay below a third of the freshness.
    const originDelayMs = freshnessMs(durationMs) / 3 / 2 / 1.5;
    expect(await waitingShare(durationMs, flushMs, originDelayMs)).toBeLessThanOrEqual(0.002);
  });
});
