/** Every sizing rule speaks where its plan breaks it, and is silent where it does not. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Measured } from "./measured.ts";
import type { PlanName } from "./plan.ts";
import { readPlan } from "./read-plan.ts";
import { adviceOn, RULES, type RuleName } from "./sizing.ts";

type Flags = Partial<Record<PlanName, string>>;

const WINDOW = { fromMs: 0, asked: 20, admitted: 10, denied: 10, falseDenials: 0, degraded: 0 };

/** A plan that went well, but for what is told otherwise. */
function measured(flags: Flags, figures: Partial<Measured> = {}): Measured {
  return {
    plan: readPlan({ flags: new Map(Object.entries(flags)) }),
    isPartial: false,
    problem: undefined,
    windows: [WINDOW],
    timeline: { everyMs: 1, counts: [] },
    admittedOverLimit: 1,
    falseDenials: 0,
    worstExcess: 0,
    bound: 10,
    worstExcessDegraded: 0,
    convergenceMs: 0,
    convergencePromisedMs: 0,
    unheard: 0,
    perSecond: { redisCommands: 0, redisCalls: 0, sqlStatements: 0, sqlRows: 0 },
    waits: { part: 0, worstMs: 0 },
    faults: {},
    virtualMs: 0,
    events: 0,
    ...figures,
  };
}

interface Case {
  readonly rule: RuleName;
  readonly broken: Measured;
  readonly kept: Measured;
  readonly says: string;
}

const RATES = { redisCommands: 0, redisCalls: 0, sqlStatements: 0, sqlRows: 0 };

const CASES: readonly Case[] = [
  {
    rule: "window-below-global-min",
    broken: measured({ duration: "59s" }),
    kept: measured({ duration: "60s" }),
    says: "windows of 59s are shorter than 1m, so regions do not exchange counts: up to 3 × the limit",
  },
  {
    rule: "denials-see-no-even-spread",
    broken: measured({ mode: "denials" }),
    kept: measured({ mode: "denials", regions: "1" }),
    says: "not denied below 3 × the limit",
  },
  {
    rule: "floor-hides-too-much",
    broken: measured({ floor: "0.4" }),
    kept: measured({ floor: "0.01" }),
    says: "the floor 0.4 is above 1 ÷ regions: 3 regions just under it use 1.2 × the limit",
  },
  {
    rule: "herd-outruns-news",
    broken: measured({ shape: "herd", load: "1.01", regions: "2", processes: "2" }),
    kept: measured({ shape: "herd", load: "1", regions: "2", processes: "2" }),
    says: "all 4 processes get requests at the same instant, before any of them has the counts of the others: up to 1.01 × the limit",
  },
  {
    rule: "world-news-too-slow",
    broken: measured({ publish: "10s" }),
    kept: measured({}),
    says: "counts of other regions arrive after up to",
  },
  {
    rule: "region-news-too-slow",
    broken: measured({ regions: "1", duration: "1s", load: "4" }),
    kept: measured({ regions: "1", duration: "1m", load: "4" }),
    says: "counts of other processes arrive after up to",
  },
  {
    rule: "flush-slower-than-freshness",
    broken: measured({ duration: "1s", flush: "60ms" }),
    kept: measured({ duration: "1s", flush: "50ms" }),
    says: "the flush interval of 60ms is longer than counts stay fresh (50ms in windows of 1s)",
  },
  {
    rule: "origin-too-far",
    broken: measured({ "origin-rtt": "400ms" }),
    kept: measured({ "origin-rtt": "50ms" }),
    says: "reads time out after 300ms",
  },
  {
    rule: "origin-too-far",
    broken: measured({ "origin-rtt": "200ms", flush: "1s" }),
    kept: measured({ "origin-rtt": "199ms", flush: "1s", duration: "1h" }),
    says: "reads time out after 300ms",
  },
  {
    rule: "limit-below-processes",
    broken: measured({ limit: "5" }),
    kept: measured({ limit: "6" }),
    says: "the limit of 5 is below the number of processes (6)",
  },
  {
    rule: "redis-too-busy",
    broken: measured({}, { perSecond: { ...RATES, redisCommands: 30_003 } }),
    kept: measured({}, { perSecond: { ...RATES, redisCommands: 30_000 } }),
    says: "each origin gets 10,001 commands per second",
  },
  {
    rule: "sql-too-busy",
    broken: measured({}, { perSecond: { ...RATES, sqlStatements: 501 } }),
    kept: measured({}, { perSecond: { ...RATES, sqlStatements: 500 } }),
    says: "501 statements per second",
  },
  {
    rule: "nothing-denied",
    broken: measured({ load: "0.5" }, { windows: [{ ...WINDOW, denied: 0 }] }),
    kept: measured({}),
    says: "load of the plan is 0.5 × the limit",
  },
  {
    rule: "over-in-truth",
    broken: measured({}, { admittedOverLimit: 1.2, worstExcess: 200, bound: 300 }),
    kept: measured({}, { admittedOverLimit: 1.05 }),
    says: "admitted 1.2 × the limit; the worst allow was 200 over, of 300 that E permits",
  },
];

describe("sizing rules", () => {
  test("the excess that E is compared with is told apart from that of degraded allows", () => {
    const figures = { admittedOverLimit: 1.2, worstExcess: 200, worstExcessDegraded: 200, bound: 300 };
    const advice = adviceOn(measured({}, figures)).find(({ rule }) => rule === "over-in-truth");
    expect(advice?.says).toContain("the worst allow that was not degraded was 200 over, of 300 that E permits");
  });

  test("each has a case here and a line in docs/planner.md, in one order", () => {
    const page = readFileSync(new URL("../../../../../docs/planner.md", import.meta.url), "utf8");
    const inPage = [...page.slice(page.indexOf("## Sizing rules")).matchAll(/^\| `([a-z-]+)`/gm)].map(
      ([, name]) => name,
    );
    expect(inPage).toEqual(Object.keys(RULES));
    expect([...new Set(CASES.map(({ rule }) => rule))]).toEqual(Object.keys(RULES));
  });

  test.each(CASES)("$rule speaks where it is broken, and not where it is kept", ({ rule, broken, kept, says }) => {
    const advice = adviceOn(broken).find((one) => one.rule === rule);
    expect(advice?.says).toContain(says);
    expect(advice?.mend).not.toBe("");
    expect(adviceOn(kept).map((one) => one.rule)).not.toContain(rule);
  });

  test("the default plan breaks none", () => {
    expect(adviceOn(measured({}))).toEqual([]);
  });
});
