/**
 * The sizing rules: what a plan breaks, with its figures, and what would mend it. They follow from the terms of E in
 * docs/guarantees.md; docs/planner.md lists them, and a test holds the two together.
 */
import { DELAY_WORST } from "@sluice/sim";
import { span, whole } from "../../text/figures.ts";
import { type Horizon, horizonOf } from "./horizon.ts";
import type { Measured } from "./measured.ts";
import { isConverging, type Plan } from "./plan.ts";

export interface Advice {
  /** The name of the rule. */
  readonly rule: RuleName;
  readonly says: string;
  readonly mend: string;
}

export type RuleName =
  | "window-below-global-min"
  | "denials-see-no-even-spread"
  | "floor-hides-too-much"
  | "herd-outruns-news"
  | "world-news-too-slow"
  | "region-news-too-slow"
  | "flush-slower-than-freshness"
  | "origin-too-far"
  | "limit-below-processes"
  | "redis-too-busy"
  | "sql-too-busy"
  | "nothing-denied"
  | "over-in-truth";

/**
 * More than this part of the limit, unknown at a time, is worth a word. H is how long news takes at the very worst: what is
 * seen is a tenth of that, so a quarter stands for some per cent.
 */
const UNKNOWN_MAX = 0.25;
/** What all floors together may hide: the library's error budget. */
const HIDDEN_MAX = 0.02;
/** Commands a second that one origin is asked at most: a tenth of what a small Redis does. */
const REDIS_MAX = 10_000;
/** Statements a second that the global counters are asked at most. */
const SQL_MAX = 500;
/** A read is given up after this time (readTimeoutMs). */
const READ_TIMEOUT_MS = 300;
/** Admitted above this, as a multiple of the limit, is said whatever the rules say. */
const OVER_MAX = 1.05;

type Rule = (plan: Plan, horizon: Horizon, measured: Measured) => Omit<Advice, "rule"> | undefined;

