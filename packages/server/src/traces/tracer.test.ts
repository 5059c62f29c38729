import { describe, expect, test } from "vitest";
import type { Span } from "./span.ts";
import type { SpanExporter } from "./span-exporter.ts";
import { Tracer } from "./tracer.ts";

/** A tracer whose spans nobody looks at: what counts is whether there is one. */
function tracerOf(ratio: number, ignoresParent: boolean): Tracer {
  const exporter = { add: (_: Span) => {}, close: async () => {} } as unknown as SpanExporter;
  return new Tracer(exporter, { ratio, ignoresParent }, () => 0);
}

/** A trace id whose random part is this share of its range. */
function idOf(share: number): string {
  const random = Math.min(2 ** 48 - 1, Math.floor(share * 2 ** 48));
  return `${"a".repeat(18)}${random.toString(16).padStart(12, "0")}ff`;
}

const parentOf = (traceId: string, flags: string) => ({ traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` });

describe("a request with a traceparent", () => {
  const cases = [0, 0.25, 1].flatMap((ratio) => ["00", "01"].map((flags) => ({ ratio, flags })));

  test.each(cases)("is traced by its flag ($flags), whatever the ratio ($ratio) and its id", ({ ratio, flags }) => {
    const tracer = tracerOf(ratio, false);
    const traced = [0, 0.5, 1].map((share) => tracer.begin("limit", parentOf(idOf(share), flags), 0) !== null);
    expect(traced).toEqual([flags === "01", flags === "01", flags === "01"]);
  });

  // A service that was told `always_off` made spans for every caller that set the flag, and one with `traceidratio` ignored its ratio.
  test.each(cases)("is traced by its id if callers are ignored: ratio $ratio, flag $flags", ({ ratio, flags }) => {
    const tracer = tracerOf(ratio, true);
    const shares = [0, 0.25, 0.749, 0.75, 0.9, 1];
    const traced = shares.map((share) => tracer.begin("limit", parentOf(idOf(share), flags), 0) !== null);
    expect(traced).toEqual(shares.map((share) => ratio > 0 && share >= 1 - ratio));
  });
});

describe("a request without a traceparent", () => {
  test.each([0, 1])("is traced always or never with a ratio of %d", (ratio) => {
    const tracer = tracerOf(ratio, false);
    const traced = Array.from({ length: 1_000 }, () => tracer.begin("limit", {}, 0)).filter((span) => span !== null);
    expect(traced).toHaveLength(1_000 * ratio);
  });

  test("is traced with the chance that the ratio says", () => {
    const tracer = tracerOf(0.25, true);
    const traced = Array.from({ length: 10_000 }, () => tracer.begin("limit", {}, 0)).filter((span) => span !== null);
    // 2,500 expected, with a standard deviation of 43: ten of them are missed once in 10^23 runs.
    expect(Math.abs(traced.length - 2_500)).toBeLessThan(430);
  });
});
