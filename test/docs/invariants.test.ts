/** Comments refer to an invariant by its name in ARCHITECTURE.md, and to no text that is not in the repository. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => /^(packages|test|bench|scripts)\/.*\.(ts|mjs)$|\.md$/.test(path));

const table = read("ARCHITECTURE.md").match(/^## The invariants\n(.*?)^## /ms)?.[1] ?? "";
const names = [...table.matchAll(/^\| (\w[^|]*?) +\|/gm)].map(([, name = ""]) => name);
const named = files.flatMap((path) =>
  [...read(path).matchAll(/\binvariants? ((?:"[^"]+"(?:, (?:and )?| and )?)+)/gi)].flatMap(([, list = ""]) =>
    [...list.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ path, name })),
  ),
);

describe("the invariants", () => {
  test("that comments name are in the table of ARCHITECTURE.md", () => {
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(({ name }) => !names.includes(name))).toEqual([]);
  });

  test("are referred to by name, not by the number of a text that is not here", () => {
    const numbered = /\binvariants? \d|\bDESIGN\.md|\bspec(?:ification)?[ -]?00\d/i;
    expect(files.filter((path) => numbered.test(read(path)) && !path.endsWith("invariants.test.ts"))).toEqual([]);
  });
});
