/**
 * Two drawings as SVG, for a page that loads nothing: the true count over time, and each window's admitted ÷ limit.
 *
 * Colours are classes, so that the page's style decides them for light and dark. Every drawing is
 * named for those who do not see it.
 */
import { ratio, span, whole } from "../../text/figures.ts";
import type { Measured } from "../plan/measured.ts";

const WIDTH = 860;
const HEIGHT = 280;
const LEFT = 70;
const RIGHT = 16;
const TOP = 16;
const BOTTOM = 34;
const HEADROOM = 1.1;
/** Lines and labels of an axis, at the most. */
const TICKS = 6;
/** Windows are narrower than this, however few. */
const BAR_MAX = 60;
const DAY_MS = 86_400_000;
/** What steps of an axis are counted in: parts of ten, and for times what clocks show. */
const ROUND = [1, 2, 2.5, 5, 10];
const ROUND_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200].map(
  (s) => s * 1_000,
);

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
  const { x, y, lines } = frame(top, counts.length * everyMs, whole);
  const last = Math.max(1, counts.length - 1);
  const points = counts.map((count, i) => `${place(x(i / last))},${place(y(count))}`).join(" ");
  return drawing("The true count over time: the current window plus the share of the previous one", [
    ...lines,
    `<polyline class="count" points="${points}"/>`,
    ...(isBoundShown ? [level(y(permitted), "bound", `limit + E = ${whole(permitted)}`)] : []),
    level(y(limit), "limit", `limit ${whole(limit)}`),
  ]);
}

/** A bar for each window; the limit is 1. */
export function windowPlot({ plan, windows }: Measured): string {
  const ratios = windows.map(({ admitted }) => admitted / plan.limit);
  const top = Math.max(1, ...ratios) * HEADROOM;
  const { x, y, lines } = frame(top, windows.length * plan.duration, (value) => String(Number(value.toFixed(3))));
  const each = (x(1) - x(0)) / Math.max(1, ratios.length);
  const width = Math.min(BAR_MAX, 0.8 * each);
  const bars = ratios.map((value, i) => {
    const title = `<title>window ${i + 1}: ${ratio(value)} × the limit</title>`;
    const box = `x="${place(x(0) + (i + 0.5) * each - width / 2)}" y="${place(y(value))}" width="${place(width)}" height="${place(y(0) - y(value))}"`;
    return `<rect class="${value > 1 ? "bar over" : "bar"}" ${box}>${title}</rect>`;
  });
  return drawing("Admitted ÷ limit, window by window", [...lines, ...bars, level(y(1), "limit", "limit")]);
}

function frame(top: number, spanMs: number, label: (value: number) => string): Frame {
  const x = (part: number) => LEFT + part * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const lines = [
    ...ticks(top, stepOf(top)).map((value) => {
      const at = place(y(value));
      return (
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>` +
        `<text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end">${label(value)}</text>`
      );
    }),
    ...ticks(spanMs, timeStepOf(spanMs)).map((ms) => {
      const at = place(x(ms / Math.max(1, spanMs)));
      return `<text x="${at}" y="${HEIGHT - 10}" text-anchor="middle">${ms === 0 ? "0" : span(ms)}</text>`;
    }),
  ];
  return { x, y, lines };
}

/** From 0 to `top` by steps. */
function ticks(top: number, step: number): number[] {
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

function stepOf(top: number): number {
  const power = 10 ** Math.floor(Math.log10(top / TICKS));
  return power * ROUND.find((step) => step * power * TICKS >= top)!;
}

/** A step that a clock has, or whole days. */
function timeStepOf(spanMs: number): number {
  const known = ROUND_MS.find((step) => step * TICKS >= spanMs);
  return known ?? Math.ceil(spanMs / TICKS / DAY_MS) * DAY_MS;
}

/** A level across the drawing; what stands above it is named above, so that two that are near each other stay apart. */
function level(at: number, name: "limit" | "bound", label: string): string {
  const below = name === "limit";
  return (
    `<line class="${name}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${place(at)}" y2="${place(at)}"/>` +
    `<text class="${name}" x="${WIDTH - RIGHT - 4}" y="${place(at)}" dy="${below ? 15 : -5}" text-anchor="end">${label}</text>`
  );
}

function drawing(title: string, parts: readonly string[]): string {
  return [
    `<figure><figcaption>${title}</figcaption>`,
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    ...parts,
    "</svg></figure>",
  ].join("\n");
}

function place(value: number): string {
  return String(Math.round(value * 10) / 10);
}
