/**
 * A chart over time, drawn by uPlot, with the same numbers as a table behind it. Its height is fixed, so nothing moves when data arrives.
 *
 * Colours come from the style sheet, so that light and dark have one source.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock, moment, rate, utc } from "../format.ts";
import { theme } from "../theme.ts";
import { Scroll } from "./scroll.tsx";

export interface Series {
  readonly name: string;
  /** A custom property of the style sheet: `--allowed`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly label: string;
  /** Unix milliseconds. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  /** What is shown, in Unix milliseconds; the data's own range if left out. */
  readonly from?: number;
  readonly to?: number;
  readonly valueText?: (value: number) => string;
}

const ROWS_MAX = 60;

export function Chart({ label, at, series, height = 220, from, to, valueText = rate }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const range = useRef<[number, number]>([0, 1]);
  range.current = [(from ?? at[0] ?? 0) / 1_000, (to ?? at.at(-1) ?? 1) / 1_000];
  const names = series.map(({ name }) => name).join();
  const data = [at.map((ms) => ms / 1_000), ...series.map(({ values }) => values)] as uPlot.AlignedData;

  // Made again when the colours or the series change, and only then.
  useEffect(() => {
    const element = place.current!;
    const made = new uPlot(optionsOf(element, series, height, range, valueText), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme.value, names, height]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  return (
    <figure class="chart">
      <figcaption class="legend" aria-hidden="true">
        {series.map(({ name, colour }) => (
          <span key={name} class={`legend-item swatch${colour.replace("--", "-")}`}>
            {name}
          </span>
        ))}
      </figcaption>
      <div ref={place} class="chart-place" style={{ height: `${height}px` }} role="img" aria-label={label} />
      <details class="chart-table">
        <summary>Show as a table</summary>
        <Numbers label={label} at={at} series={series} valueText={valueText} />
      </details>
    </figure>
  );
}

/** The last ones, the newest first. */
function Numbers({
  label,
  at,
  series,
  valueText,
}: Required<Pick<ChartProps, "label" | "at" | "series" | "valueText">>) {
  const from = Math.max(0, at.length - ROWS_MAX);
  const rows = at.slice(from).map((ms, i) => ({ ms, i: from + i }));
  return (
    <Scroll label={`${label}, as a table`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.reverse().map(({ ms, i }) => (
            <tr key={ms}>
              <td title={utc(ms)}>{moment(ms)}</td>
              {series.map(({ name, values }) => (
                <td key={name} class="number">
                  {values[i] == null ? "–" : valueText(values[i])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  height: number,
  range: { current: [number, number] },
  valueText: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const font = `11px ${style.fontFamily}`;
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: () => range.current },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        font,
        size: 28,
        space: 90,
        values: (_plot, ticks, _at, _space, step) => ticks.map((s) => tickText(s, step)),
      },
      {
        ...axis,
        font,
        size: 52,
        values: (_plot, ticks) => ticks.map((value) => (value === 0 ? "0" : valueText(value))),
      },
    ],
    series: [
      {},
      ...series.map(({ name, colour: property }) => ({
        label: name,
        stroke: colour(property),
        fill: `${colour(property)}1f`,
        width: 1.75,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

function tickText(seconds: number, stepSeconds: number): string {
  const text =
    stepSeconds >= 86_400
      ? new Date(seconds * 1_000).toLocaleDateString(undefined, { month: "short", day: "numeric" })
      : clock(seconds * 1_000);
  return stepSeconds >= 60 && stepSeconds < 86_400 ? text.slice(0, 5) : text;
}
