/**
 * The table of metrics: everything that `/metrics` tells. docs/metrics.md lists the same, and a test holds the two together.
 *
 * A metric takes its samples from one process's reading; those of several processes are added up, or the largest stands, as its
 * `fold` says. No label is an identifier, and namespaces have a cap: fewer than 2,000 series, whatever callers do.
 */
import type { DenialStats, GlobalStats, OriginHostStats, OriginStats } from "sluice";
import type { Labels, Sample } from "./exposition.ts";
import type { Reading } from "./reading.ts";
import { BUCKETS_S } from "./tally.ts";

export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  readonly fold: "sum" | "max";
  readonly samples: (reading: Reading) => readonly Sample[];
}

const LABEL_MAX = 64;
const seconds = (ms: number) => ms / 1000;
const sampleOf = (value: number, labels: Labels = {}): Sample[] => [{ labels, value }];

type Read = (reading: Reading) => number | undefined;

/** A metric of one number; undefined: not in this set-up. */
function plain(type: "counter" | "gauge", name: string, help: string, read: Read, fold: "sum" | "max" = "sum"): Metric {
  const samples = (reading: Reading) => {
    const value = read(reading);
    return value === undefined ? [] : sampleOf(value);
  };
  return { name, type, help, labels: [], fold, samples };
}

const counter = (name: string, help: string, read: Read) => plain("counter", name, help, read);
const gauge = (name: string, help: string, read: Read, fold?: "sum" | "max") => plain("gauge", name, help, read, fold);
const origin =
  (read: (stats: OriginStats) => number): Read =>
  ({ stats }) =>
    stats.origin === null ? undefined : read(stats.origin);
const parentStore =
  (read: (stats: OriginHostStats) => number): Read =>
  ({ parentStore: stats }) =>
    stats === null ? undefined : read(stats);
const global =
  (read: (stats: GlobalStats) => number): Read =>
  ({ stats }) =>
    stats.global === null ? undefined : read(stats.global);

/** A reading of the denial channel; `none` in a set-up or a mode without it. */
const denials =
  <T, N>(read: (stats: DenialStats) => T, none: N) =>
  ({ stats }: Reading): T | N =>
    stats.global === null || stats.global.mode === "counters" ? none : read(stats.global.denials);

function breakerStates(now: DenialStats["breaker"]): Readonly<Record<string, number>> {
  return Object.fromEntries(["closed", "open", "probing"].map((state) => [state, Number(now === state)]));
}

/** A metric with one label and a number for each of its values. */
function labelled(
  type: "counter" | "gauge",
  name: string,
  help: string,
  label: string,
  read: (reading: Reading) => Readonly<Record<string, number>>,
  fold: "sum" | "max" = "sum",
): Metric {
  const samples = (reading: Reading) =>
    Object.entries(read(reading)).map(([value, count]) => ({ labels: { [label]: value }, value: count }));
  return { name, type, help, labels: [label], fold, samples };
}

function shortened(text: string): string {
  return [...text].length > LABEL_MAX ? `${[...text].slice(0, LABEL_MAX).join("")}…` : text;
}

/** The name of the namespace: its id is what the limiter knows it by. */
function overAdmissions({ stats }: Reading, read: (cell: { excess: number; limits: number }) => number): Sample[] {
  return Object.entries(stats.global?.overAdmission ?? {}).map(([namespace, measured]) => ({
    labels: { namespace: shortened(namespace) },
    value: read(measured),
  }));
}

