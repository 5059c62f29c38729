/** Small plots side by side, as one SVG that needs nothing else: the estimate and the exact log over time. */
import type { Accuracy } from "./measure.ts";

const WIDTH = 300;
const HEIGHT = 130;
const COLUMNS = 2;
const GAP = 24;
const TOP = 2.1;
/** Windows that a plot shows, from the third on: the first two have no past. */
const FROM = 2;
const UNTIL = 8;

export function plotAccuracy(figures: readonly Accuracy[]): string {
  const rows = Math.ceil(figures.length / COLUMNS);
  const width = COLUMNS * (WIDTH + GAP) + GAP;
  const height = rows * (HEIGHT + 2 * GAP) + GAP;
  const plots = figures.map((figure, i) => {
    const left = GAP + (i % COLUMNS) * (WIDTH + GAP);
    const top = GAP + Math.floor(i / COLUMNS) * (HEIGHT + 2 * GAP);
    return `<g transform="translate(${left} ${top})">${plotOne(figure)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">
<title>The estimate and an exact log, admitted ÷ limit over time</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${plots.join("\n")}
</svg>
`;
}

function plotOne({ shape, line }: Accuracy): string {
  const shown = line.filter(({ at }) => at >= FROM && at <= UNTIL);
  const x = (at: number) => (((at - FROM) / (UNTIL - FROM)) * WIDTH).toFixed(1);
  const y = (value: number) => (HEIGHT - (Math.min(value, TOP) / TOP) * HEIGHT).toFixed(1);
  const path = (value: (point: (typeof shown)[number]) => number) =>
    shown.map((point) => `${x(point.at)},${y(value(point))}`).join(" ");
  const borders = Array.from({ length: UNTIL - FROM + 1 }, (_, i) => x(FROM + i));
  return [
    `<text y="-6" fill="#222">${shape}: estimate (blue), exact log (orange), limit (dashed)</text>`,
    ...borders.map((at) => `<line x1="${at}" y1="0" x2="${at}" y2="${HEIGHT}" stroke="#ddd"/>`),
    `<line x1="0" y1="${y(1)}" x2="${WIDTH}" y2="${y(1)}" stroke="#888" stroke-dasharray="4 3"/>`,
    `<polyline points="${path(({ log }) => log)}" fill="none" stroke="#d9730d" stroke-width="1.5"/>`,
    `<polyline points="${path(({ estimate }) => estimate)}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`,
  ].join("\n");
}
