import { Limiter, memoryCounters, memoryOrigin } from "sluice";
import { afterEach, describe, expect, test } from "vitest";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import { METRICS } from "./metric-table.ts";
import { metricsText } from "./metrics.ts";
import { metricsPage } from "./metrics-page.ts";
import { Gauge, type Reading } from "./reading.ts";
import { Tally } from "./tally.ts";

const namespace = (number: number): NamespaceRecord => ({
  id: `rlns_${number}`,
  workspaceId: "default",
  name: `name ${number} "quoted" \\ and\nbroken`,
  isShadow: false,
  createdAtMs: 0,
  deletedAtMs: null,
});
const directory = { ageMs: 250 } as Directory;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function reading(tally: Tally): Promise<Reading> {
  const layers = { origin: memoryOrigin(), global: memoryCounters(), globalMode: "both" } as const;
  const limiter = new Limiter({ region: "eu", ...layers });
  const gauge = new Gauge({ region: "eu", limiter, directory, tally, connections: async () => 3 });
  open.push(limiter, gauge);
  await limiter.limit({ namespace: "rlns_1", identifier: "somebody", limit: 1, duration: "1m" });
  return gauge.read();
}

/** Name and labels → value, as Prometheus would read it. */
function seriesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

/** Its reason and its source are the test's. */
const DECISION = {
  success: true,
  limit: 1,
  remaining: 0,
  reset: 0,
  current: 1,
  degraded: false,
  retryAfterMs: 0,
} as const;

