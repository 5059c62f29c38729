/** `/metrics`: what all processes of a server read, added up and written for Prometheus, each series with the server's region. */
import { expositionOf, type Family, type Labels, type Sample } from "./exposition.ts";
import { METRICS, type Metric } from "./metric-table.ts";
import type { Reading } from "./reading.ts";
import { NAMESPACES_MAX } from "./tally.ts";

export interface Build {
  readonly version: string;
  readonly region: string;
}

export function metricsText(readings: readonly Reading[], { version, region }: Build): string {
  const build: Family = {
    name: "sluice_build_info",
    type: "gauge",
    help: "Always 1; the labels describe the build.",
    samples: [{ labels: { version, node: process.versions.node, region }, value: 1 }],
  };
  const families = METRICS.map((metric) => ({ ...metric, samples: folded(metric, readings, region) }));
  return expositionOf([build, ...families]);
}

function folded({ samples, fold }: Metric, readings: readonly Reading[], region: string): Sample[] {
  const sums = new Map<string, { sample: Sample; value: number }>();
  const named = new Set<string>();
  for (const reading of readings) {
    for (const counted of samples(reading)) {
      const sample = { ...counted, labels: capped(counted.labels, named) };
      const name = `${sample.suffix ?? ""} ${JSON.stringify(sample.labels)}`;
      const known = sums.get(name);
      if (known === undefined) sums.set(name, { sample, value: sample.value });
      else known.value = fold === "sum" ? known.value + sample.value : Math.max(known.value, sample.value);
    }
  }
  return [...sums.values()].map(({ sample, value }) => ({ ...sample, value, labels: { ...sample.labels, region } }));
}

/** Each process names its first hundred namespaces, and they need not be the same: of all of them a hundred keep their names. */
function capped(labels: Labels, named: Set<string>): Labels {
  const { workspace = "", namespace = "" } = labels;
  if (namespace === "") return labels;
  const name = JSON.stringify([workspace, namespace]);
  if (named.has(name) || named.size < NAMESPACES_MAX) {
    named.add(name);
    return labels;
  }
  return "workspace" in labels ? { ...labels, workspace: "", namespace: "" } : { ...labels, namespace: "" };
}
