import { expect, test } from "vitest";
import { Latencies } from "./latencies.ts";

test("latencies › no percentile is above the longest, though steps grow with the time", () => {
  const latencies = new Latencies();
  for (const ms of [1, 50, 400, 1234.567]) latencies.record(ms);
  const { p50, p999, max } = latencies.read();
  expect(max).toBe(1234.567);
  expect(p999).toBe(max);
  expect(p50).toBeGreaterThanOrEqual(50);
  expect(p50).toBeLessThan(51);
});