describe("metrics", () => {
  test("the page lists exactly what the table exports", async () => {
    for (const { name } of METRICS) expect(metricsPage()).toContain(`\`${name}\``);
    await expect(metricsPage()).toMatchFileSnapshot("../../../../docs/metrics.md");
  });

  test("names and units follow the conventions of Prometheus", () => {
    expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length);
    for (const { name, type, help } of METRICS) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect(help).toMatch(/^[^\n]+$/);
    }
  });

  test("every family of a server with both layers is told, with the labels that the table names", async () => {
    const tally = new Tally();
    tally.decided(namespace(1), { ...DECISION, reason: "allowed", source: "local" }, false);
    tally.answered("ratelimit.limit", 200, 0.3);
    const parentStore = {
      cells: 3,
      cellsMax: 8,
      bytes: 700,
      bytesMax: 2_560,
      evicted: 1,
      holds: 2,
      asked: { read: 4, raise: 5, admit: 3, hold: 1, free: 1 },
    };
    const text = metricsText([{ ...(await reading(tally)), parentStore }], { version: "1.2.3", region: "eu" });
    expect(text).toContain('sluice_parent_operations_total{operation="raise",region="eu"} 5');
    const told = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    // Drivers and windows that are over: a memory store has none. Nothing was denied, so nothing was written.
    const absent = /commands|statements|quarantined|over_admission|denials_write_age/;
    expect(METRICS.filter(({ name }) => !told.has(name)).every(({ name }) => absent.test(name))).toBe(true);
    for (const line of seriesOf(text).keys()) expect(line).toMatch(/[{,]region="eu"/);
    expect(text).toContain('sluice_http_request_duration_seconds_bucket{le="0.0005",region="eu"} 1');
    expect(text).toContain('sluice_decisions_total{outcome="allowed",source="local",reason="allowed",region="eu"} 1');
  });

  test("numbers of workers are added up, ages are not", async () => {
    const one = await reading(new Tally());
    const two = { ...one, adminAgeMs: 900, connections: 4 };
    const series = seriesOf(metricsText([one, two], { version: "1", region: "eu" }));
    expect(series.get('sluice_http_connections{region="eu"}')).toBe(7);
    expect(series.get('sluice_admin_age_seconds{region="eu"}')).toBe(0.9);
    expect(series.get('sluice_processes{region="eu"}')).toBe(2);
  });

  test("ten thousand namespaces make fewer than 2,000 series, no identifier among them, and nothing goes uncounted", async () => {
    const tally = new Tally();
    const decision = { limit: 1, remaining: 0, reset: 0, current: 1, degraded: false, retryAfterMs: 0 } as const;
    for (let i = 0; i < 10_000; i++) {
      tally.decided(namespace(i), { ...decision, success: true, reason: "allowed", source: "local" }, false);
      tally.decided(namespace(i), { ...decision, success: false, reason: "limit", source: "origin" }, i % 2 === 0);
    }
    const text = metricsText([await reading(tally)], { version: "1", region: "eu" });
    const series = seriesOf(text);
    expect(series.size).toBeLessThan(2000);
    expect(text).not.toContain("somebody");
    const sum = (pattern: RegExp) =>
      [...series].reduce((total, [name, value]) => total + (pattern.test(name) ? value : 0), 0);
    expect(sum(/^sluice_namespace_decisions_total.*outcome="allowed"/)).toBe(10_000);
    expect(sum(/^sluice_namespace_decisions_total.*outcome="denied"/)).toBe(5_000);
    expect(sum(/^sluice_namespace_decisions_total.*outcome="shadowed"/)).toBe(5_000);
    expect(sum(/^sluice_decisions_total/)).toBe(20_000);
  });

  test("a workspace that has taken all names gives some up for the others, and nothing goes uncounted", () => {
    const tally = new Tally();
    const decide = (workspaceId: string, number: number) =>
      tally.decided(
        { ...namespace(number), id: `${workspaceId} ${number}`, workspaceId },
        { ...DECISION, reason: "allowed", source: "local" },
        false,
      );
    const namesOf = (workspaceId: string) =>
      tally.read().namespaces.filter(({ workspace }) => workspace === workspaceId).length;
    for (let i = 0; i < 300; i++) decide("greedy", i);
    expect(namesOf("greedy")).toBe(100);
    for (let i = 0; i < 3; i++) decide("small", i);
    for (let i = 0; i < 200; i++) decide("other", i);
    expect([namesOf("small"), namesOf("greedy"), namesOf("other")]).toEqual([3, 49, 48]);
    // Whoever gave one up does not take it back.
    for (let i = 0; i < 300; i++) decide("greedy", i);
    expect([namesOf("small"), namesOf("greedy"), namesOf("other")]).toEqual([3, 49, 48]);
    expect(tally.read().namespaces.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(300 + 3 + 200 + 300);
  });

  test("workers that met different namespaces make fewer than 2,000 series together, and nothing goes uncounted", async () => {
    const decision = { limit: 1, remaining: 0, reset: 0, current: 1, degraded: false, retryAfterMs: 0 } as const;
    const over = { cells: 1, cellsOver: 1, excess: 1, limits: 10 };
    const readings: Reading[] = [];
    for (let worker = 0; worker < 32; worker++) {
      const tally = new Tally();
      const numbers = Array.from({ length: 300 }, (_, i) => 1_000 * worker + i);
      for (const number of numbers) {
        tally.decided(namespace(number), { ...decision, success: true, reason: "allowed", source: "local" }, false);
      }
      const one = await reading(tally);
      const overAdmission = Object.fromEntries(numbers.map((number) => [`rlns_${number}`, over]));
      readings.push({ ...one, stats: { ...one.stats, global: { ...one.stats.global!, overAdmission } } });
    }
    const series = seriesOf(metricsText(readings, { version: "1", region: "eu" }));
    expect(series.size).toBeLessThan(2000);
    const sum = (name: string) =>
      [...series].reduce((total, [one, value]) => total + (one.startsWith(`${name}{`) ? value : 0), 0);
    expect(sum("sluice_namespace_decisions_total")).toBe(32 * 300);
    expect(sum("sluice_over_admission_excess_total")).toBe(32 * 300);
    expect(sum("sluice_over_admission_limits_total")).toBe(32 * 3_000);
  });

  test("a name of a namespace cannot break a line", async () => {
    const tally = new Tally();
    tally.decided(namespace(7), { ...DECISION, reason: "allowed", source: "local" }, false);
    const text = metricsText([await reading(tally)], { version: "1", region: "eu" });
    expect(text).toContain(String.raw`namespace="name 7 \"quoted\" \\ and\nbroken"`);
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \S+ .+|\w+\{.*\} -?[\d.e+-]+)$/);
  });
});
