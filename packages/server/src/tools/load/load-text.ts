/** The result of a load as a person reads it. */
import { alignedLines } from "../../text/columns.ts";
import { whole } from "../../text/figures.ts";
import type { Percentiles } from "./latencies.ts";
import type { LoadResult } from "./load-result.ts";

/** More than this part sent late, and the figures say as much of the generator as of the server. */
const LATE_RATIO_MAX = 0.01;

export function loadText(result: LoadResult): string {
  const { due, answered, answeredPerSecond, unsent, elapsedMs, latencyMs, generator } = result;
  const isLate = generator.late > LATE_RATIO_MAX * due;
  const seconds = (elapsedMs / 1_000).toFixed(1);
  const parts = [
    `${whole(due)} requests due, ${whole(answered)} answered in ${seconds} s: ${whole(answeredPerSecond)} per second`,
    "",
    inColumns([["outcome", "requests", "share"], ...outcomesOf(result)]),
    "",
    inColumns([
      ["latency, ms", "p50", "p90", "p99", "p99.9", "max"],
      ["from when it was due", ...figuresOf(latencyMs.corrected)],
      ["from when it was sent", ...figuresOf(latencyMs.service)],
      ["delay of the load generator", ...figuresOf(generator.lateMs)],
    ]),
    "",
    `sent late by the load generator: ${whole(generator.late)} (${share(generator.late, due)}), by more than ${generator.thresholdMs} ms`,
  ];
  if (isLate) {
    parts.push(
      "this is high: the machine is busy, or the rate is too high for one process; latencies from when a request was due include this delay",
    );
  }
  if (unsent > 0)
    parts.push(`never sent: ${whole(unsent)}, because no connection was free: ${whyUnsent(result, isLate)}`);
  return parts.join("\n");
}

/** A request without an answer in time is the server's slowness; a connection that failed otherwise need not be. */
function whyUnsent({ connectionErrors }: LoadResult, isLate: boolean): string {
  if (Object.keys(connectionErrors).some((code) => code !== "timeout")) return "connections failed, see above";
  if (isLate) return "the generator was late, and the server may be slow too";
  return "the server does not keep up with this rate, and its real latency is higher than shown";
}

function outcomesOf({ due, allowed, denied, httpErrors, connectionErrors, unsent }: LoadResult): string[][] {
  const row = (name: string, count: number) => [name, whole(count), share(count, due)];
  return [
    row("allowed", allowed),
    row("denied", denied),
    ...Object.entries(httpErrors).map(([status, count]) => row(`HTTP ${status}`, count)),
    ...Object.entries(connectionErrors).map(([code, count]) => row(`connection: ${code}`, count)),
    ...(unsent > 0 ? [row("never sent", unsent)] : []),
  ];
}

function figuresOf({ p50, p90, p99, p999, max }: Percentiles): string[] {
  return [p50, p90, p99, p999, max].map((ms) => ms.toFixed(2));
}

function share(count: number, all: number): string {
  return `${((100 * count) / Math.max(1, all)).toFixed(count > 0 && count < all / 1_000 ? 3 : 1)} %`;
}

/** The first column from the left, figures from the right. */
function inColumns(rows: readonly (readonly string[])[]): string {
  return alignedLines(rows, { rightFrom: 1 }).join("\n");
}
