/**
 * How a seed draws what a world is made of (options.ts): whole features on or off, so that rare combinations meet.
 *
 * A world's size is balanced against its length: every seed costs about the same real time, whether it is forty processes
 * for half a minute or two for an afternoon.
 */
import { FAULT_GROUPS, type FaultKind } from "../model/fault-kinds.ts";
import type { Admits, TrafficShape, WorldKey, WorldOptions } from "../model/options.ts";
import { SeededRandom } from "../model/seeded-random.ts";
import { drawFeature, withFeature } from "./features.ts";

/** What a world of windows of about one length looks like. */
interface Profile {
  readonly durationsMs: readonly number[];
  readonly safetyMaxMs: number;
  readonly flushMs: readonly number[];
  readonly publishMs: readonly number[];
  readonly perSecond: readonly number[];
  /** Processes of the whole world, at the most. */
  readonly processesMax: number;
}

const SECONDS: Profile = {
  durationsMs: [1_000, 1_000, 2_000, 5_000, 10_000],
  safetyMaxMs: 60_000,
  flushMs: [10, 50, 50, 100, 300],
  publishMs: [500, 1_000],
  perSecond: [20, 40, 80],
  processesMax: 48,
};
const MINUTES: Profile = {
  durationsMs: [60_000, 60_000, 120_000, 300_000],
  safetyMaxMs: 600_000,
  flushMs: [50, 200, 500, 1_000],
  publishMs: [1_000, 1_000, 2_000, 5_000],
  perSecond: [3, 6, 12],
  processesMax: 48,
};
const HOURS: Profile = {
  durationsMs: [1_800_000, 3_600_000, 7_200_000],
  safetyMaxMs: 14_400_000,
  flushMs: [1_000],
  publishMs: [20_000, 60_000],
  perSecond: [0.1, 0.3],
  processesMax: 3,
};

/** Events of one safety phase, about: what makes a seed cost a tenth of a second. */
const EVENTS = 9_000;
/** Events that a flush, a request and a round of the global layer cost, about. */
const EVENTS_PER_FLUSH = 4;
const EVENTS_PER_REQUEST = 4;
const EVENTS_PER_ROUND = 4;

/** Keys that a careless encoding would confuse. */
const NAMES: readonly (readonly [string, string, string])[] = [
  ["acme", "api", "user"],
  ["acme", "ap", "iuser"],
  ["acm", "eapi", "user"],
  ["acme", "api", "user:1"],
  ["acme", "api:user", "1"],
  ["a/b", "c-d", "e"],
  ["a/b-c", "d", "e"],
  ["a", "b-c/d", "e"],
  ["ünï", "☃", "\u{1f600}"],
];

/** Herds come by the seed's number: drawn among the other shapes, they would have made every seed another world. */
const HERD_EVERY = 8;

/** Worlds in which every name takes more than two shares of the budget, so that names fill it before keys fill the table. By number, too. */
const LONG_EVERY = 16;
const LONG_UNITS = 500;

/** Most origins admit; the others keep the path of a driver that cannot. From a generator of its own, too. */
const ADMITS: readonly Admits[] = ["none", "admit", "life", "life"];

/** The features come from a generator of their own: the other options of a seed are what they were before there were any. */
export function drawOptions(seed: number): WorldOptions {
  const random = new SeededRandom(seed ^ 0x0fea_7e5d);
  const feature = drawFeature(random);
  const admits = new SeededRandom(seed ^ 0x00ad_3175).pick(ADMITS);
  const drawn = { ...drawPlain(seed), admits };
  const plain = seed % LONG_EVERY === LONG_EVERY - 5 ? withLongNames(drawn, random) : drawn;
  return feature === undefined ? plain : { ...plain, ...withFeature(plain, feature, random) };
}

/** From all keys fitting the budget for names (about 400 bytes of excess each, 80 for every slot) to about a tenth of them. */
function withLongNames(options: WorldOptions, random: SeededRandom): WorldOptions {
  const keys = options.keys.map((key) => ({ ...key, identifier: key.identifier.padEnd(LONG_UNITS, ".") }));
  return { ...options, keys, cellsMax: random.between(Math.ceil(keys.length / 2), 6 * keys.length) };
}

