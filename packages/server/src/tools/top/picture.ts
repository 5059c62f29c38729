/**
 * What `sluice top` shows: rates between two looks at a server, totals of the later one, and how the layers are.
 *
 * It draws nothing and asks nobody. A rate is null where there is no earlier look, or the server was started anew in between.
 */
import type { Readiness } from "../../serve/readiness.ts";
import type { SeriesTable } from "./series.ts";

/** What was heard at one moment. */
export interface Look {
  readonly atMs: number;
  readonly series: SeriesTable;
  readonly readiness: Readiness;
}

export interface Flow {
  readonly name: string;
  readonly perSecond: number | null;
  readonly total: number;
}

export interface NamespaceFlow {
  readonly workspace: string;
  readonly namespace: string;
  readonly allowed: number | null;
  readonly denied: number | null;
  readonly shadowed: number | null;
}

export interface ShownLatency {
  /** Seconds; Infinity: above the last bucket; null: no request. */
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

export interface Picture {
  readonly version: string;
  readonly region: string;
  readonly processes: number;
  readonly upS: number;
  readonly readiness: Readiness;
  readonly checks: readonly Flow[];
  readonly requests: readonly Flow[];
  readonly latency: ShownLatency;
  /** The busiest first; the sum of those without a name last. */
  readonly namespaces: readonly NamespaceFlow[];
  /** One number of a name, as it is now; undefined: not in this set-up. */
  readonly now: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined;
  readonly perSecond: (name: string) => number | null;
}

const DURATION = "sluice_http_request_duration_seconds_bucket";
const STARTED = "process_start_time_seconds";

export function pictureOf(now: Look, before: Look | undefined, wallMs: number): Picture {
  const { series } = now;
  const [build] = series.all("sluice_build_info");
  const startedS = series.sum(STARTED);
  // Workers that were replaced took their counts with them: no rate of that time is right.
  const earlier = before !== undefined && before.series.sum(STARTED) === startedS ? before : undefined;
  const rate = (name: string, labels: Readonly<Record<string, string>> = {}): number | null => {
    if (earlier === undefined || now.atMs <= earlier.atMs) return null;
    const rise = (series.sum(name, labels) ?? 0) - (earlier.series.sum(name, labels) ?? 0);
    return Math.max(0, rise) / ((now.atMs - earlier.atMs) / 1000);
  };
  const flow = (shown: string, name: string, labels: Readonly<Record<string, string>> = {}): Flow => ({
    name: shown,
    perSecond: rate(name, labels),
    total: series.sum(name, labels) ?? 0,
  });
  return {
    version: build?.labels["version"] ?? "?",
    region: build?.labels["region"] ?? "?",
    processes: series.sum("sluice_processes") ?? 0,
    upS: Math.max(0, wallMs / 1000 - (startedS ?? 0)),
    readiness: now.readiness,
    checks: [
      flow("allowed", "sluice_decisions_total", { outcome: "allowed" }),
      flow("denied", "sluice_decisions_total", { outcome: "denied" }),
      flow("degraded", "sluice_decisions_degraded_total"),
    ],
    requests: valuesOf(series, "sluice_http_requests_total", "status").map((status) =>
      flow(status, "sluice_http_requests_total", { status }),
    ),
    latency: latencyOf(series, earlier?.series),
    namespaces: namespacesOf(series, rate),
    now: (name, labels) => series.sum(name, labels),
    perSecond: rate,
  };
}

function valuesOf(series: SeriesTable, name: string, label: string): string[] {
  return [...new Set(series.all(name).map(({ labels }) => labels[label] ?? ""))].sort();
}

function namespacesOf(
  series: SeriesTable,
  rate: (name: string, labels: Readonly<Record<string, string>>) => number | null,
): NamespaceFlow[] {
  const name = "sluice_namespace_decisions_total";
  const known = new Map(
    series
      .all(name)
      .map(({ labels: { workspace = "", namespace = "" } }) => [`${workspace} ${namespace}`, { workspace, namespace }]),
  );
  const flows = [...known.values()].map((labels) => ({
    ...labels,
    allowed: rate(name, { ...labels, outcome: "allowed" }),
    denied: rate(name, { ...labels, outcome: "denied" }),
    shadowed: rate(name, { ...labels, outcome: "shadowed" }),
    total: series.sum(name, labels) ?? 0,
  }));
  const sum = ({ allowed, denied, shadowed }: NamespaceFlow) => (allowed ?? 0) + (denied ?? 0) + (shadowed ?? 0);
  const isNamed = ({ namespace }: NamespaceFlow) => Number(namespace !== "");
  return flows.sort((a, b) => isNamed(b) - isNamed(a) || sum(b) - sum(a) || b.total - a.total);
}

/** Of the time between the looks; without an earlier one, since the start. Within a bucket evenly spread, as Prometheus takes it. */
function latencyOf(series: SeriesTable, earlier: SeriesTable | undefined): ShownLatency {
  const buckets = series
    .all(DURATION)
    .map(({ labels: { le = "" }, value }) => ({
      le: le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le),
      count: value - (earlier?.sum(DURATION, { le }) ?? 0),
    }))
    .sort((a, b) => a.le - b.le);
  const total = buckets.at(-1)?.count ?? 0;
  const at = (quantile: number): number | null => {
    if (total <= 0) return null;
    const rank = quantile * total;
    const index = buckets.findIndex(({ count }) => count >= rank);
    const [{ le: low, count: below }, { le, count }] = [buckets[index - 1] ?? { le: 0, count: 0 }, buckets[index]!];
    return le === Number.POSITIVE_INFINITY ? le : low + ((le - low) * (rank - below)) / (count - below);
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
