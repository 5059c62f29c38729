/** docs/guarantees.md names real checks, real documents, and the constants as the code has them. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = new URL("../", import.meta.url);
const page = readFileSync(new URL("docs/guarantees.md", root), "utf8");
const constants = [...page.matchAll(/`([A-Z][A-Z_]+)`\s*\|\s*([\d_.]+)\s*\|\s*\[[^\]]+\]\(\.\.\/([^)]+)\)/g)].map(
  ([, name = "", value = "", path = ""]) => ({ name, value, path }),
);

describe("guarantees.md", () => {
  test("has a row for each constant, and finds it", () => {
    expect(constants.length).toBe([...page.matchAll(/`[A-Z][A-Z_]+_?[A-Z]*`\s+\|/g)].length);
    expect(constants.length).toBeGreaterThan(15);
  });

  test.each(constants)("$name is $value in $path", ({ name, value, path }) => {
    expect(readFileSync(new URL(path, root), "utf8")).toContain(`const ${name} = ${value};`);
  });

  test("every check it names exists", () => {
    const named = [...page.matchAll(/`((?:checker|test)\/[\w./-]+\.ts)`/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(10);
    for (const path of named) {
      const place = path.startsWith("checker/") ? `packages/sluice/src/sim/${path}` : path;
      expect(existsSync(new URL(place, root)), path).toBe(true);
    }
  });

  test("every promise of the table names what hunts it", () => {
    const promises = page.split("\n").filter((line) => /^\| \d+ /.test(line));
    expect(promises).toHaveLength(12);
    for (const line of promises) expect(line).toMatch(/`(checker|test)\/[\w./-]+\.ts`[^|]*\|$/);
  });
});
