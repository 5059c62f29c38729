import { describe, expect, test } from "vitest";
import { expositionOf } from "../../metrics/exposition.ts";
import type { Readiness } from "../../serve/readiness.ts";
import type { Screen } from "../../terminal/screen.ts";
import { frameOf } from "./frame.ts";
import { type Look, pictureOf } from "./picture.ts";
import { SeriesTable } from "./series.ts";
import { Terminal } from "./terminal.ts";

const ok = { status: "ok" } as const;
const readiness: Readiness = { ready: true, layers: { admin: ok, region: ok, global: ok } };

function look(atMs: number, text: string): Look {
  return { atMs, series: new SeriesTable(text), readiness };
}

describe("the series of a text for Prometheus", () => {
  test("are what was written, whatever stands in a label", () => {
    const labels = { namespace: 'a "quoted" \\ and\nbroken, x="y"', outcome: "denied" };
    const text = expositionOf([
      {
        name: "one_total",
        type: "counter",
        help: "x",
        samples: [
          { labels, value: 7 },
          { labels: {}, value: 0.5 },
        ],
      },
    ]);
    const series = new SeriesTable(text);
    expect(series.all("one_total")).toEqual([
      { labels, value: 7 },
      { labels: {}, value: 0.5 },
    ]);
    expect([series.sum("one_total"), series.sum("one_total", { outcome: "denied" }), series.sum("two")]).toEqual([
      7.5,
      7,
      undefined,
    ]);
  });
});

describe("the picture of two looks", () => {
  const at = (allowed: number, started = 5) =>
    `process_start_time_seconds ${started}\nsluice_decisions_total{outcome="allowed",reason="allowed",source="local"} ${allowed}`;

  test("has rates between them, and none of a server that was started anew or is seen the first time", () => {
    const rateOf = (before: Look | undefined) => pictureOf(look(3000, at(50)), before, 9000).checks[0];
    expect(rateOf(look(1000, at(30)))).toEqual({ name: "allowed", perSecond: 10, total: 50 });
    expect(rateOf(look(1000, at(70, 4)))).toEqual({ name: "allowed", perSecond: null, total: 50 });
    expect(rateOf(undefined)).toEqual({ name: "allowed", perSecond: null, total: 50 });
  });

  test("has percentiles of the requests between them", () => {
    const buckets = (...counts: number[]) =>
      ["0.1", "0.2", "0.4", "+Inf"]
        .map((le, i) => `sluice_http_request_duration_seconds_bucket{le="${le}",region="eu"} ${counts[i]}`)
        .join("\n");
    const before = look(0, buckets(100, 100, 100, 100));
    const { latency } = pictureOf(look(1, buckets(110, 150, 195, 200)), before, 0);
    expect(latency.p50).toBeCloseTo(0.2);
    expect(latency.p90).toBeCloseTo(0.2 + (0.2 * 40) / 45);
    expect(latency.p99).toBe(Number.POSITIVE_INFINITY);
    expect(pictureOf(before, before, 0).latency).toEqual({ p50: null, p90: null, p99: null });
  });

  test("lists the busiest namespaces first, and those without a name last", () => {
    const text = (busy: number) =>
      [
        ["quiet", 1],
        ["busy", busy],
        ["", 900 * busy],
      ]
        .map(
          ([name, value]) =>
            `sluice_namespace_decisions_total{workspace="default",namespace="${name}",outcome="allowed"} ${value}`,
        )
        .join("\n");
    const { namespaces } = pictureOf(look(1000, text(9)), look(0, text(1)), 0);
    expect(namespaces.map(({ namespace, allowed }) => [namespace, allowed])).toEqual([
      ["busy", 8],
      ["quiet", 0],
      ["", 7200],
    ]);
  });
});

describe("a frame", () => {
  const shown = { url: "http://ops", wallMs: 10_000, trouble: null, ranked: "no key", isLive: true };

  test("says that the server is away, with what was last heard below", () => {
    const trouble = { why: "no answer", sinceMs: 3_000 };
    const lines = frameOf({ ...shown, picture: pictureOf(look(0, ""), undefined, 0), trouble }).map(({ text }) => text);
    expect(lines[1]).toBe("no answer; no response for 7 s, retrying");
    expect(lines.join("\n")).toContain("allowed");
    expect(frameOf({ ...shown, picture: null, trouble })).toHaveLength(2);
  });

  test("is cut to the terminal, and drawn without colours where none are wanted", () => {
    const written: string[] = [];
    const screen: Screen = {
      size: () => ({ columns: 10, rows: 2 }),
      write: (text) => written.push(text),
      onKey: () => () => {},
      onResize: () => () => {},
    };
    const lines = [
      { text: "0123456789abc", tone: "bad" },
      { text: "x", tone: "plain" },
      { text: "y", tone: "plain" },
    ] as const;
    new Terminal(screen, false).draw(lines);
    expect(written.pop()).toBe("\u001b[H0123456789\u001b[K\r\nx\u001b[K\u001b[J");
    new Terminal(screen, true).draw(lines);
    expect(written.pop()).toContain("\u001b[31m0123456789\u001b[0m");
  });

  test("keeps namespaces and identifiers within 24 rows", () => {
    const series = Array.from(
      { length: 9 },
      (_, i) => `sluice_namespace_decisions_total{workspace="default",namespace="ns_${i}",outcome="allowed"} ${i}`,
    );
    const picture = pictureOf(look(0, series.join("\n")), undefined, 0);
    const identifiers = Array.from({ length: 8 }, (_, i) => ({ identifier: `user_${i}`, atLeast: 1, atMost: 1 }));
    const top = { namespaceId: "rlns_1", from: 0, total: 8, errorMax: 0, complete: true, identifiers, othersAtMost: 0 };
    const ranked = {
      namespace: "ns_8",
      use: { ...top, by: "use" as const },
      denials: { ...top, by: "denials" as const },
    };
    const textIn = (rows?: number) => frameOf({ ...shown, picture, ranked }, rows).map((line) => line.text);
    expect(textIn()).toEqual(expect.arrayContaining([expect.stringMatching(/^user_7 /)]));
    const few = textIn(24);
    expect(few.length).toBeLessThanOrEqual(24);
    for (const start of [/^ns_/, /^and \d more$/, /^user_0 /, /^user_2 /]) {
      expect(few).toEqual(expect.arrayContaining([expect.stringMatching(start)]));
    }
  });

  test("an identifier cannot speak to the terminal", () => {
    const top = {
      namespaceId: "rlns_1",
      from: 0,
      total: 1,
      errorMax: 0,
      complete: true,
      identifiers: [{ identifier: "evil\u001b[2J", atLeast: 1, atMost: 1 }],
      othersAtMost: 0,
    };
    const ranked = {
      namespace: "a\u0007",
      use: { ...top, by: "use" as const },
      denials: { ...top, by: "denials" as const },
    };
    const text = frameOf({ ...shown, picture: pictureOf(look(0, ""), undefined, 0), ranked })
      .map((line) => line.text)
      .join("\n");
    expect(text).toContain("evil�[2J");
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
});