export const METRICS: readonly Metric[] = [
  {
    name: "sluice_decisions_total",
    type: "counter",
    help: "Checks decided for the API; each item of a batch counts.",
    labels: ["outcome", "reason", "source"],
    fold: "sum",
    samples: ({ api }) => api.decisions.map(({ count, ...labels }) => ({ labels, value: count })),
  },
  {
    name: "sluice_namespace_decisions_total",
    type: "counter",
    help: "Checks and charges by namespace; 100 namespaces have their own series, shared among workspaces. shadowed: would have been denied.",
    labels: ["workspace", "namespace", "outcome"],
    fold: "sum",
    samples: ({ api }) =>
      api.namespaces.flatMap(({ workspace, namespace, allowed, denied, shadowed, charged }) =>
        Object.entries({ allowed, denied, shadowed, charged }).map(([outcome, value]) => ({
          labels: { workspace, namespace: shortened(namespace), outcome },
          value,
        })),
      ),
  },
  counter(
    "sluice_charges_total",
    "Charges: costs counted after the work, whether they fit or not.",
    ({ stats }) => stats.decisions.charged,
  ),
  counter(
    "sluice_charges_overdrawn_total",
    "Charges that left their key above its limit.",
    ({ stats }) => stats.decisions.overdrawn,
  ),
  counter(
    "sluice_decisions_degraded_total",
    "Requests allowed from memory although the rules required a read of the origin, or before the first import.",
    ({ stats }) => stats.decisions.degraded,
  ),
  counter(
    "sluice_decisions_unrecorded_total",
    "Checks decided without being recorded, because the cell table was full.",
    ({ stats }) => stats.decisions.unrecorded,
  ),
  {
    name: "sluice_http_requests_total",
    type: "counter",
    help: "API requests by operation and status. A denial has status 200.",
    labels: ["operation", "status"],
    fold: "sum",
    samples: ({ api }) =>
      api.requests.map(({ operation, status, count }) => ({
        labels: { operation, status: String(status) },
        value: count,
      })),
  },
  {
    name: "sluice_http_request_duration_seconds",
    type: "histogram",
    help: "Duration of API requests, from the end of the headers to the answer.",
    labels: ["le"],
    fold: "sum",
    samples: ({ api }) => {
      let sum = 0;
      const buckets = api.buckets.map((count, at) => {
        sum += count;
        const le = at < BUCKETS_S.length ? String(BUCKETS_S[at]) : "+Inf";
        return { suffix: "_bucket", labels: { le }, value: sum };
      });
      return [
        ...buckets,
        { suffix: "_sum", labels: {}, value: api.seconds },
        { suffix: "_count", labels: {}, value: sum },
      ];
    },
  },
  {
    name: "sluice_http_connections_cut_total",
    type: "counter",
    help: "API connections closed by the server: too many pipelined requests, answers not read, or idle for too long.",
    labels: ["reason"],
    fold: "sum",
    samples: ({ api }) => api.cuts.map(({ reason, count }) => ({ labels: { reason }, value: count })),
  },
  counter(
    "sluice_http_auth_failures_total",
    "API requests with an unknown, expired or revoked key.",
    ({ api }) => api.authFailures,
  ),
  counter(
    "sluice_audit_dropped_total",
    "Entries of the audit trail that were deleted before audit.keep, because a workspace reached audit.max.",
    ({ api }) => api.auditDropped,
  ),
  counter(
    "sluice_usage_dropped_total",
    "Rows of the history of use that were not written, because their store was unavailable or too slow.",
    ({ api }) => api.usageDropped,
  ),
  counter(
    "sluice_spans_dropped_total",
    "Spans dropped because the queue was full or the collector refused them.",
    ({ api }) => api.spansDropped,
  ),
  gauge("sluice_http_connections", "Open API connections.", ({ connections }) => connections),

  gauge("sluice_cells", "Keys in memory.", ({ stats }) => stats.cells.live),
  gauge("sluice_cells_max", "Maximum number of keys in memory.", ({ stats }) => stats.cells.max),
  counter(
    "sluice_cells_evicted_total",
    "Keys evicted because the cell table or the memory for names was full.",
    ({ stats }) => stats.cells.evicted,
  ),
  gauge("sluice_name_bytes", "Memory used by the names of keys, in bytes.", ({ stats }) => stats.cells.nameBytes),
  gauge(
    "sluice_name_bytes_max",
    "Maximum memory for the names of keys, in bytes: 320 per key of sluice_cells_max. 0 without an origin and a global layer.",
    ({ stats }) => stats.cells.nameBytesMax,
  ),
  gauge(
    "sluice_name_excess_bytes",
    "Memory that names of more than 320 bytes use beyond those 320, in bytes.",
    ({ stats }) => stats.cells.nameExcessBytes,
  ),
  gauge(
    "sluice_name_excess_bytes_max",
    "Maximum of sluice_name_excess_bytes: 80 for each of sluice_cells_max. Beyond it, keys with long names are evicted.",
    ({ stats }) => stats.cells.nameExcessBytesMax,
  ),
  counter(
    "sluice_cells_expired_total",
    "Keys removed because their windows had expired.",
    ({ stats }) => stats.cells.expired,
  ),
  labelled(
    "counter",
    "sluice_clock_jumps_total",
    "Backward jumps of the wall clock, by how they were handled: small ones are held, large ones followed.",
    "kind",
    ({ stats }) => ({ held: stats.clock.held, followed: stats.clock.followed }),
  ),

  gauge(
    "sluice_origin_connected",
    "1 if the origin is connected; with several workers, the number of connected ones.",
    ({ stats }) => (stats.origin === null ? undefined : Number(stats.origin.store?.isConnected ?? true)),
  ),
  labelled(
    "gauge",
    "sluice_origin_breaker",
    "1 for the current state of the circuit breaker around the origin (probing is half-open).",
    "state",
    ({ stats }) => (stats.origin === null ? {} : breakerStates(stats.origin.breaker)),
  ),
  counter(
    "sluice_origin_breaker_opened_total",
    "Times the circuit breaker around the origin opened.",
    origin(({ breakerOpened }) => breakerOpened),
  ),
  labelled(
    "counter",
    "sluice_origin_operations_total",
    "Calls to the origin. One call can cover many cells.",
    "operation",
    ({ stats: { origin } }) =>
      origin === null ? {} : { read: origin.reads, raise: origin.raises, admit: origin.admits },
  ),
  counter(
    "sluice_origin_commands_total",
    "Commands sent to the origin's store.",
    ({ stats }) => stats.origin?.store?.commands,
  ),
  labelled(
    "counter",
    "sluice_origin_errors_total",
    "Failed calls to the origin, by kind: the kinds that the driver reports, late (timeout) and junk (invalid answer).",
    "kind",
    ({ stats }) =>
      stats.origin === null
        ? {}
        : { late: stats.origin.late, junk: stats.origin.junk, ...stats.origin.store?.failures },
  ),
  {
    name: "sluice_origin_latency_seconds",
    type: "gauge",
    help: "Latency of calls to the origin since the start.",
    labels: ["operation", "quantile"],
    fold: "max",
    samples: ({ stats }) =>
      Object.entries(stats.origin?.latency ?? {}).flatMap(([operation, { p50Ms, p99Ms, maxMs }]) => [
        { labels: { operation, quantile: "0.5" }, value: seconds(p50Ms) },
        { labels: { operation, quantile: "0.99" }, value: seconds(p99Ms) },
        { labels: { operation, quantile: "1" }, value: seconds(maxMs) },
      ]),
  },
  gauge(
    "sluice_origin_dirty_cells",
    "Keys with cost that the origin has not confirmed.",
    origin(({ unreplayed }) => unreplayed),
  ),
  gauge(
    "sluice_origin_oldest_dirty_seconds",
    "Upper bound of how long any cost has waited for the confirmation of the origin; 0 if none waits.",
    origin(({ oldestUnreplayedMs }) => seconds(oldestUnreplayedMs)),
    "max",
  ),
  counter(
    "sluice_origin_losses_total",
    "Times the origin was found to have lost confirmed counts.",
    origin(({ losses }) => losses),
  ),
  counter(
    "sluice_origin_healed_cells_total",
    "Cells for which the origin had a lower count than it had confirmed.",
    origin(({ healed }) => healed),
  ),
  gauge(
    "sluice_global_cells_behind",
    "Cells with a published count of this region although its origin was empty when this process started.",
    global(({ cellsBehind }) => cellsBehind),
    "max",
  ),

  gauge(
    "sluice_parent_cells",
    "Cells in the memory of the workers' parent, two per key.",
    parentStore(({ cells }) => cells),
  ),
  gauge(
    "sluice_parent_cells_max",
    "Maximum number of cells in the parent.",
    parentStore(({ cellsMax }) => cellsMax),
  ),
  gauge(
    "sluice_parent_bytes",
    "Memory used by these cells and their names, in bytes.",
    parentStore(({ bytes }) => bytes),
  ),
  gauge(
    "sluice_parent_bytes_max",
    "Maximum memory for these cells and their names, in bytes.",
    parentStore(({ bytesMax }) => bytesMax),
  ),
  counter(
    "sluice_parent_cells_evicted_total",
    "Cells that the parent evicted because it was full. The worker that counted such a cell raises it again when it needs it.",
    parentStore(({ evicted }) => evicted),
  ),
  labelled(
    "counter",
    "sluice_parent_operations_total",
    "Cells that workers read from the parent or raised there, and keys of which it admitted requests.",
    "operation",
    ({ parentStore: stats }): Readonly<Record<string, number>> => (stats === null ? {} : stats.asked),
  ),

  gauge(
    "sluice_global_regions",
    "Live regions.",
    global(({ regionsLive }) => regionsLive),
    "max",
  ),
  gauge(
    "sluice_global_aliases",
    "Other names of this region with rows that may not have expired: above 0 after a rename, or if one Redis is used under several names.",
    global(({ aliases }) => aliases.length),
    "max",
  ),
  gauge(
    "sluice_global_floor_ratio",
    "The fraction of a limit up to which counts are currently not published.",
    global(({ floor }) => floor),
    "max",
  ),
  counter(
    "sluice_global_rows_published_total",
    "Rows sent to the global counters.",
    global(({ rowsPublished }) => rowsPublished),
  ),
  gauge(
    "sluice_global_rows",
    "Rows of this region in the global counters: those of the last full pass, plus those added since.",
    global(({ rows }) => rows.stored),
    "max",
  ),
  counter(
    "sluice_global_rows_refused_total",
    "Times that a new row was not published because its namespace or workspace had reached its maximum (namespaceRowsMax, workspaceRowsMax).",
    global(({ rows }) => rows.refused),
  ),
  gauge(
    "sluice_global_rows_full",
    "Namespaces and workspaces that have reached their maximum of rows in the global counters.",
    global(({ rows }) => rows.full),
    "max",
  ),
  counter(
    "sluice_global_cells_imported_total",
    "Cells received from the global counters.",
    global(({ cellsImported }) => cellsImported),
  ),
  labelled(
    "counter",
    "sluice_global_errors_total",
    "Failures of the global counters: publish and import count failed rounds, junk counts invalid rows, the other kinds count failed statements, as the driver reports them.",
    "kind",
    ({ stats }) =>
      stats.global === null
        ? {}
        : {
            publish: stats.global.publishesFailed,
            import: stats.global.importsFailed,
            junk: stats.global.junk,
            ...stats.global.store?.failures,
          },
  ),
  gauge(
    "sluice_global_publish_age_seconds",
    "Seconds since this region last published its counts. In mode denials: since all its denials were last written.",
    global(({ publishAgeMs }) => seconds(publishAgeMs)),
    "max",
  ),
  gauge(
    "sluice_global_import_age_seconds",
    "Seconds since the other regions' counts were last imported. In mode denials: since their denials were last read.",
    global(({ importAgeMs }) => seconds(importAgeMs)),
    "max",
  ),
  gauge(
    "sluice_global_unpublished_cells",
    "Keys that the next publish examines: changed since the last publish, or not accepted by the store. Keys found below the floor are not included.",
    global(({ unpublished }) => unpublished),
  ),
  counter(
    "sluice_global_statements_total",
    "Statements sent to the database of the global counters.",
    ({ stats }) => stats.global?.store?.statements,
  ),
  gauge(
    "sluice_global_quarantined_rows",
    "Rows that the database refused; they are skipped until they expire.",
    ({ stats }) => stats.global?.store?.quarantined,
  ),
  labelled(
    "counter",
    "sluice_denials_total",
    "Denial channel: rows emitted, rows dropped, and cells inflated by a denial of another region.",
    "event",
    ({ stats }) => {
      if (stats.global === null) return {};
      const { emitted, dropped, inflated } = stats.global.denials;
      return { emitted, dropped, inflated };
    },
  ),
  gauge(
    "sluice_denials_write_age_seconds",
    "Seconds since the denial channel last wrote rows. Absent before the first write.",
    denials(({ writeAgeMs }) => (writeAgeMs === null ? undefined : seconds(writeAgeMs)), undefined),
    "max",
  ),
  gauge(
    "sluice_denials_read_age_seconds",
    "Seconds since the denial channel last read the other regions' rows.",
    denials(({ readAgeMs }) => (readAgeMs === null ? undefined : seconds(readAgeMs)), undefined),
    "max",
  ),
  gauge(
    "sluice_denials_waiting_rows",
    "Rows of the denial channel that wait to be written.",
    denials(({ waiting }) => waiting, undefined),
  ),
  labelled(
    "counter",
    "sluice_denials_errors_total",
    "Writes and reads of the denial channel that failed.",
    "operation",
    denials(({ writesFailed, readsFailed }) => ({ write: writesFailed, read: readsFailed }), {}),
  ),
  labelled(
    "gauge",
    "sluice_denials_breaker",
    "1 for the current state of the circuit breaker around the writes of the denial channel (probing is half-open).",
    "state",
    denials(({ breaker }) => breakerStates(breaker), {}),
  ),
  counter(
    "sluice_denials_breaker_opened_total",
    "Times the circuit breaker around the writes of the denial channel opened.",
    denials(({ breakerOpened }) => breakerOpened, undefined),
  ),
  {
    ...labelled("counter", "sluice_over_admission_excess_total", "", "namespace", () => ({})),
    help: "Cost that all regions together accepted over the limits, in expired windows, by namespace id.",
    samples: (reading) => overAdmissions(reading, ({ excess }) => excess),
  },
  {
    ...labelled("counter", "sluice_over_admission_limits_total", "", "namespace", () => ({})),
    help: "Sum of the limits of those windows: excess / limits is the measured error.",
    samples: (reading) => overAdmissions(reading, ({ limits }) => limits),
  },

  gauge(
    "sluice_admin_age_seconds",
    "Seconds since the store of keys, namespaces and overrides last answered.",
    ({ adminAgeMs }) => seconds(adminAgeMs),
    "max",
  ),
  labelled(
    "gauge",
    "sluice_event_loop_delay_seconds",
    "Delay of the event loop since the last scrape.",
    "quantile",
    ({ loopDelay }) => ({
      "0.5": seconds(loopDelay.p50Ms),
      "0.99": seconds(loopDelay.p99Ms),
      "1": seconds(loopDelay.maxMs),
    }),
    "max",
  ),
  gauge("sluice_processes", "Processes that serve requests.", () => 1),
  gauge("process_resident_memory_bytes", "Resident memory in bytes.", ({ residentBytes }) => residentBytes),
  gauge(
    "nodejs_heap_size_used_bytes",
    "Used memory of the JavaScript heap, in bytes.",
    ({ heapUsedBytes }) => heapUsedBytes,
  ),
  counter("process_cpu_seconds_total", "CPU time used, in seconds.", ({ cpuS }) => cpuS),
  gauge(
    "process_start_time_seconds",
    "Start time in Unix seconds; with several workers, of the youngest.",
    ({ startedAtMs }) => seconds(startedAtMs),
    "max",
  ),
];
