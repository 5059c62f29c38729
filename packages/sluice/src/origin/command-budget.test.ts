import { describe, expect, test } from "vitest";
import { Processes, request } from "../../../../test/support/processes.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { COMMANDS_PER_SECOND_MIN, FLUSH_MAX_MS, FLUSH_MIN_MS } from "../core/bounds.ts";
import { CommandBudget } from "./command-budget.ts";

const RATES = [COMMANDS_PER_SECOND_MIN, 33, 199, 200, 201, 999.5, 50_000] as const;
const FLUSHES_MS = [FLUSH_MIN_MS, 7, 50, 333, FLUSH_MAX_MS] as const;
const COMBINATIONS = RATES.flatMap((rate) => FLUSHES_MS.map((flushMs) => [rate, flushMs] as const));

describe("the command budget", () => {
  test.each(COMBINATIONS)(
    "%d per second and a flush every %d ms: a minute of flushes sends exactly the rate",
    (rate, flushMs) => {
      const budget = new CommandBudget(rate, flushMs, 0);
      let sent = 0;
      let endMs = 0;
      for (let nowMs = flushMs; nowMs <= 60_000; nowMs += flushMs) {
        const cells = budget.cellsOfFlush(nowMs);
        expect(cells, "an interval's budget and the carried part").toBeLessThanOrEqual((rate * flushMs) / 1_000 + 1);
        budget.spend(cells);
        sent += cells;
        endMs = nowMs;
      }
      const due = (rate * endMs) / 1_000;
      // Not more than the rate and what the first flush began with, and less than it by no more than the carried part.
      expect(sent).toBeGreaterThan(due - 1);
      expect(sent).toBeLessThanOrEqual(due + Math.max(1, (rate * flushMs) / 1_000) + 1e-6);
    },
  );

  test.each(COMBINATIONS)(
    "%d per second and a flush every %d ms: late, missed and hurried flushes stay within the rate in every span",
    (rate, flushMs) => {
      const random = new SeededRandom(rate * 1_000 + flushMs);
      const below = (bound: number) => (random.uint32() / 2 ** 32) * bound;
      const budget = new CommandBudget(rate, flushMs, 0);
      const sends: [number, number][] = [];
      for (let nowMs = 0; nowMs < 60_000; ) {
        // Mostly on time, sometimes after many intervals; with a few hurried flushes in between.
        const nextMs = nowMs + flushMs * (below(1) < 0.8 ? 1 : 1 + below(10));
        for (let hurryMs = nowMs + below(flushMs); hurryMs < nextMs && below(1) < 0.7; hurryMs += below(flushMs)) {
          const cells = Math.min(budget.cells(hurryMs), 1 + Math.floor(below(4)));
          budget.spend(cells);
          sends.push([hurryMs, cells]);
        }
        nowMs = nextMs;
        const cells = budget.cellsOfFlush(nowMs);
        budget.spend(cells);
        sends.push([nowMs, cells]);
      }
      const perMs = rate / 1_000;
      // The worst span is the one that is furthest above the rate: the largest rise of `sent - rate * time`.
      let above = 0;
      let worst = 0;
      let beforeMs = 0;
      for (const [atMs, cells] of sends) {
        above = Math.max(0, above - perMs * (atMs - beforeMs)) + cells;
        beforeMs = atMs;
        worst = Math.max(worst, above);
      }
      expect(worst).toBeLessThanOrEqual(4 * perMs * flushMs + 1 + 1e-6);
    },
  );

  test("a clock that stands still or goes back adds nothing", () => {
    const budget = new CommandBudget(20, 50, 1_000);
    budget.spend(budget.cellsOfFlush(1_000));
    expect([budget.cells(1_000), budget.cells(0), budget.cellsOfFlush(10)]).toEqual([0, 0, 0]);
  });

  test("a limiter of 20 cells per second that flushes every 5 ms replays 20 cells per second", async () => {
    // Seen: 200. Each flush could send at least one cell, and there are 200 flushes in a second.
    const world = new Processes();
    const { limiter } = world.start({ flushMs: 5, commandsPerSecond: 20, cellsMax: 1_000 });
    for (let i = 0; i < 5_000; i++) {
      // Half of the requests bring their key near its limit, which hurries it.
      void limiter.limit(request({ identifier: `user_${i % 500}`, limit: i % 2 === 0 ? 1_000_000 : 20 }));
      await world.time.advance(1);
    }
    // 100 in 5 s, and the one with which it began.
    expect(world.origin.cellsRaised().length).toBeGreaterThanOrEqual(99);
    expect(world.origin.cellsRaised().length).toBeLessThanOrEqual(101);
    // Each flush carries a heartbeat, and a flush without cells counts as one.
    expect(world.origin.raises.length).toBeLessThanOrEqual(101);
  });

  test("an idle limiter sends its heartbeat within the same budget", async () => {
    const world = new Processes();
    const { ask } = world.start({ flushMs: 5, commandsPerSecond: 20 });
    await ask();
    await world.time.advance(10_000);
    expect(world.origin.raises.length).toBeGreaterThanOrEqual(190);
    expect(world.origin.raises.length).toBeLessThanOrEqual(201);
  });

  test("a monotonic clock that fails once does not stop it for good", () => {
    const budget = new CommandBudget(1_000, 50, 0);
    expect(budget.cellsOfFlush(Number.NaN)).toBe(0);
    expect(budget.cells(Number.NaN)).toBe(0);
    expect(budget.cellsOfFlush(50)).toBe(51);
  });
});
