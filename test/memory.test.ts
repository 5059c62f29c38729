/**
 * Bytes a key, in processes of their own on the built package: growth of the resident set over the number of keys.
 *
 * Two generations of keys are counted, so that every slot has been used, freed and used again, and every page of its
 * records is really there.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const probe = fileURLToPath(new URL("./memory-probe.mjs", import.meta.url));

interface Probe {
  readonly keys: number;
  readonly bytesPerKey: number;
  readonly live: number;
  readonly evicted: number;
  readonly sampleAnswers: boolean;
}

// The young generation has its full size from the start: what it grows by is not what a key takes.
const flags = ["--expose-gc", "--min-semi-space-size=16"];

function measure(keys: number, generations: number): Probe {
  const output = execFileSync(process.execPath, [...flags, probe, String(keys), String(generations)], {
    encoding: "utf8",
  });
  return JSON.parse(output) as Probe;
}

describe("memory", () => {
  const isDeep = process.env["CI"] === "true";
  const sizes = isDeep ? [1_000_000, 4_000_000] : [1_000_000];
  const many = isDeep ? 10_000_000 : 3_000_000;

  test.each(sizes)(
    "%i keys take at most 160 bytes each, all of them remembered",
    (keys) => {
      const { bytesPerKey, live, evicted, sampleAnswers } = measure(keys, 2);
      console.log(`${keys} keys: ${bytesPerKey.toFixed(1)} bytes a key`);
      expect(live).toBe(keys);
      expect(evicted).toBe(0);
      expect(sampleAnswers).toBe(true);
      expect(bytesPerKey).toBeLessThanOrEqual(160);
    },
    120_000,
  );

  test(`${many} keys work when configured`, () => {
    const { live, evicted, sampleAnswers } = measure(many, 1);
    expect({ live, evicted, sampleAnswers }).toEqual({ live: many, evicted: 0, sampleAnswers: true });
  }, 120_000);
});
