/** The endurance run: its sums, and with CI=true all of it for a few seconds. No times are judged. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { FAULTS } from "./src/endurance/faults.ts";
import { slope } from "./src/endurance/samples.ts";
import { sectionOf, withSection } from "./src/page-section.ts";

function endurance(...flags: string[]): Promise<{ stdout: string; stderr: string }> {
  const args = ["--import", "tsx", "src/endurance/main.ts", ...flags];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  return promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 });
}

describe("endurance", () => {
  if (process.env["CI"] === "true") {
    test("every promise holds through every fault", async () => {
      const { stdout } = await endurance("--minutes", "0.25", "--every", "1.5", "--rate", "200");
      for (const { name } of FAULTS) expect(stdout).toContain(`| ${name} |`);
      expect(stdout).not.toContain("missed");
      expect(stdout.match(/\| held \|/g)).toHaveLength(8);
    });
  }

  test("a flag out of bounds ends it with a message and the usage", async () => {
    const ending = {
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/--rate takes a number from 1 to.*--minutes N/s),
    };
    await expect(endurance("--rate", "many")).rejects.toMatchObject(ending);
  });

  test("the slope is that of the line nearest to the points", () => {
    expect(slope([1, 2, 3, 4].map((x) => [x, 5 + 2 * x]))).toBeCloseTo(2);
    expect(slope([0, 1, 2, 3].map((x) => [x, x % 2]))).toBeCloseTo(0.2);
    expect(slope([[1, 1]])).toBe(0);
  });
});

describe("a section of a page", () => {
  test("takes the place of the one that was there, and leaves the rest", () => {
    const first = withSection("# Page\n\ntext\n", "## Last", "## Last\n\none\n");
    expect(first).toBe("# Page\n\ntext\n\n## Last\n\none\n");
    expect(withSection(first, "## Last", "## Last\n\ntwo")).toBe("# Page\n\ntext\n\n## Last\n\ntwo\n");
    expect(sectionOf(first, "## Last")).toBe("## Last\n\none\n");
    expect(sectionOf("# Page\n", "## Last")).toBe("");
  });
});
