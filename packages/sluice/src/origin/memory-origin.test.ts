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
