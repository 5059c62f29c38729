import { describe, expect, test } from "vitest";
import { Latency } from "./latency.ts";

describe("latency", () => {
  test("nothing added: all zero", () => {
    expect(new Latency().read()).toEqual({ count: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 });
  });

  test("a quantile is never below the truth, and at most a fifth above it", () => {
    const latency = new Latency();
    for (let i = 1; i <= 1_000; i++) latency.add(i / 10);
    const { count, p50Ms, p99Ms, maxMs } = latency.read();
    expect([count, maxMs]).toEqual([1_000, 100]);
    expect(p50Ms).toBeGreaterThanOrEqual(50);
    expect(p50Ms).toBeLessThanOrEqual(60);
    expect(p99Ms).toBeGreaterThanOrEqual(99);
    expect(p99Ms).toBeLessThanOrEqual(100);
  });

  test("values beyond both ends are counted", () => {
    const latency = new Latency();
    for (const tookMs of [0, -1, 1e9]) latency.add(tookMs);
    expect(latency.read()).toMatchObject({ count: 3, maxMs: 1e9 });
  });
});
