/**
 * The report as one page: no script, nothing loaded from anywhere, light or dark as the reader has it.
 *
 * Well-formed enough for an XML parser too, which a test uses.
 */

import { ratio, span, whole } from "../../text/figures.ts";
import { escaped } from "../../text/html-text.ts";
import type { Outcome } from "../plan/rehearsal.ts";
import { verdict } from "./comparison.ts";
import { countPlot, windowPlot } from "./svg-plot.ts";
import { brokenPromise, figuresOf, heading } from "./text-report.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --faint: #66707f; --paper: #fff; --line: #dfe4ea; --count: #1769c2;
  --limit: #b3261e; --bound: #8a6100; --bar: #7fb0e6; --note: #f4f6f9 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --faint: #9aa5b4; --paper: #14181f; --line: #2b323d;
  --count: #6db3ff; --limit: #ff8a80; --bound: #e2b64c; --bar: #2f6aa8; --note: #1d232c } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem; margin: 2rem auto;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
pre { white-space: pre-wrap; color: var(--faint); font-size: .85rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right }
th:first-child, td:first-child { text-align: left } table.figures td { text-align: left }
figure { margin: 0 0 1.5rem; overflow-x: auto } figcaption { color: var(--faint); margin-bottom: .25rem } .wide { overflow-x: auto }
svg { width: 100%; min-width: 32rem; height: auto; font: 12px system-ui, sans-serif } svg text { fill: var(--faint) }
.grid { stroke: var(--line) } .count { fill: none; stroke: var(--count); stroke-width: 2 }
.bar { fill: var(--bar) } .bar.over { fill: var(--count) }
line.limit { stroke: var(--limit); stroke-dasharray: 6 4; stroke-width: 1.5 } svg text.limit { fill: var(--limit) }
line.bound { stroke: var(--bound); stroke-dasharray: 2 4; stroke-width: 1.5 } svg text.bound { fill: var(--bound) }
svg text.limit, svg text.bound { paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
.note { background: var(--note); border-left: 4px solid var(--limit); padding: .5rem 1rem }
li { margin-bottom: .5rem }`;

/** `outcomes` has one, or with an attack one a mode. */
export function htmlReport(outcomes: readonly Outcome[]): string {
  const { regions, limit, duration } = outcomes[0]!.plan;
  const title = `Sluice plan: ${whole(limit)} in ${span(duration)}, ${regions} ${regions === 1 ? "region" : "regions"}`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8"/>',
    '<meta name="viewport" content="width=device-width"/>',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    "</head>",
    "<body>",
    `<h1>${escaped(title)}</h1>`,
    ...(outcomes.length > 1 ? ["<ul>", ...outcomes.map((item) => `<li>${escaped(verdict(item))}</li>`), "</ul>"] : []),
    ...outcomes.toReversed().flatMap((outcome) => section(outcome, outcomes.length > 1)),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function section(outcome: Outcome, isOneOfMany: boolean): string[] {
  const { plan, isPartial, problem, advice } = outcome;
  return [
    ...(isOneOfMany ? [`<h2>Mode ${escaped(plan.mode)}</h2>`] : []),
    `<pre>${escaped(heading(plan).trimEnd())}</pre>`,
    ...(isPartial ? ['<p class="note">Partial: stopped before the end of the plan.</p>'] : []),
    ...(problem === undefined ? [] : [`<p class="note">${escaped(brokenPromise(outcome))}</p>`]),
    "<h2>Admitted against the limit</h2>",
    countPlot(outcome),
    windowPlot(outcome),
    "<h2>Figures</h2>",
    '<table class="figures"><tbody>',
    ...figuresOf(outcome).map(
      ([name, figure]) => `<tr><th>${escaped(name.trim())}</th><td>${escaped(figure)}</td></tr>`,
    ),
    "</tbody></table>",
    "<h2>Windows</h2>",
    `<div class="wide">${windowTable(outcome)}</div>`,
    "<h2>Advice</h2>",
    ...(advice.length === 0
      ? ["<p>None. Every sizing rule holds.</p>"]
      : [
          "<ul>",
          ...advice.map(({ rule, says, mend }) => `<li><b>${rule}</b>: ${escaped(says)}. Try ${escaped(mend)}.</li>`),
          "</ul>",
        ]),
  ];
}

function windowTable({ windows, plan }: Outcome): string {
  const head = ["window", "requested", "admitted", "÷ limit", "denied", "false denials", "degraded"];
  const cells = windows.map((item) => [
    span(Math.max(0, item.fromMs)),
    whole(item.asked),
    whole(item.admitted),
    ratio(item.admitted / plan.limit),
    whole(item.denied),
    whole(item.falseDenials),
    whole(item.degraded),
  ]);
  return [
    `<table><thead><tr>${head.map((name) => `<th>${name}</th>`).join("")}</tr></thead><tbody>`,
    ...cells.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`),
    "</tbody></table>",
  ].join("\n");
}
