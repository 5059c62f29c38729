/**
 * Two drawings as SVG, for a page that loads nothing: the true count over time, and each window's admitted ÷ limit.
 *
 * Colours are classes, so that the page's style decides them for light and dark. Every drawing has a title for those who
 * do not see it.
 */
import { ratio, span, whole } from "../figures.ts";
import type { Measured } from "../plan/measured.ts";

const WIDTH = 860;
const HEIGHT = 280;
const LEFT = 70;
const RIGHT = 16;
const TOP = 16;
const BOTTOM = 34;
const HEADROOM = 1.1;
const TICKS = 5;

interface Frame {
  /** From values to places in the drawing. */
  readonly x: (part: number) => number;
  readonly y: (value: number) => number;
  /** The axes with their labels. */
  readonly lines: readonly string[];
}

/** The true count over time against the limit, and against the limit and E. */
export function countPlot({ plan, timeline, bound }: Measured): string {
  const { limit } = plan;
  const { counts, everyMs } = timeline;
  const permitted = limit + bound;
  const peak = Math.max(limit, ...counts);
  // E may be far above anything that happened; it must not squeeze the rest.
  const isBoundShown = permitted <= 2 * peak;
  const top = Math.max(peak, isBoundShown ? permitted : 0) * HEADROOM;
  const { x, y, lines } = frame(top, (part) => span(Math.round((part * counts.length * everyMs) / 100) * 100), whole);
  const last = Math.max(1, counts.length - 1);
  const points = counts.map((count, i) => `${place(x(i / last))},${place(y(count))}`).join(" ");
  return drawing("Admitted against the limit, over time", [
    ...lines,
    ...(isBoundShown ? [level(y(permitted), "bound", `limit + E = ${whole(permitted)}`)] : []),
    level(y(limit), "limit", `limit ${whole(limit)}`),
    `<polyline class="count" points="${points}"/>`,
  ]);
}

/** A bar for each window; the limit is 1. */
export function windowPlot({ plan, windows }: Measured): string {
  const ratios = windows.map(({ admitted }) => admitted / plan.limit);
  const top = Math.max(1, ...ratios) * HEADROOM;
  const { x, y, lines } = frame(
    top,
    (part) => span(Math.round(part * windows.length * plan.duration)),
    (value) => value.toFixed(2),
  );
  const width = (x(1) - x(0)) / Math.max(1, ratios.length);
  const bars = ratios.map((value, i) => {
    const title = `<title>window ${i + 1}: ${ratio(value)} × the limit</title>`;
    const box = `x="${place(x(0) + (i + 0.1) * width)}" y="${place(y(value))}" width="${place(0.8 * width)}" height="${place(y(0) - y(value))}"`;
    return `<rect class="${value > 1 ? "bar over" : "bar"}" ${box}>${title}</rect>`;
  });
  return drawing("Admitted ÷ limit, window by window", [...lines, ...bars, level(y(1), "limit", "limit")]);
}

function frame(top: number, xLabel: (part: number) => string, yLabel: (value: number) => string): Frame {
  const x = (part: number) => LEFT + part * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const steps = Array.from({ length: TICKS + 1 }, (_, i) => i / TICKS);
  const lines = [
    ...steps.map((part) => {
      const at = place(y(part * top));
      return (
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>` +
        `<text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end">${yLabel(part * top)}</text>`
      );
    }),
    ...steps.map(
      (part) => `<text x="${place(x(part))}" y="${HEIGHT - 10}" text-anchor="middle">${xLabel(part)}</text>`,
    ),
  ];
  return { x, y, lines };
}

function level(at: number, name: string, label: string): string {
  return (
    `<line class="${name}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${place(at)}" y2="${place(at)}"/>` +
    `<text class="${name}" x="${WIDTH - RIGHT - 4}" y="${place(at - 5)}" text-anchor="end">${label}</text>`
  );
}

function drawing(title: string, parts: readonly string[]): string {
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    ...parts,
    "</svg>",
  ].join("\n");
}

function place(value: number): string {
  return String(Math.round(value * 10) / 10);
}
