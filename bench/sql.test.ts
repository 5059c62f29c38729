/** The benchmark with databases, with tiny inputs: everything is done and counted. No times are judged. It runs with CI=true. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

if (process.env["CI"] === "true") {
  test("every call has its rows, statements and times, every world its rhythm, every trouble its ratio, and every phase its turns", {
    timeout: 300_000,
  }, async () => {
    const args = ["--import", "tsx", "src/sql/main.ts", "--quick"];
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 });
    const lines = stdout.split("\n");
    expect(lines.filter((line) => /^\|( [^|]+ \|){3}( [\d.,]+ ms \|){2}$/.test(line))).toHaveLength(5);
    expect(lines.find((line) => line.startsWith("| an import that finds nothing new"))).toMatch(/\| 0 \| 1 \|/);
    const outage = /^\| \w+ \| [\d.]+ s \| \w+ \| [\d.]+ µs( \| [\d.]+){2} \| [\d.]+ s \|$/;
    expect(lines.filter((line) => outage.test(line))).toHaveLength(4);
    const rhythm = /^\|( [^|]+ \|){2}( [\d.,]+ \|){4} \d+ % \| 0 \|$/;
    expect(lines.filter((line) => rhythm.test(line))).toHaveLength(2);
    const turns = /^\|( [^|]+ \|){3}( [\d.]+ ms \|){4}[^|]*\| [\d,]+ of [\d,]+, \d+ \|$/;
    expect(lines.filter((line) => turns.test(line))).toHaveLength(12);
  });
}

test("a flag that cannot be followed is refused, with the ones that can", async () => {
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const asked = [["--only", "nothing"], ["--cells", "many"], ["--fast"]].map(async (flags) => {
    const running = promisify(execFile)(process.execPath, ["--import", "tsx", "src/sql/main.ts", ...flags], { cwd });
    await expect(running).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("--trouble-ms N") });
  });
  await Promise.all(asked);
});
