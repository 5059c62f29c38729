/** The benchmark itself, with tiny inputs: everyone runs, gives the right answers and is counted. No times are judged. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { cases } from "./src/cases.ts";
import { contenders } from "./src/contenders.ts";
import { parseFlags } from "./src/flags.ts";
import type { Figures } from "./src/task.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

async function bench(...flags: string[]): Promise<{ stdout: string; stderr: string }> {
  const args = ["--import", "tsx", "src/main.ts", ...flags];
  return promisify(execFile)(process.execPath, args, { cwd: here, maxBuffer: 2 ** 24 });
}

describe("benchmark", () => {
  test("every contender has a figure in every case it supports", async () => {
    const { stdout } = await bench("--quick", "--json");
    const { speed, memory, layers, stalls } = JSON.parse(stdout) as Figures;

    for (const { name: caseName, batchSize } of cases) {
      const expected = contenders.filter((contender) => contender.batchSize <= batchSize);
      const measured = speed.filter((figure) => figure.caseName === caseName);
      expect(measured.map(({ contender }) => contender)).toEqual(expected.map(({ name }) => name));
      for (const { contender, ns } of measured) expect(ns, `${contender} in ${caseName}`).toBeGreaterThan(0);
    }

    const tables = contenders.filter(({ hasOwnTable }) => hasOwnTable);
    expect(memory.map(({ contender }) => contender)).toEqual(tables.map(({ name }) => name));
    for (const { bytesPerKey } of memory) expect(bytesPerKey).toEqual(expect.any(Number));

    expect(layers.map(({ subject, keys }) => `${subject}, ${keys}`)).toEqual([
      "bare, 1",
      "with both layers, 1",
      "bare, 1000",
      "with both layers, 1000",
    ]);
    for (const { ns } of layers) expect(ns).toBeGreaterThan(0);
    expect(stalls).toHaveLength(3);
    for (const { subject, fill } of stalls) expect(fill.count, subject).toBeGreaterThan(0);
  });

  test("an unknown flag ends it with a message and the usage, before anything is measured", async () => {
    const ending = { code: 2, stdout: "", stderr: expect.stringMatching(/'--quik'.*npm run bench/s) };
    await expect(bench("--quik")).rejects.toMatchObject(ending);
  });

  test.each([
    { args: ["hot-allowed"], message: "hot-allowed" },
    { args: ["--case", "cold"], message: "--case cold is not one of hot-allowed" },
    { args: ["--rounds", "0"], message: '--rounds takes a whole number from 1 to 1000000, not "0"' },
    { args: ["--starts", "2.5"], message: '--starts takes a whole number from 1 to 1000000, not "2.5"' },
    { args: ["--quick", "--write"], message: "--write needs a full run" },
  ])("$args are refused with a message that names them", ({ args, message }) => {
    expect(() => parseFlags(args)).toThrow(message);
  });
});
