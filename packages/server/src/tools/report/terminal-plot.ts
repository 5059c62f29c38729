/** The true count over time, drawn with characters; the limit is a dotted line through what is left free. */
import { plot } from "asciichart";
import { span, whole } from "../../text/figures.ts";
import type { Measured } from "../plan/measured.ts";

const COLUMNS = 72;
const ROWS = 12;
/** The limit never touches the upper edge, so that what is over it shows. */
const HEADROOM = 1.1;
const LIMIT_MARK = "┄";

export function terminalPlot({ plan, timeline }: Measured): string {
  if (timeline.counts.length === 0) return "(no data: the run was stopped too early)";
  const { limit } = plan;
  const counts = columnsOf(timeline.counts);
  const top = Math.max(limit * HEADROOM, ...counts);
  const width = whole(top).length + 1;
  const format = (value: number) => whole(value).padStart(width);
  const rows = plot(counts, { min: 0, max: top, height: ROWS, format }).split("\n");
  const limitRow = ROWS - Math.round((limit * ROWS) / top);
  const drawn = rows.map((row, i) => (i === limitRow ? marked(row, counts.length) : row.trimEnd()));
  return [...drawn, axis(timeline.counts.length * timeline.everyMs, width, counts.length)].join("\n");
}

/** As many columns as fit, each the largest of its points. */
function columnsOf(counts: readonly number[]): number[] {
  const each = Math.max(1, Math.ceil(counts.length / COLUMNS));
  return Array.from({ length: Math.ceil(counts.length / each) }, (_, i) =>
    Math.max(...counts.slice(i * each, (i + 1) * each)),
  );
}

/** Fills the free places right of the axis. */
function marked(row: string, columns: number): string {
  const edge = Math.max(row.indexOf("┤"), row.indexOf("┼")) + 1;
  const rest = [...row.slice(edge).padEnd(columns)].map((place) => (place === " " ? LIMIT_MARK : place));
  return row.slice(0, edge) + rest.join("");
}

function axis(spanMs: number, width: number, columns: number): string {
  const end = span(Math.round(spanMs));
  return `${" ".repeat(width + 2)}0${end.padStart(Math.max(end.length + 1, columns - 2))}`;
}
