import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { countersConformance } from "./counters-conformance.ts";
import { MemoryCounters } from "./memory-counters.ts";

countersConformance("memory", async () => {
  const time = new ManualTime();
  const counters = new MemoryCounters(time.clock);
  return { counters, nowMs: () => time.wallMs, elapse: (ms) => time.advance(ms), overlapMs: 0 };
});

describe("memory counters", () => {
  test("a region that has not published for a minute is no longer live, and is again when it does", async () => {
    const time = new ManualTime();
    const counters = new MemoryCounters(time.clock);
    const live = async () => (await counters.read("eu", null)).regionsLive;
    await counters.publish("eu", []);
    await counters.publish("us", []);
    time.pass(59_999);
    expect(await live()).toBe(2);
    time.pass(1);
    expect(await live()).toBe(1);
    await counters.publish("us", []);
    expect(await live()).toBe(2);
  });
});
