/**
 * What Sluice set out to reach, held against the figures of a run. Against peers, `decide` stands for Sluice, as the call
 * that a service would make; the figure for `limit`, with its promise, is given beside it.
 */
import type { CaseName } from "./cases.ts";
import { contenders, DECIDE, DECIDE_AWAITED, FLOOR, LIMIT, RATE_LIMITER_FLEXIBLE } from "./contenders.ts";
import type { SpeedFigure } from "./speed.ts";

export interface Verdict {
  readonly target: string;
  readonly measured: string;
  readonly isMet: boolean;
}

/** Nanoseconds of a contender in a case; undefined where it was not measured. */
type NsOf = (contender: string, caseName: CaseName) => number | undefined;

const slidingPeers = contenders
  .filter(({ window, packageName }) => window === "sliding" && packageName !== undefined)
  .map(({ name }) => name);

const allowedCases: readonly CaseName[] = ["hot-allowed", "keys-100k", "keys-1m"];

export function verdicts(figures: readonly SpeedFigure[]): Verdict[] {
  const nsOf: NsOf = (contender, caseName) => {
    return figures.find((figure) => figure.contender === contender && figure.caseName === caseName)?.ns;
  };
  return [
    againstFloor(nsOf, "hot-allowed", 2),
    againstFloor(nsOf, "keys-100k", 1.2),
    againstFloor(nsOf, "keys-1m", 1),
    ...allowedCases.map((caseName) => againstPeer(nsOf, RATE_LIMITER_FLEXIBLE, caseName, 2.5)),
    againstPeer(nsOf, RATE_LIMITER_FLEXIBLE, "hot-denied", 10),
    ...slidingPeers.flatMap((peer) => {
      return [...allowedCases, "hot-denied" as const].map((caseName) => againstPeer(nsOf, peer, caseName, 10));
    }),
    denialsAgainstAllows(nsOf),
    promiseAgainstNone(nsOf),
  ].filter((verdict) => verdict !== undefined);
}

function againstFloor(nsOf: NsOf, caseName: CaseName, ratioMax: number): Verdict | undefined {
  const floor = nsOf(FLOOR, caseName);
  const decide = nsOf(DECIDE, caseName);
  if (floor === undefined || decide === undefined) return undefined;
  const ratio = decide / floor;
  return {
    target: `${caseName}: decide takes at most ${ratioMax} × the floor`,
    measured: `${ratio.toFixed(2)} ×`,
    isMet: ratio <= ratioMax,
  };
}

function againstPeer(nsOf: NsOf, peer: string, caseName: CaseName, ratioMin: number): Verdict | undefined {
  const theirs = nsOf(peer, caseName);
  const limit = nsOf(LIMIT, caseName);
  const decide = nsOf(DECIDE, caseName);
  if (theirs === undefined || limit === undefined || decide === undefined) return undefined;
  return {
    target: `${caseName}: decide is at least ${ratioMin} × as fast as ${peer}`,
    measured: `${(theirs / decide).toFixed(1)} × (limit: ${(theirs / limit).toFixed(1)} ×)`,
    isMet: theirs / decide >= ratioMin,
  };
}

function denialsAgainstAllows(nsOf: NsOf): Verdict | undefined {
  const denied = nsOf(DECIDE, "hot-denied");
  const allowed = nsOf(DECIDE, "hot-allowed");
  if (denied === undefined || allowed === undefined) return undefined;
  return {
    target: "a denial is at least as fast as an allow",
    measured: `${denied.toFixed(0)} ns against ${allowed.toFixed(0)} ns`,
    isMet: denied <= allowed,
  };
}

function promiseAgainstNone(nsOf: NsOf): Verdict | undefined {
  const limit = nsOf(LIMIT, "hot-allowed");
  const decide = nsOf(DECIDE, "hot-allowed");
  const awaited = nsOf(DECIDE_AWAITED, "hot-allowed");
  if (limit === undefined || decide === undefined || awaited === undefined) return undefined;
  return {
    target: "limit takes at most 60 ns more than decide",
    measured: `${(limit - decide).toFixed(0)} ns more in a loop that awaits; ${(limit - awaited).toFixed(0)} ns more than decide awaited too`,
    isMet: limit - decide <= 60,
  };
}
