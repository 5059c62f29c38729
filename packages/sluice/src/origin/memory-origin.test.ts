import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/manual-time.ts";
import { MemoryOrigin } from "./memory-origin.ts";
import { originConformance } from "./origin-conformance.ts";

originConformance("memory", async () => {
  const time = new ManualTime();
  return {
    origin: new MemoryOrigin(time.clock),
    nowMs: () => time.wallMs,
    elapse: (ms) => time.advance(ms),
  };
});

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
});
