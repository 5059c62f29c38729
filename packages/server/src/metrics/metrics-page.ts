/** docs/metrics.md, from the table of metrics. */
import { markdownTable } from "../text/columns.ts";
import { METRICS, type Metric } from "./metric-table.ts";

const HEAD = `# Metrics

The operators' listener (\`--ops-port\`, loopback by default) answers \`GET /metrics\` in the text format of Prometheus. With several workers
their numbers are added up; of ages and quantiles the largest is shown. Every series has the label \`region\`. No
label is ever an identifier. 100 namespaces of a server have their own series, shared among workspaces; the others are counted together, with empty names. There are fewer than
2,000 series, whatever callers do. Each worker shares its own hundred, and of all of them the first hundred keep their names: with several workers, a
workspace that only some of them serve may get fewer names than its share.

\`sluice_build_info\` is 1, with the labels \`version\`, \`node\` and \`region\`.

This page is generated from the table in packages/server/src/metrics/metric-table.ts; \`npx vitest run packages/server/src/metrics -u\` updates it.
`;

const SECTIONS: readonly (readonly [string, RegExp])[] = [
  ["Decisions and requests", /^sluice_(decisions|charges|namespace|http|audit|usage|spans)/],
  ["Cells and the clock", /^sluice_(cells|clock|name)/],
  ["The region: the origin", /^sluice_origin/],
  ["The parent of workers, without Redis", /^sluice_parent/],
  ["The world: global counters", /^sluice_(global|denials|over_admission)/],
  ["The process", /^(sluice_(admin|event_loop|processes)|process|nodejs)/],
];

/** Names by which operators may know the parts of the denial channel, and the names here. */
const NAMES: readonly (readonly string[])[] = [
  ["breaker `ratelimitOrigin`", "`sluice_origin_breaker`, `sluice_origin_breaker_opened_total`"],
  ["breaker `ratelimit_blocklist_writes`", "`sluice_denials_breaker`, `sluice_denials_breaker_opened_total`"],
  ["table `ratelimit_blocklist`", "table `sluice_denials`"],
  ["rows written, batches dropped", "`sluice_denials_total` with `event` `emitted` and `dropped`, in rows"],
  ["counters inflated by the sync", "`sluice_denials_total` with `event` `inflated`"],
  ["errors of the sync", "`sluice_denials_errors_total` with `operation` `read`"],
];

const TAIL = `## Names of the specification

${markdownTable(["the specification calls it", "here"], NAMES)}

In the library the breakers are \`stats().origin.breaker\` and \`stats().global.denials.breaker\`; \`onEvent\` reports both as events of the kind
\`breaker\`, with the layers \`origin\` and \`denials\`.

## What to watch

- **Denials**: \`rate(sluice_decisions_total{outcome="denied"}[5m])\` by \`reason\`; by namespace \`sluice_namespace_decisions_total\`.
- **Is it converging?** \`sluice_origin_oldest_dirty_seconds\` should be below 1 and \`sluice_global_import_age_seconds\` below 10. In mode
  \`denials\` the latter is the age of the channel's last read, and should be below 12; in mode \`both\` see \`sluice_denials_read_age_seconds\` too.
- **Are decisions degraded?** \`rate(sluice_decisions_degraded_total[5m])\` is 0 while Redis answers and the first import is done.
- **How far over a limit did we go?** \`sluice_over_admission_excess_total / sluice_over_admission_limits_total\`: the measured error of
  expired windows, to compare with the bound of [guarantees.md](guarantees.md).
- **Is there room?** \`sluice_cells / sluice_cells_max\`, \`sluice_name_bytes / sluice_name_bytes_max\`, \`sluice_name_excess_bytes / sluice_name_excess_bytes_max\`, and \`rate(sluice_cells_evicted_total[5m])\`.
`;

const COLUMNS = ["metric", "type", "labels", "meaning"];

export function metricsPage(): string {
  const sections = SECTIONS.map(([title, pattern]) => {
    const rows = METRICS.filter(({ name }) => pattern.test(name)).map(rowOf);
    return `## ${title}\n\n${markdownTable(COLUMNS, rows)}\n`;
  });
  return [HEAD, ...sections, TAIL].join("\n");
}

function rowOf({ name, type, labels, help }: Metric): string[] {
  return [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(", "), help];
}
