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
const namesProbe = fileURLToPath(new URL("./names-probe.mjs", import.meta.url));

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

  test("with an origin, the longest identifiers take at most the documented 530 bytes for each of cellsMax", () => {
    const [cellsMax, keys] = [10_000, 8_000];
    const output = execFileSync(process.execPath, [...flags, namesProbe, String(cellsMax), String(keys)], {
      encoding: "utf8",
    });
    const { bytes, cells } = JSON.parse(output) as { bytes: number; cells: Record<string, number> };
    console.log(`${cells["live"]} names of 512 emoji: ${(bytes / cellsMax).toFixed(0)} bytes for each of cellsMax`);
    // Beside the keys: names of reads that failed (8 MiB), caches of texts (2 MiB), compiled code.
    expect(bytes).toBeLessThanOrEqual(530 * cellsMax + 12 * 2 ** 20);
    expect(cells["nameBytes"]! - cells["nameBytesMax"]!).toBeLessThan(6_352);
  }, 120_000);
});
