/**
 * Named worlds: one question each, asked of one key, with what must come out of it.
 *
 * The figure is what was admitted in a window, divided by the limit: 1 is a perfect global counter.
 */
import type { WorldOptions } from "../model/options.ts";
import { runWorld, type WorldReport } from "../world/world.ts";

export interface Scenario {
  readonly name: string;
  /** Admitted ÷ limit, of every window. */
  readonly ratioMax: number;
  /** Where more than a bound is wanted: the fullest window must reach this. */
  readonly ratioMin: number;
  readonly options: WorldOptions;
}

export interface ScenarioOutcome {
  readonly report: WorldReport;
  /** Admitted ÷ limit, window by window. */
  readonly ratios: readonly number[];
  readonly ratioWorst: number;
}

interface Shape {
  readonly regions: number;
  readonly processes: number;
  readonly durationMs: number;
  readonly limit: number;
  /** What is asked for, as a multiple of the limit, by all regions together. */
  readonly asked: number;
  readonly windows: number;
}

function worldOf({ regions, processes, durationMs, limit, asked, windows }: Shape): WorldOptions {
  return {
    regions,
    processes,
    safetyMs: windows * durationMs,
    keys: [{ workspace: "acme", namespace: "api", identifier: "user", durationMs, limit }],
    traffic: { shape: "even", perSecond: (asked * limit * 1_000) / durationMs, costMax: 1, batches: 0, peeks: 0 },
    hasOrigin: true,
    admits: "life",
    hasGlobal: regions > 1,
    globalMode: "counters",
    flushMs: 50,
    readTimeoutMs: 300,
    publishMs: 1_000,
    importMs: 1_000,
    floor: null,
    globalMinDuration: 60_000,
    cellsMax: 64,
    whenFull: "allow",
    originDelayMs: 0.5,
    globalDelayMs: 40,
    timeoutMs: 1_000,
    faults: [],
    faultEveryMs: durationMs,
    skewMaxMs: 0,
    script: "none",
    features: [],
  };
}

const THREE_REGIONS: WorldOptions = worldOf({
  regions: 3,
  processes: 4,
  durationMs: 60_000,
  limit: 3_000,
  asked: 3,
  windows: 5,
});
const TEN_REGIONS: WorldOptions = worldOf({
  regions: 10,
  processes: 2,
  durationMs: 60_000,
  limit: 3_000,
  asked: 1.9,
  windows: 4,
});

/**
 * While the first window fills, the two other regions accept 100 a second together. Their counts wait for a publish and an import of
 * 1 s each, half of that on average, and for two messages of up to 60 ms: 1.1 s and 110 costs on average (1.037), 2.3 s and 232 at the
 * worst (1.077). The worst of 48 seeds was 1.040, in the first window; later windows stay below 1.031.
 */
const THREE_REGIONS_MAX = 1.05;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "three regions of four processes at three times the limit",
    ratioMax: THREE_REGIONS_MAX,
    ratioMin: 0.95,
    options: THREE_REGIONS,
  },
  {
    name: "the same, the origins flushed every 20 s",
    ratioMax: THREE_REGIONS_MAX,
    ratioMin: 0.95,
    options: { ...THREE_REGIONS, script: "origin-flushed-every-20-s" },
  },
  {
    name: "the same, the origins away half the time",
    ratioMax: 1.1,
    ratioMin: 0.95,
    options: { ...THREE_REGIONS, script: "origin-away-half-the-time" },
  },
  {
    name: "one region, windows of 1 s",
    ratioMax: 1.03,
    ratioMin: 0.95,
    options: worldOf({ regions: 1, processes: 4, durationMs: 1_000, limit: 1_000, asked: 3, windows: 20 }),
  },
  {
    name: "one region, windows of 10 s",
    ratioMax: 1.02,
    ratioMin: 0.95,
    options: worldOf({ regions: 1, processes: 4, durationMs: 10_000, limit: 3_000, asked: 3, windows: 6 }),
  },
  {
    name: "ten regions, 0.19 of the limit asked in each",
    ratioMax: 1.1,
    ratioMin: 0.95,
    options: TEN_REGIONS,
  },
  {
    name: "ten regions by denials alone, which none of them ever meets",
    ratioMax: 2,
    ratioMin: 1.7,
    options: { ...TEN_REGIONS, globalMode: "denials" },
  },
  {
    name: "thirty regions at three times the limit",
    ratioMax: 1.1,
    ratioMin: 0.95,
    options: worldOf({ regions: 30, processes: 1, durationMs: 60_000, limit: 3_000, asked: 3, windows: 3 }),
  },
];

export async function runScenario({ options }: Scenario, seed = 1): Promise<ScenarioOutcome> {
  const report = await runWorld(seed, { options });
  const { limit } = options.keys[0]!;
  const ratios = [...report.admitted.values()].map((count) => count / limit);
  return { report, ratios, ratioWorst: Math.max(...ratios) };
}
