/** The benchmark of cold keys, with tiny inputs: everyone runs and has a figure. No times are judged. wrk is for full runs alone. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { sharedWindows } from "./src/cold/shared-key.ts";

describe("benchmark of cold keys", () => {
  test("every row that needs no load generator has a figure", async () => {
    const parts = ["redis", "library", "shared-key"].flatMap((part) => ["--only", part]);
    const args = ["--import", "tsx", "src/cold/main.ts", "--quick", ...parts];
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 });
    const figures = stdout.split("\n").filter((line) => /\| [\d.]+ \| [≥≤]/.test(line));
    expect(figures).toHaveLength(6);
    expect(stdout).not.toMatch(/NaN|Infinity/);
    // The demand is ten times the limit, so most of the limit is used.
    const [, admitted] = /admitted in a window ÷ limit \| ([\d.]+)/.exec(stdout)!;
    expect(Number(admitted)).toBeGreaterThan(0.5);
  });

  test("a window counts what all processes admitted in it, with the share of the window before", () => {
    const allow = (atMs: number, windowEndMs: number, cost: number) => ({ atMs, windowEndMs, cost });
    const figures = [
      { asked: 2, degraded: 0, allows: [allow(100, 1_000, 60), allow(1_500, 2_000, 70)] },
      { asked: 1, degraded: 0, allows: [allow(200, 1_000, 20)] },
    ];
    const options = { limit: 100, durationMs: 1_000, beginMs: 0, endMs: 2_000 };
    expect(sharedWindows(figures, options)).toEqual([{ admitted: 0.7, peak: 1.1 }]);
  });
});
