import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { Limiter } from "../limiter/limiter.ts";
import { memoryOrigin } from "../limiter/memory-stores.ts";
import type { LimitRequest } from "../limiter/request.ts";
import { admitConformance } from "./admit-conformance.ts";
import { holdConformance } from "./hold-conformance.ts";
import { MemoryOrigin } from "./memory-origin.ts";
import { originConformance } from "./origin-conformance.ts";

for (const conformance of [originConformance, admitConformance, holdConformance]) {
  conformance("memory", async () => {
    const time = new ManualTime();
    return {
      origin: new MemoryOrigin(time.clock),
      nowMs: () => time.wallMs,
      elapse: (ms) => time.advance(ms),
    };
  });
}

describe("memory origin", () => {
  test("expired cells are swept by later calls: it stays near what is live", async () => {
    const time = new ManualTime();
    const origin = new MemoryOrigin(time.clock);
    const raise = (key: string) => ({ key, sequence: 1, writer: "w", total: 1, expiresAtMs: time.wallMs + 1_000 });
    for (let round = 0; round < 20; round++) {
      await origin.raise(Array.from({ length: 100 }, (_, i) => raise(`${round}/${i}`)));
      time.pass(500);
    }
    expect(origin.size).toBeLessThan(400);
  });

  test("a raise looks at sixteen cells for expiry, from where the last one ended: its work is bounded", async () => {
    const time = new ManualTime();
    const origin = new MemoryOrigin(time.clock);
    const raise = (key: string) => ({ key, sequence: 1, writer: "w", total: 1, expiresAtMs: time.wallMs + 1_000 });
    await origin.raise(Array.from({ length: 50 }, (_, i) => raise(`${i}`)));
    time.pass(1_000);
    const sizes: number[] = [];
    for (let i = 0; i < 4; i++) {
      await origin.raise([raise("live")]);
      sizes.push(origin.size);
    }
    // One more live cell, and where the table's end is met the look is over.
    expect(sizes.at(-1)).toBe(1);
    for (const [i, size] of sizes.entries()) expect(size).toBeGreaterThanOrEqual(51 - 16 * (i + 1));
  });

  test("a denial of an unknown key makes no cell, and one with totals makes those of the totals", async () => {
    const time = new ManualTime();
    const origin = new MemoryOrigin(time.clock);
    const expiresAtMs = time.wallMs + 1_000;
    const call = {
      ...{ key: "a", sequence: 7, writer: "w", total: 0, previousTotal: 0, foreign: 0, previousForeign: 0 },
      ...{ expiresAtMs, previousExpiresAtMs: expiresAtMs, leftMs: 500, durationMs: 1_000 },
      requests: [{ limit: 1, cost: 2 }],
      call: 1,
    };
    await origin.admit([call]);
    expect(origin.size).toBe(0);
    await origin.admit([{ ...call, previousTotal: 1 }]);
    expect(origin.size).toBe(1);
    await origin.admit([{ ...call, total: 1, previousTotal: 1 }]);
    expect(origin.size).toBe(2);
  });

  test("a cell vanishes exactly at its expiry", async () => {
    const time = new ManualTime();
    const origin = new MemoryOrigin(time.clock);
    const name = { key: "a", sequence: 1, writer: "w" };
    await origin.raise([{ ...name, total: 1, expiresAtMs: time.wallMs + 1_000 }]);
    time.pass(999);
    expect((await origin.read([name]))[0]!.sum).toBe(1);
    time.pass(1);
    expect((await origin.read([name]))[0]!.sum).toBe(0);
  });

  test("it holds two cells for each key at most, whatever is raised", async () => {
    const time = new ManualTime();
    const origin = new MemoryOrigin(time.clock, 50);
    const expiresAtMs = time.wallMs + 1_000_000;
    for (let i = 0; i < 2_000; i++) {
      const key = `60000:7:default3:api8:${String(i).padStart(8, "0")}`;
      const [count] = await origin.raise([{ key, sequence: i, writer: "w", total: 3, expiresAtMs }]);
      expect([count, origin.size <= 100]).toEqual([{ sum: 3, component: 3 }, true]);
    }
    expect(origin.size).toBe(100);
  });

  test("a cell that a full origin has forgotten is raised again by the process that counted it", async () => {
    const time = new ManualTime();
    const origin = memoryOrigin({ clock: time.clock, cellsMax: 20 });
    const { clock, timers } = time;
    const start = (seed: number) => new Limiter({ origin, clock, timers, random: new SeededRandom(seed) });
    const [owner, other] = [start(1), start(2)];
    const asked = { namespace: "api", identifier: "customer", limit: 100, duration: "1h" } as const;
    const ask = async (limiter: Limiter, request: LimitRequest) => {
      const answer = limiter.limit(request);
      await time.advance(60);
      return answer;
    };
    await ask(owner, { ...asked, cost: 40 });
    for (let i = 0; i < 200; i++) await ask(other, { ...asked, identifier: `invented_${i}`, cost: 50 });
    // The owner's own count is not lost: it is in its memory, and goes to the origin with the next request.
    await time.advance(180_000);
    expect(await ask(owner, asked)).toMatchObject({ current: 41 });
    expect(owner.stats().origin!.losses, "no heartbeat is missing").toBe(0);
    expect(await ask(other, asked)).toMatchObject({ current: 42 });
  });
});
