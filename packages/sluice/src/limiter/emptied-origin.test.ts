import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { MemoryCounters } from "../global/memory-counters.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { LimiterEvent } from "./events.ts";
import { Limiter } from "./limiter.ts";

/** One region whose origin outlives its processes, unless `empty` replaces it. */
function region() {
  const time = new ManualTime();
  const { clock, timers } = time;
  const counters = new MemoryCounters(clock);
  let memory = new MemoryOrigin(clock);
  const life = () => {
    const events: LimiterEvent[] = [];
    const origin = {
      raise: (raises: Parameters<MemoryOrigin["raise"]>[0]) => memory.raise(raises),
      read: (reads: Parameters<MemoryOrigin["read"]>[0]) => memory.read(reads),
      close: async () => {},
    };
    const options = { region: "eu", origin, global: counters, floor: 0, clock, timers };
    const limiter = new Limiter({ ...options, onEvent: (event) => events.push(event) });
    const ask = async (identifier: string, cost: number) => {
      const answer = limiter.limit({ namespace: "api", identifier, limit: 100, duration: "1h", cost });
      await time.advance(1);
      return answer;
    };
    const close = async () => {
      const closing = limiter.close();
      await time.advance(10_000);
      return closing;
    };
    const emptied = () => events.filter(({ kind }) => kind === "emptied");
    return { limiter, ask, close, emptied };
  };
  const empty = () => {
    memory = new MemoryOrigin(clock);
  };
  return { time, life, empty };
}

describe("a region that starts again", () => {
  test("with an emptied origin reports of how many cells only its rows are left", async () => {
    const { time, life, empty } = region();
    const first = life();
    await time.advance(2_000);
    await first.ask("a", 60);
    await first.ask("b", 5);
    await time.advance(2_000);
    await first.close();
    expect(first.limiter.stats().global?.cellsBehind).toBe(0);
    empty();
    const second = life();
    await time.advance(2_000);
    expect(second.limiter.stats().global?.cellsBehind).toBe(2);
    expect(second.emptied()).toMatchObject([{ kind: "emptied", layer: "origin", cells: 2 }]);
    // The row is a lower bound the whole time.
    expect(await second.ask("a", 41)).toMatchObject({ success: false, reason: "limit" });
    // Another process that starts now finds an origin that is in use.
    const third = life();
    await time.advance(2_000);
    expect([third.limiter.stats().global?.cellsBehind, third.emptied()]).toEqual([0, []]);
    await second.close();
    await third.close();
    expect(time.pending).toBe(0);
  });

  test("with its origin's data reports nothing", async () => {
    const { time, life } = region();
    const first = life();
    await time.advance(2_000);
    await first.ask("a", 60);
    await time.advance(2_000);
    await first.close();
    const second = life();
    await time.advance(2_000);
    expect([second.limiter.stats().global?.cellsBehind, second.emptied()]).toEqual([0, []]);
    await second.close();
  });
});
