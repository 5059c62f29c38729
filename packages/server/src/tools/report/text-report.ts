/** The report for a terminal: what was planned, window by window, over time, in figures, and what to do about it. */
import { alignedLines } from "../../text/columns.ts";
import { rate, ratio, span, whole } from "../../text/figures.ts";
import type { Measured } from "../plan/measured.ts";
import { isConverging, type Plan } from "../plan/plan.ts";
import type { Outcome } from "../plan/rehearsal.ts";
import type { Advice } from "../plan/sizing.ts";
import { terminalPlot } from "./terminal-plot.ts";

/** Rows of the table of windows at its beginning and at its end; of those between, the worst stays. */
const ROWS_EACH = 8;

const WIDTH = 96;
const NAME_WIDTH = 26;

/** Everything, for one plan. */
export function textReport(outcome: Outcome): string {
  return [
    heading(outcome.plan),
    ...(outcome.isPartial
      ? ["PARTIAL: stopped before the end of the plan. Everything below describes the part that ran.", ""]
      : []),
    ...(outcome.problem === undefined ? [] : [brokenPromise(outcome), ""]),
    windowTable(outcome),
    "",
    "Admitted against the limit: the count of a perfect counter (current window + share of the previous one); ┄ is the limit",
    "",
    terminalPlot(outcome),
    "",
    ...figuresOf(outcome).flatMap(([name, figure]) => figureLines(name, figure)),
    "",
    ...adviceLines(outcome.advice),
  ].join("\n");
}

export function heading(plan: Plan): string {
  const { regions, processes, limit, duration, load, shape, mode, seed, faults, windows } = plan;
  const count = (n: number, noun: string) => `${whole(n)} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
  return [
    `Plan: ${count(regions, "region")} of ${count(processes, "process")}, limit ${whole(limit)} in ${span(duration)}, ` +
      `load ${load} × the limit, ${count(windows, "window")}`,
    `      shape ${shape}, mode ${mode}, flush ${span(plan.flush)}, publish ${span(plan.publish)}, import ${span(plan.import)}, ` +
      `floor ${plan.floor ?? "auto"}, faults ${faults.text}, seed ${seed}`,
    "",
  ].join("\n");
}

export function brokenPromise({ problem, plan }: Measured): string {
  return `A GUARANTEE OF SLUICE WAS VIOLATED, which is a bug in Sluice: ${problem} (seed ${plan.seed})`;
}

type Row = readonly [string, string, string, string, string, string, string];

function windowTable({ windows, plan }: Measured): string {
  const head: Row = ["window", "requested", "admitted", "÷ limit", "denied", "false denials", "degraded"];
  const rows = windows.map(
    ({ fromMs, asked, admitted, denied, falseDenials, degraded }): Row => [
      span(Math.max(0, fromMs)),
      whole(asked),
      whole(admitted),
      ratio(admitted / plan.limit),
      whole(denied),
      whole(falseDenials),
      whole(degraded),
    ],
  );
  const worst = windows.reduce((best, { admitted }, i) => (admitted > windows[best]!.admitted ? i : best), 0);
  const all = [head, ...shortened(rows, worst)];
  return alignedLines(all, { gap: "   ", rightFrom: 1 })
    .map((line) => `  ${line}`)
    .join("\n");
}

/** The first rows, the last ones and the worst, and how many are left out between. */
function shortened(rows: readonly Row[], worst: number): Row[] {
  const isShown = (i: number) => i < ROWS_EACH || i >= rows.length - ROWS_EACH || i === worst;
  const shown: Row[] = [];
  let left = 0;
  for (const [i, row] of rows.entries()) {
    if (!isShown(i)) left++;
    else {
      if (left > 0) shown.push([`… ${whole(left)} more`, "", "", "", "", "", ""]);
      shown.push(row);
      left = 0;
    }
  }
  return shown;
}

/** The figures that every report shows, as name and text. */
export function figuresOf(outcome: Measured): (readonly [string, string])[] {
  const { plan, perSecond, waits, faults } = outcome;
  const struck = Object.entries(faults).map(([kind, count]) => `${kind} ${whole(count)}`);
  return [
    ["worst window", `${ratio(outcome.admittedOverLimit)} × the limit`],
    ["worst excess", `${whole(outcome.worstExcess)} over the limit; the bound E was ${whole(outcome.bound)}`],
    ...(outcome.worstExcessDegraded > 0
      ? [["  while degraded", `${whole(outcome.worstExcessDegraded)} over the limit; E does not bound these`] as const]
      : []),
    ["false denials", falseDenials(outcome)],
    ["time to converge", convergence(outcome)],
    ["Redis", `${rate(perSecond.redisCommands)} commands/s in ${rate(perSecond.redisCalls)} calls/s, all origins`],
    ["SQL", `${rate(perSecond.sqlStatements)} statements/s, ${rate(perSecond.sqlRows)} rows/s written`],
    ["waited for the origin", `${(100 * waits.part).toFixed(1)} % of requests, ${span(waits.worstMs)} at most`],
    ...(struck.length > 0 ? [["faults", struck.join(", ")] as const] : []),
    ["simulated", `${span(Math.round(outcome.virtualMs / 1_000) * 1_000)}, ${whole(outcome.events)} events`],
    ...(isConverging(plan) || plan.regions === 1 ? [] : [["regions", "do not exchange counts"] as const]),
  ];
}

function falseDenials({ falseDenials: count, plan }: Measured): string {
  const note =
    count > 0 && plan.mode !== "counters" ? " (the denial channel marks a cell as full for all regions)" : "";
  return `${whole(count)}${note}`;
}

function convergence({ convergenceMs, convergencePromisedMs, unheard, isPartial }: Measured): string {
  if (convergenceMs === undefined) {
    return `not measured: ${isPartial ? "the run was stopped earlier" : "nothing was accepted in the last window"}`;
  }
  const rest = unheard > 0 ? `; ${whole(unheard)} of the last window never reach all processes` : "";
  const isKept = convergenceMs <= convergencePromisedMs;
  const promise = `${isKept ? "within the" : "NOT within the"} ${span(Math.round(convergencePromisedMs))} promised`;
  return `${span(Math.round(convergenceMs))}, ${promise}${rest}`;
}

function adviceLines(advice: readonly Advice[]): string[] {
  if (advice.length === 0) return ["Advice: none. Every sizing rule holds."];
  return [
    "Advice",
    ...advice.flatMap(({ rule, says, mend }) => [
      `  - ${rule}`,
      ...[...wrapped(`${says}.`, WIDTH), ...wrapped(`Try ${mend}.`, WIDTH)].map((line) => `    ${line}`),
    ]),
  ];
}

function figureLines(name: string, figure: string): string[] {
  const lines = wrapped(figure, WIDTH - NAME_WIDTH);
  return lines.map((line, i) => `  ${(i === 0 ? name : "").padEnd(NAME_WIDTH)}${line}`);
}

/** Lines of at most `width`, broken between words. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
