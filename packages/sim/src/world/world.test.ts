/** What a world offers to whoever runs it for its figures: the planner. */
import { expect, test } from "vitest";
import { SCENARIOS } from "../campaign/scenarios.ts";
import type { HistoryLine } from "../model/history.ts";
import type { WorldOptions } from "../model/options.ts";
import { type RunOptions, runWorld } from "./world.ts";

const SEED = 7;
const DURATION_MS = 60_000;
const LEAD_MS = 2_000;
/** Events from one breath to the next, and to spare. */
const BREATH = 1_000;

/** Two regions of two processes for one window, at twice the limit. */
const SMALL: WorldOptions = {
  ...SCENARIOS[0]!.options,
  regions: 2,
  processes: 2,
  safetyMs: DURATION_MS,
  keys: [{ workspace: "acme", namespace: "api", identifier: "user", durationMs: DURATION_MS, limit: 200 }],
  traffic: { shape: "even", perSecond: 400 / 60, costMax: 1, batches: 0, peeks: 0 },
};

async function observed(run: RunOptions) {
  const lines: HistoryLine[] = [];
  const report = await runWorld(SEED, { options: SMALL, ...run, observe: (line) => lines.push(line) });
  return { report, lines };
}

test("a world that is let breathe is the same world", async () => {
  let breaths = 0;
  const breathe = async () => {
    breaths++;
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  };
  const plain = await observed({});
  const breathing = await observed({ breathe });
  expect(plain.report.problem).toBeUndefined();
  expect(breaths).toBeGreaterThan(10);
  expect(breathing.lines).toEqual(plain.lines);
  expect(breathing.report).toEqual(plain.report);
});

test("a world that is told to stop ends with what it has", async () => {
  const { report, lines } = await observed({ breathe: async (_atMs, events) => events < 5_000 });
  expect(report).toMatchObject({ isPartial: true, problem: undefined });
  expect(report.events).toBeLessThan(6_000);
  expect(lines.filter(({ event }) => event.kind === "phase")).toHaveLength(1);
});

test.each([0.2, 0.9, 0.95, 0.99])(
  "told to stop after %d of its events, it is not judged by how it settled",
  async (part) => {
    const whole = await observed({});
    // It is asked every so many events: the last time may come before the last hundredth.
    const stopAt = Math.min(part * whole.report.events, whole.report.events - BREATH);
    const { report } = await observed({ breathe: async (_atMs, events) => events < stopAt });
    expect(report).toMatchObject({ isPartial: true, problem: undefined });
  },
);

test("with a lead, nobody asks before the first window begins, and every process is there", async () => {
  const { lines } = await observed({ leadMs: LEAD_MS });
  const first = lines.find(({ event }) => event.kind === "decision");
  const begun = lines.filter(({ event }) => event.kind === "begun");
  const safety = lines.find(({ event }) => event.kind === "phase" && event.phase === "safety");
  expect(safety!.atMs % DURATION_MS).toBe(0);
  expect(first!.atMs).toBeGreaterThanOrEqual(safety!.atMs);
  expect(begun).toHaveLength(4);
  expect(Math.max(...begun.map(({ atMs }) => atMs))).toBeLessThan(safety!.atMs);
});

test("with probes, nothing is accepted after the faults, and every process is peeked at", async () => {
  const { report, lines } = await observed({ leadMs: LEAD_MS, probeEveryMs: 100 });
  const liveness = lines.findIndex(({ event }) => event.kind === "phase" && event.phase === "liveness");
  const quiet = lines.findIndex(({ event }) => event.kind === "phase" && event.phase === "quiet");
  const asked = lines.slice(liveness, quiet).filter(({ event }) => event.kind === "decision");
  expect(report.problem).toBeUndefined();
  expect(new Set(asked.map(({ process }) => process)).size).toBe(4);
  expect(asked.every(({ event }) => event.kind === "decision" && event.cost === 0)).toBe(true);
});

test("a report has the worst allow beside its bound, and what the stores were asked to do", async () => {
  const { report } = await observed({ leadMs: LEAD_MS });
  const { excess, bound } = report.worst;
  expect(excess).toBeGreaterThan(-SMALL.keys[0]!.limit / 50);
  expect(excess).toBeLessThanOrEqual(bound);
  // Four processes flush twenty times a second, each with a heartbeat of its own: a call at least every other flush.
  expect(report.load.origin.calls).toBeGreaterThan(4 * 60);
  expect(report.load.origin.commands).toBeGreaterThanOrEqual(report.load.origin.calls);
  // They publish and import once a second, jittered by a tenth.
  expect(report.load.global.calls).toBeGreaterThan(4 * 2 * 60 * 0.8);
  expect(report.load.global.calls).toBeLessThan(4 * 2 * 60 * 1.4);
  expect(report.load.global.commands).toBeGreaterThan(0);
});