export const RULES: Readonly<Record<RuleName, Rule>> = {
  "window-below-global-min": ({ regions, duration, mode, "global-min": minMs }) =>
    regions > 1 && mode !== "denials" && duration < minMs
      ? {
          says: `windows of ${span(duration)} are shorter than ${span(minMs)}, so regions do not exchange counts: up to ${regions} × the limit`,
          mend: `a window of ${span(minMs)} or more, --global-min ${span(duration)}, or a limit per region (limit ÷ ${regions})`,
        }
      : undefined,

  "denials-see-no-even-spread": ({ regions, mode }) =>
    regions > 1 && mode === "denials"
      ? {
          says: `with mode denials, traffic spread evenly over ${regions} regions is not denied below ${regions} × the limit`,
          mend: "--mode counters, the default, or both",
        }
      : undefined,

  "floor-hides-too-much": (plan, { floor }) => {
    const hidden = floor * (plan.regions - 1);
    if (!isConverging(plan) || hidden <= HIDDEN_MAX) return undefined;
    const isAboveShare = floor > 1 / plan.regions;
    return {
      says: isAboveShare
        ? `the floor ${floor} is above 1 ÷ regions: ${plan.regions} regions just under it use ${round(floor * plan.regions)} × the limit, and none of them publishes its count`
        : `the other ${plan.regions - 1} regions may each leave ${floor} of the limit unpublished: ${round(100 * hidden)} % together`,
      mend: `--floor auto, or at most ${round(HIDDEN_MAX / (plan.regions - 1))}`,
    };
  },

  "herd-outruns-news": ({ shape, load, regions, processes }) => {
    const all = regions * processes;
    return shape === "herd" && all > 1 && load > 1
      ? {
          says: `all ${all} processes get requests at the same instant, before any of them has the counts of the others: up to ${round(Math.min(all, load))} × the limit, however fast counts travel`,
          mend: `clients that start at a random time in the window, fewer processes that serve one key, or a limit per process (limit ÷ ${all})`,
        }
      : undefined;
  },

  "world-news-too-slow": (plan, { globalMs }) => {
    const unknown = unknownPart(plan, globalMs, (plan.regions - 1) / plan.regions);
    if (!isConverging(plan) || unknown <= UNKNOWN_MAX) return undefined;
    return {
      says: `counts of other regions arrive after up to ${span(globalMs)} (H_g); at this load they may accept ${percent(unknown)} of the limit in that time`,
      mend: `a shorter --publish and --import (${span(plan.publish)} and ${span(plan.import)}), or longer windows`,
    };
  },

  "region-news-too-slow": (plan, { regionalMs }) => {
    const unknown = unknownPart(plan, regionalMs, (plan.processes - 1) / plan.processes);
    if (plan.processes === 1 || unknown <= UNKNOWN_MAX) return undefined;
    return {
      says: `counts of other processes arrive after up to ${span(regionalMs)} (H_r); until the first denial, at this load they may accept ${percent(unknown)} of the limit in that time`,
      mend: `a shorter --flush (${span(plan.flush)}), a nearer origin, or longer windows`,
    };
  },

  "flush-slower-than-freshness": ({ flush, processes, duration }, { freshnessMs }) =>
    processes > 1 && flush > freshnessMs
      ? {
          says: `the flush interval of ${span(flush)} is longer than counts stay fresh (${span(freshnessMs)} in windows of ${span(duration)}): requests wait for reads that flushes would have avoided`,
          mend: `--flush ${span(Math.max(5, Math.floor(freshnessMs)))} or less`,
        }
      : undefined,

  "origin-too-far": ({ "origin-rtt": rttMs, flush }) => {
    const isLate = DELAY_WORST * rttMs >= READ_TIMEOUT_MS;
    if (isLate) {
      return {
        says: `the origin is ${span(rttMs)} away on average, and reads time out after ${span(READ_TIMEOUT_MS)}: decisions that need a read are degraded, and circuit breakers open`,
        mend: "an origin in the region of its processes",
      };
    }
    return rttMs <= flush
      ? undefined
      : {
          says: `the origin is ${span(rttMs)} away, longer than the ${span(flush)} between two flushes: flushes wait for each other`,
          mend: `an origin nearer by, or --flush ${span(Math.min(1_000, Math.ceil(rttMs)))}`,
        };
  },

  "limit-below-processes": ({ limit, regions, processes }) =>
    limit < regions * processes && regions * processes > 1
      ? {
          says: `the limit of ${whole(limit)} is below the number of processes (${regions * processes}): each may allow one request before it has the counts of the others`,
          mend: "fewer processes that serve one key, or one region for it",
        }
      : undefined,

  "redis-too-busy": ({ regions, flush, processes }, _horizon, { perSecond }) => {
    const each = perSecond.redisCommands / regions;
    if (each <= REDIS_MAX) return undefined;
    return {
      says: `each origin gets ${whole(Math.round(each))} commands per second from ${processes} processes for this one key`,
      mend: `a longer --flush (${span(flush)}): the load falls in proportion`,
    };
  },

  "sql-too-busy": ({ publish, import: importMs }, _horizon, { perSecond }) =>
    perSecond.sqlStatements > SQL_MAX
      ? {
          says: `the global counters get ${whole(Math.round(perSecond.sqlStatements))} statements per second`,
          mend: `a longer --publish (${span(publish)}) or --import (${span(importMs)}): every process does both`,
        }
      : undefined,

  "nothing-denied": ({ load, attack }, _horizon, { windows }) =>
    attack === "none" && windows.every(({ denied }) => denied === 0)
      ? {
          says: `nothing was denied: the load of the plan is ${load} × the limit`,
          mend: "a higher --load, to see denials",
        }
      : undefined,

  "over-in-truth": (_plan, _horizon, { admittedOverLimit, worstExcess, worstExcessDegraded, bound }) =>
    admittedOverLimit > OVER_MAX
      ? {
          says: `the fullest window admitted ${round(admittedOverLimit)} × the limit; the worst allow${worstExcessDegraded > 0 ? " that was not degraded" : ""} was ${whole(worstExcess)} over, of ${whole(bound)} that E permits`,
          mend: "what the other rules suggest; otherwise a limit that is lower by that much",
        }
      : undefined,
};

/** What the plan breaks, in the order of the table. */
export function adviceOn(measured: Measured): Advice[] {
  const horizon = horizonOf(measured.plan);
  return (Object.entries(RULES) as [RuleName, Rule][]).flatMap(([rule, apply]) => {
    const advice = apply(measured.plan, horizon, measured);
    return advice === undefined ? [] : [{ rule, ...advice }];
  });
}

/** What others may accept within a time, as a part of the limit: they accept no more than is asked, nor than the limit. */
function unknownPart({ load, duration, shape }: Plan, horizonMs: number, others: number): number {
  // No interval is short enough for a herd: that is another rule's.
  if (shape === "herd") return 0;
  return Math.min(1, (load * others * horizonMs) / duration);
}

function percent(part: number): string {
  return `${round(100 * part)} %`;
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}
