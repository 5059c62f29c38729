/**
 * Features of a world: what operators and clients do in it beside the ordinary, and what else the world must be for that to matter.
 *
 * A seed draws at most one. A feature changes the options that it needs changed and leaves the others as they were drawn; half of
 * the worlds with a feature have no faults, because a fault may exempt what the feature alone does not.
 */
import { type FaultKind, LOSES_DATA } from "../model/fault-kinds.ts";
import type { Feature, WorldOptions } from "../model/options.ts";
import { SeededRandom } from "../model/seeded-random.ts";

export const FEATURES: readonly Feature[] = [
  "region-renamed",
  "origin-shared",
  "late-starts",
  "limits-changed",
  "oversized-costs",
  "clocks-corrected",
  "region-restarted-empty",
];

/** The part of all worlds that have a feature. */
const FEATURED = 0.5;
const CALM = 0.5;
/** A backward correction of up to 5 s is held. */
const CORRECTION_MAX_MS = 4_900;
const SHORT_WINDOW_MS = 1_000;
const CLOCK_FAULTS: readonly FaultKind[] = ["clock-skewed", "clock-jumped-forward", "clock-jumped-back"];

export function drawFeature(random: SeededRandom): Feature | undefined {
  return random.chance(FEATURED) ? random.pick(FEATURES) : undefined;
}

/** The options of a world with a feature, as far as they differ from `plain`. */
export function withFeature(plain: WorldOptions, feature: Feature, random: SeededRandom): Partial<WorldOptions> {
  const faults = random.chance(CALM) ? [] : plain.faults;
  return { faults, ...CHANGES[feature]({ ...plain, faults }, random), features: [feature] };
}

/** The same for worlds that are made for one feature: without faults, whatever was drawn. */
export function featured(drawn: WorldOptions, feature: Feature): Partial<WorldOptions> {
  const random = new SeededRandom(Math.floor(drawn.safetyMs));
  const plain = { ...drawn, faults: [] };
  return { faults: [], ...CHANGES[feature](plain, random), features: [feature] };
}

type Change = (plain: WorldOptions, random: SeededRandom) => Partial<WorldOptions>;

/** Regions that read each other's counts, whatever the length of a window. */
const countingRegions = (plain: WorldOptions, regionsMin: number): Partial<WorldOptions> => ({
  regions: Math.max(regionsMin, plain.regions),
  hasGlobal: true,
  globalMode: "counters",
  // Windows shorter than a round cannot be shared.
  globalMinDuration: Math.max(SHORT_WINDOW_MS, plain.publishMs, plain.importMs),
});

/**
 * One origin under two names, and at least one region that reads both. An origin that loses its data loses its identity too, until a process
 * that knows it registers again: in that time nobody can know that two names are of one origin.
 */
const twoNames: Change = (plain, random) => ({
  ...countingRegions(plain, 3),
  globalMode: random.pick(["counters", "counters", "both"]),
  processes: Math.max(2, plain.processes),
  hasOrigin: true,
  faults: plain.faults.filter((fault) => !(fault.startsWith("origin") && LOSES_DATA.has(fault))),
});

const CHANGES: Readonly<Record<Feature, Change>> = {
  "region-renamed": twoNames,
  "origin-shared": twoNames,
  "late-starts": (plain) => ({
    ...countingRegions(plain, 2),
    hasOrigin: true,
    traffic: { ...plain.traffic, shape: "one-region" },
  }),
  "limits-changed": (plain, random) => ({
    ...countingRegions(plain, 2),
    floor: random.pick([null, 0.05, 0.3]),
    // A region that has accepted little itself depends on what the others publish.
    traffic: { ...plain.traffic, shape: random.pick(["one-region", "one-region", plain.traffic.shape]) },
  }),
  "oversized-costs": (plain) => ({ hasOrigin: true, processes: Math.max(2, plain.processes) }),
  "clocks-corrected": (plain) => ({
    keys: plain.keys.map((key) => ({
      ...key,
      durationMs: SHORT_WINDOW_MS,
      limit: Math.max(1, Math.round((key.limit * SHORT_WINDOW_MS) / key.durationMs)),
    })),
    faults: [...plain.faults.filter((fault) => !fault.startsWith("clock")), ...CLOCK_FAULTS],
    safetyMs: Math.min(plain.safetyMs, CORRECTED_MAX_MS),
    faultEveryMs: Math.min(plain.safetyMs, CORRECTED_MAX_MS) / CORRECTIONS,
    traffic: { ...plain.traffic, perSecond: Math.max(CORRECTED_PER_SECOND, plain.traffic.perSecond) },
    skewMaxMs: CORRECTION_MAX_MS,
  }),
  "region-restarted-empty": () => ({ hasOrigin: true }),
};

/** Of a world of short windows: its length at the most, its clock faults, and requests per second at the least. */
const CORRECTED_MAX_MS = 60_000;
const CORRECTIONS = 20;
const CORRECTED_PER_SECOND = 20;
