/** The dashboard, the alerts and the runbooks speak of metrics, labels and sections that are there. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { METRICS } from "../../packages/server/src/metrics/metric-table.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string; readonly runbook_url: string };
}
const { groups } = parse(read("deploy/prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("deploy/grafana/sluice.json")) as {
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
};
const panels = dashboard.panels.filter(({ targets }) => targets !== undefined);
const runbooks = read("docs/runbooks.md");

/** The metrics of an expression, each with the labels that it is asked by. */
function asked(expr: string): { name: string; labels: string[] }[] {
  return [...expr.matchAll(/\b((?:sluice|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name, labels]) => ({
    name: name!,
    labels: [...(labels ?? "").matchAll(/(\w+)\s*[!=]?[=~]/g)].map(([, label]) => label!),
  }));
}

function check(expr: string): void {
  const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names]) => names!.split(/,\s*/));
  const found = asked(expr);
  expect([expr, found.length]).not.toEqual([expr, 0]);
  const known = new Set<string>(["region"]);
  for (const { name, labels } of found) {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    const metric = METRICS.find((one) => one.name === name || (one.type === "histogram" && one.name === base));
    if (name === "sluice_build_info") continue;
    expect([name, metric === undefined]).toEqual([name, false]);
    for (const label of metric!.labels) known.add(label);
    for (const label of labels)
      expect([name, ["region", ...metric!.labels].includes(label), label]).toEqual([name, true, label]);
  }
  for (const label of grouped) expect([expr, label, known.has(label)]).toEqual([expr, label, true]);
}

describe("the alerts", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s asks for what is exported, and has a runbook",
    (name, rule) => {
      check(rule.expr);
      expect(["page", "ticket"]).toContain(rule.labels.severity);
      expect(rule.annotations.runbook).toBe(`docs/runbooks.md#${name.toLowerCase()}`);
      expect(rule.annotations.runbook_url).toBe(`https://runbooks.example.com/sluice#${name.toLowerCase()}`);
      const section = runbooks.split("\n## ").find((text) => text.startsWith(`${name}\n`));
      for (const part of ["**Means**", "**Look at**", "**Do**"]) expect(section).toContain(part);
    },
  );

  test("there is no runbook without an alert", () => {
    const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
  });

  test("the runbooks ask for what is exported", () => {
    for (const [, code] of runbooks.matchAll(/`([^`\n]*sluice_[^`\n]*)`/g)) check(code!);
  });
});

describe("the dashboard", () => {
  test.each(panels.map((panel) => [panel.title, panel] as const))(
    "%s asks for what is exported",
    (_title, { targets }) => {
      for (const { expr } of targets!) check(expr);
    },
  );

  test("every metric of the layers is on it, or named in an alert", () => {
    const shown = [
      ...panels.flatMap(({ targets }) => targets!.map(({ expr }) => expr)),
      ...rules.map(({ expr }) => expr),
    ].join(" ");
    const left = METRICS.map(({ name }) => name).filter((name) => !shown.includes(name));
    expect(left).toEqual([
      "sluice_charges_total",
      "sluice_charges_overdrawn_total",
      "sluice_http_connections_cut_total",
      "sluice_http_auth_failures_total",
      "sluice_audit_dropped_total",
      "sluice_usage_dropped_total",
      "sluice_spans_dropped_total",
      "sluice_name_bytes",
      "sluice_name_bytes_max",
      "sluice_name_excess_bytes",
      "sluice_name_excess_bytes_max",
      "sluice_origin_connected",
      "sluice_origin_breaker_opened_total",
      "sluice_origin_healed_cells_total",
      "sluice_parent_bytes",
      "sluice_parent_bytes_max",
      "sluice_parent_operations_total",
      "sluice_global_regions",
      "sluice_global_aliases",
      "sluice_global_floor_ratio",
      "sluice_global_rows_full",
      "sluice_global_unpublished_cells",
      "sluice_denials_total",
      "sluice_denials_write_age_seconds",
      "sluice_denials_waiting_rows",
      "sluice_denials_errors_total",
      "sluice_denials_breaker",
      "sluice_denials_breaker_opened_total",
      "sluice_processes",
      "process_cpu_seconds_total",
      "process_start_time_seconds",
    ]);
  });

  test("no two panels have one id", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
