/** What the recorder makes of a history, line by line. */
import type { HistoryLine } from "@sluice/sim";
import { expect, test } from "vitest";
import { lateness } from "./convergence-meter.ts";
import { readPlan } from "./read-plan.ts";
import { WindowRecorder } from "./recorder.ts";

const START_MS = 1_700_000_000_000;
const DURATION_MS = 10_000;
const FIRST = START_MS / DURATION_MS;

type Decided = Extract<HistoryLine["event"], { kind: "decision" }>;

function recorder(windows = "2", more: Readonly<Record<string, string>> = {}): WindowRecorder {
  const flags = new Map(Object.entries({ regions: "1", limit: "3", duration: "10s", windows, ...more }));
  const made = new WindowRecorder(readPlan({ flags }));
  made.observe(phase("safety", 0));
  return made;
}

function phase(name: "safety" | "liveness" | "quiet", sinceMs: number): HistoryLine {
  return { atMs: START_MS + sinceMs, process: "world", event: { kind: "phase", phase: name } };
}

function decision(sinceMs: number, more: Partial<Decided> = {}, process = "r0p0.1"): HistoryLine {
  const atMs = START_MS + sinceMs;
  const event: Decided = {
    kind: "decision",
    key: "k",
    sequence: Math.floor(atMs / DURATION_MS),
    wallMs: atMs,
    monoMs: sinceMs,
    arrivedMs: sinceMs,
    durationMs: DURATION_MS,
    limit: 3,
    cost: 1,
    success: true,
    isCounted: true,
    reason: "allowed",
    source: "local",
    degraded: false,
    effective: 0,
    call: 0,
    own: 0,
    others: 0,
    foreign: 0,
    previous: 0,
    writer: "w",
    batch: 0,
    ...more,
  };
  return { atMs, process, event };
}

const DENIED = { success: false, isCounted: false, reason: "limit" } as const;

test("a denial is false where a perfect counter would have allowed, and only there", () => {
  const made = recorder();
  for (const atMs of [1_000, 2_000]) made.observe(decision(atMs));
  made.observe(decision(3_000, DENIED));
  made.observe(decision(4_000));
  made.observe(decision(5_000, DENIED));
  expect(made.windows()).toEqual([{ fromMs: 0, asked: 5, admitted: 3, denied: 2, falseDenials: 1, degraded: 0 }]);
});

test("a cost that an origin admitted counts once, from that moment on, even if its process is killed before it answers", () => {
  // Seen: a deployment that kills processes reported 119 false denials. Each was right: the origin had admitted costs for processes that had died.
  const made = recorder();
  const admitted = (sinceMs: number, call: number, cost: number): HistoryLine => {
    const place = { region: "r0", life: "r0p0.1", key: "k", sequence: FIRST, writer: "w" };
    const event = {
      kind: "admitted",
      ...place,
      call,
      cost,
      limit: 3,
      requests: cost,
      refused: 0,
      isRepeated: false,
    } as const;
    return { atMs: START_MS + sinceMs, process: "origin/r0", event };
  };
  made.observe(admitted(1_000, 1, 2));
  made.observe(decision(1_001, { call: 1 }));
  made.observe(decision(1_001, { call: 1 }));
  made.observe(decision(1_002, DENIED));
  made.observe(admitted(1_003, 2, 1));
  made.observe(admitted(1_004, 2, 1));
  made.observe(decision(1_005, DENIED, "r0p1.2"));
  expect(made.windows()).toEqual([{ fromMs: 0, asked: 4, admitted: 2, denied: 2, falseDenials: 1, degraded: 0 }]);
});

test("the share of the window before counts, to the millisecond", () => {
  const made = recorder();
  for (const atMs of [1_000, 2_000, 3_000]) made.observe(decision(atMs));
  // 3 * 6,667 / 10,000 is just 2, and 3 * 6,666 / 10,000 just below: 2 + 1 of 3 fit, but 3 + 1 would not.
  made.observe(decision(DURATION_MS + 3_333, DENIED));
  made.observe(decision(DURATION_MS + 3_333));
  made.observe(decision(DURATION_MS + 3_334, DENIED));
  made.observe(decision(DURATION_MS + 3_333, DENIED));
  expect(made.windows().map(({ falseDenials }) => falseDenials)).toEqual([0, 2]);
});

test("how far a degraded allow goes beyond the limit is counted apart", () => {
  const made = recorder();
  for (let i = 0; i < 5; i++) made.observe(decision(i));
  expect(made.excessDegraded).toBe(0);
  made.observe(decision(9, { degraded: true }));
  expect(made.excessDegraded).toBe(3);
});

test("the timeline keeps every peak, and sinks with the share of the window before", () => {
  const made = recorder("2");
  for (let i = 0; i < 4; i++) made.observe(decision(9_000 + i));
  made.observe(phase("liveness", 2 * DURATION_MS));
  const { counts } = made.timeline;
  expect(counts).toHaveLength(288);
  expect(Math.max(...counts)).toBe(4);
  expect(counts[0]).toBe(0);
  expect(counts.at(-1)).toBe(0);
  expect(counts.slice(144)).toEqual([...counts.slice(144)].sort((a, b) => b - a));
});

test("views have converged when the last of them has changed for the last time", () => {
  const made = recorder("1");
  made.observe(decision(9_000));
  made.observe(decision(9_500, {}, "r0p1.2"));
  made.observe(phase("liveness", DURATION_MS));
  const peek = (sinceMs: number, previous: number, process?: string) =>
    made.observe(
      decision(DURATION_MS + sinceMs, { cost: 0, isCounted: false, sequence: FIRST + 1, previous }, process),
    );
  peek(0, 1);
  peek(0, 1, "r0p1.2");
  peek(100, 2);
  peek(200, 2, "r0p1.2");
  peek(300, 2);
  peek(300, 2, "r0p1.2");
  expect(made.convergence.result()).toBeUndefined();
  made.observe(phase("quiet", DURATION_MS + 400));
  expect(made.convergence.result()).toEqual({ ms: 700, unheard: 0 });
});

test.each([
  { mode: "counters", ms: 1_500 },
  { mode: "denials", ms: 700 },
])("with --mode $mode, convergence counts from the last thing that regions tell each other", ({ mode, ms }) => {
  const made = recorder("1", { regions: "2", "global-min": "10s", mode });
  made.observe(decision(8_700));
  made.observe(decision(9_500, DENIED));
  made.observe(phase("liveness", DURATION_MS));
  const peek = { cost: 0, isCounted: false, sequence: FIRST + 1 };
  made.observe(decision(DURATION_MS, { ...peek, previous: 1 }, "r1p0.2"));
  made.observe(decision(DURATION_MS + 200, { ...peek, previous: 3 }, "r1p0.2"));
  made.observe(phase("quiet", DURATION_MS + 400));
  expect(made.convergence.result()?.ms).toBe(ms);
});

test("views that change for longer than was promised break the promise, and no others do", () => {
  expect(lateness(undefined, 100)).toBeUndefined();
  expect(lateness({ ms: 100, unheard: 5 }, 100)).toBeUndefined();
  expect(lateness({ ms: 100.5, unheard: 0 }, 100)).toBe("convergence took 101 ms, but the bound is 100 ms");
});