function drawPlain(seed: number): WorldOptions {
  const random = new SeededRandom(seed ^ 0x51_07_1ce5);
  const profile = random.pick([SECONDS, SECONDS, SECONDS, MINUTES, MINUTES, MINUTES, HOURS, HOURS]);
  const regions = Math.min(random.pick([1, 1, 2, 2, 3, 4, 5, 6]), profile.processesMax);
  const processes = Math.max(1, Math.min(random.pick([1, 2, 2, 3, 4, 8]), Math.floor(profile.processesMax / regions)));
  const hasOrigin = processes > 1 || random.chance(0.8);
  const hasGlobal = regions > 1 || random.chance(0.3);
  const perSecond = random.pick(profile.perSecond);
  const keys = drawKeys(random, profile, perSecond);
  const flushMs = random.pick(profile.flushMs);
  const publishMs = random.pick(profile.publishMs);
  const safetyMs = Math.floor(
    Math.min(
      profile.safetyMaxMs,
      (1_000 * EVENTS) /
        (perSecond * EVENTS_PER_REQUEST +
          regions * processes * (hasOrigin ? (1_000 / flushMs) * EVENTS_PER_FLUSH : 0) +
          regions * processes * (hasGlobal ? (2_000 / publishMs) * EVENTS_PER_ROUND : 0)),
    ),
  );
  const faults = drawFaults(random).filter((fault) => isPossible(fault, hasOrigin, hasGlobal));
  const isTight = random.chance(0.25);
  const shape = random.pick<TrafficShape>(["steady", "steady", "bursty", "even", "one-region", "under-floor"]);
  return {
    regions,
    processes,
    safetyMs,
    keys,
    traffic: {
      shape: seed % HERD_EVERY === HERD_EVERY - 1 ? "herd" : shape,
      perSecond,
      costMax: random.pick([1, 1, 3, 10]),
      batches: random.pick([0, 0.1, 0.3]),
      peeks: random.pick([0, 0.05]),
    },
    hasOrigin,
    hasGlobal,
    globalMode: random.pick(["counters", "counters", "counters", "denials", "both"]),
    flushMs,
    readTimeoutMs: random.pick([50, 300, 300]),
    publishMs,
    importMs: publishMs,
    floor: random.pick([null, null, 0, 0.05, 0.3]),
    // Short windows take part in the global layer only where that is asked for.
    globalMinDuration: profile === SECONDS && random.chance(0.5) ? 1_000 : 60_000,
    cellsMax: isTight ? random.between(1, keys.length) : 64,
    whenFull: random.pick(["allow", "deny"]),
    originDelayMs: random.pick([0.2, 1, 5]),
    globalDelayMs: random.pick([2, 20, 80]),
    timeoutMs: random.pick([500, 1_000, 5_000]),
    faults,
    faultEveryMs: safetyMs / random.pick([15, 40, 100]),
    skewMaxMs: random.pick([200, 2_000, 20_000]),
    script: "none",
  };
}

/** No fault in one world of ten, one group in two, and in the others each group with three chances of four. */
function drawFaults(random: SeededRandom): readonly FaultKind[] {
  const draw = random.fraction();
  if (draw < 0.1) return [];
  if (draw < 0.3) return random.pick(FAULT_GROUPS);
  return FAULT_GROUPS.flatMap((group) => {
    if (random.chance(0.25)) return [];
    return random.chance(0.6) ? group : group.filter(() => random.chance(0.5));
  });
}

function isPossible(fault: FaultKind, hasOrigin: boolean, hasGlobal: boolean): boolean {
  if (fault.startsWith("origin")) return hasOrigin;
  if (fault.startsWith("global")) return hasGlobal;
  return hasOrigin || hasGlobal || fault.startsWith("process") || fault.startsWith("clock");
}

/** Limits from half to four times below what will be asked, so that some keys are denied often and some never. */
function drawKeys(random: SeededRandom, profile: Profile, perSecond: number): WorldKey[] {
  const count = random.pick([1, 2, 3, 6]);
  const first = random.between(0, NAMES.length - 1);
  return Array.from({ length: count }, (_, i) => {
    const [workspace, namespace, identifier] = NAMES[(first + i) % NAMES.length]!;
    const durationMs = random.pick(profile.durationsMs);
    const asked = (perSecond / count) * (durationMs / 1_000);
    const limit = Math.max(1, Math.round(asked / random.pick([0.5, 1, 1.5, 3])));
    return { workspace, namespace, identifier, durationMs, limit };
  });
}
