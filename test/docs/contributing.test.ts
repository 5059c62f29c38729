/** CONTRIBUTING.md: its table "To change X, start at Y" names files that exist, and its table of folders names all of test/. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");

/** The changes that a newcomer makes most often. */
const CHANGES = [
  "a new route",
  "a new SQL dialect",
  "a new metric",
  "a new setting",
  "the freshness rule",
  "a new response header",
  "a new error code",
  "a new fault in the simulator",
];

function section(heading: string): string {
  return page.match(new RegExp(`^## ${heading}\\n(.*?)^## `, "ms"))?.[1] ?? "";
}

/** The rows of all tables, each as its cells, without their heads. */
function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\| (?!-|to change|folder|command)(.*) \|$/gm)].map(([, row = ""]) =>
    row.split("|").map((cell) => cell.trim()),
  );
}

describe("CONTRIBUTING.md", () => {
  const rows = rowsOf(section("To change X, start at Y"));

  test("says where to start for every common change", () => {
    expect(rows.map(([change]) => change)).toEqual(CHANGES);
  });

  test.each(rows)("%s: every named file exists, and one to start at is named", (_, ...cells) => {
    const [starts, ...others] = cells.map((cell) => [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path));
    expect(starts!.length).toBeGreaterThan(0);
    expect([...starts!, ...others.flat()].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("names every folder of suites", () => {
    const folders = readdirSync(join(root, "test"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !["rig", "support"].includes(entry.name))
      .map(({ name }) => `\`test/${name}\``);
    expect(
      rowsOf(section("Which tests run when"))
        .flatMap(([first = ""]) => (first.startsWith("`test/") ? [first] : []))
        .sort(),
    ).toEqual(folders.sort());
  });
});
