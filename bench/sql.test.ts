/** The benchmark with databases, with tiny inputs: everything is done and counted. No times are judged. CI does all of it. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const isDeep = process.env["CI"] === "true";

test("every call has its rows, statements and times, every trouble its ratio, and every phase its turns", {
  timeout: 60_000,
}, async () => {
  const args = ["--import", "tsx", "src/sql/main.ts", "--quick", ...(isDeep ? [] : ["--only", "cost"])];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 });
  const lines = stdout.split("\n");
  expect(lines.filter((line) => /^\|( [^|]+ \|){3}( [\d.,]+ ms \|){2}$/.test(line))).toHaveLength(5);
  expect(lines.find((line) => line.startsWith("| an import that finds nothing new"))).toMatch(/\| 0 \| 1 \|/);
  expect(lines.filter((line) => /^\| \w+ \| [\d.]+ \| [\d.]+ s \|$/.test(line))).toHaveLength(isDeep ? 1 : 0);
  expect(lines.filter((line) => /^\|( [^|]+ \|){3}( [\d.]+ ms \|){3}$/.test(line))).toHaveLength(isDeep ? 10 : 0);
});
