/** docs/guarantees.md names real checks, real documents, and the constants as the code has them. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/guarantees.md", root), "utf8");
const constants = [...page.matchAll(/`([A-Z][A-Z_]+)`\s*\|\s*([\d_./ ]+?)\s*\|\s*\[[^\]]+\]\(\.\.\/([^)]+)\)/g)].map(
  ([, name = "", value = "", path = ""]) => ({ name, value, path }),
);

/** Where a check stands that the page names. */
const FOLDERS: Readonly<Record<string, string>> = {
  checker: "packages/sim/src/checker",
  engine: "packages/sluice/src/engine",
  origin: "packages/sluice/src/origin",
  global: "packages/sluice/src/global",
  plan: "packages/server/src/tools/plan",
  test: "test",
  bench: "bench",
};

function checksIn(text: string): string[] {
  return [...text.matchAll(/`((?:checker|test|bench|engine|origin|global|plan)\/[\w./-]+\.ts)`/g)].map(
    ([, path = ""]) => path,
  );
}

function placeOf(path: string): string {
  const [folder = "", ...rest] = path.split("/");
  return [FOLDERS[folder], ...rest].join("/");
}

describe("guarantees.md", () => {
  test("has a row for each constant, and finds it", () => {
    expect(constants.length).toBe([...page.matchAll(/`[A-Z][A-Z_]+_?[A-Z]*`\s+\|/g)].length);
    expect(constants.length).toBeGreaterThan(25);
  });

  test.each(constants)("$name is $value in $path", ({ name, value, path }) => {
    expect(readFileSync(new URL(path, root), "utf8")).toContain(`const ${name} = ${value};`);
  });

  test("its sums come to what it says", () => {
    const sums = [...page.matchAll(/`(?:\w+ = )?([\d.,]+(?: [+·/] [\d.,]+)+) = ([\d.,]+)(?: s)?`/g)];
    expect(sums.length).toBeGreaterThanOrEqual(9);
    for (const [text, sum = "", result = ""] of sums) {
      const terms = sum.replaceAll(",", "").split(" + ");
      const product = (term: string) =>
        term.split(" · ").reduce((total, factor) => {
          const [over, under = "1"] = factor.split(" / ");
          return (total * Number(over)) / Number(under);
        }, 1);
      const total = terms.reduce((before, term) => before + product(term), 0);
      const digits = result.split(".")[1]?.length ?? 0;
      // Rounded to the digits that it is given with.
      expect(Math.abs(total - Number(result.replaceAll(",", ""))), text).toBeLessThanOrEqual(
        0.5 * 10 ** -digits + 1e-9,
      );
    }
  });

  test("every check it names exists", () => {
    const named = checksIn(page);
    expect(named.length).toBeGreaterThan(40);
    for (const path of named) expect(existsSync(new URL(placeOf(path), root)), path).toBe(true);
  });

  test("every section names what hunts it", () => {
    const sections = page.split(/^## /m).slice(1);
    const promising = sections.filter((section) => !section.startsWith("The constants"));
    expect(promising).toHaveLength(10);
    for (const section of promising) expect(checksIn(section), section.split("\n")[0]).not.toEqual([]);
  });

  test("every promise of the table names what hunts it", () => {
    const promises = page.split("\n").filter((line) => /^\| \d+ /.test(line));
    expect(promises).toHaveLength(12);
    for (const line of promises) expect(line).toMatch(/`(checker|test)\/[\w./-]+\.ts`[^|]*\|$/);
  });
});
