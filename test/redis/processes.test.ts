/** Real processes on a real Redis, their histories checked by the simulator's checker. They run the built package. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { byLength, figure } from "../rig/length.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { STARVED_MAX_MS } from "../rig/starvation.ts";
import { storedCells } from "../rig/stored-cells.ts";
import {
  acceptedOf,
  admittedRatios,
  check,
  FLUSH_MS,
  flushedMs,
  sumOf,
  type WorkerLoad,
  Workers,
} from "../rig/workers.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const SEED = Number(process.env["SLUICE_SEED"] ?? 20_261_116);
let server: RedisServer;
let workers: Workers;

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.ask("FLUSHALL"));
afterEach(() => workers.end());

/** What Redis holds, by cell and writer, named as a history names it. */
async function stored(): Promise<Map<string, number>> {
  const totals = new Map<string, number>();
  for (const { name, sum, components } of await storedCells(server)) {
    const [, key, sequence] = /^sluice:1:\{(.*)\}:(\d+)$/.exec(name) ?? [];
    let parts = 0;
    for (const [writer, total] of Object.entries(components)) {
      totals.set(`${key} ${sequence} ${writer}`, total);
      parts += total;
    }
    expect(parts).toBe(sum);
  }
  return totals;
}

/** Long enough that nothing expires before it was looked at. */
const HOUR: WorkerLoad = { identifiers: 20, perSecond: 2_000, limit: 1_000_000, durationMs: 3_600_000 };

describe("real processes", () => {
  const windows = byLength({ short: 2, ci: 3, lab: 10 });
  const durationMs = byLength({ short: 2_000, ci: 5_000, lab: 10_000 });

  test(`four of them at three times one limit, ${windows} windows of ${durationMs / 1_000} s: admitted ÷ limit stays near 1, nobody is denied by mistake`, async () => {
    const limit = durationMs / 10;
    const load = { identifiers: 1, perSecond: ((3 * limit) / durationMs) * 250, limit, durationMs };
    workers = new Workers(durationMs);
    const four = Array.from({ length: 4 }, () => workers.start(server, load));
    await Promise.all(four.map((worker) => worker.ready()));
    const first = Math.floor(workers.nowMs() / durationMs) + 1;
    await poll("the windows are over", () => workers.nowMs() > (first + windows) * durationMs, 180_000);
    const held = await stored();
    const ends = await Promise.all(four.map((worker) => worker.stop()));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const history = workers.history();
    const checker = check(history, load, 4);
    expect(checker.problem).toBeUndefined();
    expect(checker.lowerBound.falseDenials).toBe(0);
    const ratios = admittedRatios(history, first, windows, limit);
    const worst = Math.max(...ratios).toFixed(3);
    figure(`four processes: admitted ÷ limit at most ${worst} in ${windows} windows, ${checker.decisions} decisions`);
    // A sliding window admits less than the limit after one that was full, never more than these. Messages that waited for a
    // processor are late, and the checker has allowed for what was accepted in that time.
    const calm = ratios.filter((_, i) => workers.isCalm(first + i, durationMs));
    for (const ratio of calm) expect(ratio).toBeLessThanOrEqual(byLength({ short: 1.05, ci: 1.05, lab: 1.02 }));
    expect(Math.max(...ratios)).toBeGreaterThan(0.5);
    // What Redis held of them while they ran is never more than what they accepted.
    const accepted = acceptedOf(history);
    for (const [cell, total] of held) expect(total).toBeLessThanOrEqual(accepted.get(cell) ?? 0);
  }, 240_000);

  const rounds = byLength({ short: 4, ci: 16, lab: 100 });

  test(`killed ${rounds} times: what is lost is what was accepted after the last flush began, and nothing is counted twice`, async () => {
    console.log(`seed ${SEED}`);
    const random = new SeededRandom(SEED);
    workers = new Workers(HOUR.durationMs);
    let worst = 0;
    for (let round = 0; round < rounds; round += 2) {
      const two = [0, 1].map(() => workers.start(server, HOUR));
      await Promise.all(
        two.map(async (worker) => {
          await worker.ready();
          const asked = 50 + random.below(400);
          await poll("some accepted", () => sumOf(acceptedOf(workers.history(worker.name))) >= asked, STARVED_MAX_MS);
          await worker.kill();
        }),
      );
    }
    const held = await stored();
    const history = workers.history();
    const names = new Set(history.map((line) => line.process).filter((name) => name !== "world"));
    expect(names.size).toBe(rounds);
    for (const name of names) {
      const lines = history.filter((line) => line.process === name);
      // What was sent with a flush that was answered is stored.
      const lastMs = flushedMs(lines);
      const all = acceptedOf(lines);
      const before = acceptedOf(lines, lastMs - 1);
      for (const [cell, total] of all) {
        const there = held.get(cell) ?? 0;
        expect(there).toBeLessThanOrEqual(total);
        expect(there).toBeGreaterThanOrEqual(before.get(cell) ?? 0);
      }
      worst = Math.max(worst, (lines.at(-1)?.atMs ?? 0) - lastMs);
    }
    figure(`killed ${rounds} times: at most the last ${worst.toFixed(0)} ms were lost; flush interval ${FLUSH_MS} ms`);
    expect(check(history, HOUR, rounds).problem).toBeUndefined();
  }, 240_000);

  test(`stopped ${rounds} times under load: nothing is lost, and each ends within 5 s`, async () => {
    workers = new Workers(HOUR.durationMs);
    for (let round = 0; round < rounds; round += 2) {
      const two = [0, 1].map(() => workers.start(server, HOUR));
      const ends = await Promise.all(
        two.map(async (worker) => {
          await worker.ready();
          await poll("some accepted", () => sumOf(acceptedOf(workers.history(worker.name))) >= 100, STARVED_MAX_MS);
          return worker.stop();
        }),
      );
      for (const { code, said, tookMs } of ends) {
        expect({ code, said }).toEqual({ code: 0, said: "" });
        expect(tookMs).toBeLessThan(5_000);
      }
    }
    const history = workers.history();
    expect(await stored()).toEqual(acceptedOf(history));
    expect(check(history, HOUR, rounds).problem).toBeUndefined();
  }, 240_000);

  test("stopped while Redis is frozen: it ends all the same, not with 0, and says how much is lost", async () => {
    workers = new Workers(HOUR.durationMs);
    const worker = workers.start(server, HOUR, 1_000);
    await worker.ready();
    await poll("some accepted", () => sumOf(acceptedOf(workers.history(worker.name))) >= 100, STARVED_MAX_MS);
    await server.freeze();
    try {
      const accepted = sumOf(acceptedOf(workers.history(worker.name)));
      await poll("more accepted", () => sumOf(acceptedOf(workers.history(worker.name))) >= accepted + 200);
      const { code, said } = await worker.stop();
      expect(code).toBe(1);
      const lost = Number(/lost: (\d+)/.exec(said)?.[1]);
      expect(lost).toBeGreaterThanOrEqual(200);
    } finally {
      await server.thaw();
    }
    const history = workers.history();
    const [all, held] = [sumOf(acceptedOf(history)), sumOf(await stored())];
    const last = history.at(-1)?.event;
    expect(last?.kind === "stopped" && last.lost).toBeGreaterThanOrEqual(all - held);
  });
});
