/** The benchmark with Redis, with tiny inputs: everyone runs and is counted. No times are judged. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NAMES } from "./src/redis/contenders.ts";

test("every package has a figure for every number of callers, and for both outages", async () => {
  const args = ["--import", "tsx", "src/redis/main.ts", "--quick"];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 });
  for (const name of NAMES) {
    const rows = stdout.split("\n").filter((line) => line.startsWith(`| ${name} |`));
    expect(rows).toHaveLength(5);
    for (const row of rows.slice(0, 3)) expect(row).toMatch(/\| [\d,]+ \| [\d.]+ × \| \d+\.\d{3} \| \d+\.\d{3} \|$/);
  }
  // The one that keeps deciding: none of its callers fails.
  const frozen = stdout.split("\n").find((line) => line.startsWith("| sluice | frozen"));
  expect(frozen?.split("|")[5]?.trim()).toBe("0");
});
