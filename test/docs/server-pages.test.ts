/** docs/configuration.md and docs/commands.md say what the code has: every setting, every exit code, every command. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { EXIT } from "../../packages/server/src/cli/exit-codes.ts";
import { environmentNameOf, flagOf, pathsOf } from "../../packages/server/src/config/setting.ts";
import { ALL_SETTINGS } from "../../packages/server/src/config/settings-table.ts";

function page(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
}

/** The cells of every line of a table, without the blanks that align them. */
function rowsOf(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe("docs/configuration.md", () => {
  test("lists every setting with its names, bounds and default, and no other", () => {
    const expected = ALL_SETTINGS.map((setting) => {
      const names = pathsOf(setting).filter((path) => setting.secret !== "token" || path !== setting.path);
      const shown = (name: (path: string) => string, paths: readonly string[]) =>
        paths.map((path) => `\`${name(path)}\``).join(", ");
      return [
        shown((path) => path, names),
        shown(environmentNameOf, pathsOf(setting)),
        shown(flagOf, names),
        setting.help,
        setting.rule,
        setting.initialText,
      ];
    });
    expect(rowsOf(page("configuration.md"))).toEqual(expected);
  });
});

describe("docs/commands.md", () => {
  test("lists every exit code", () => {
    const listed = rowsOf(page("commands.md").split("## Exit codes")[1]!).map(([code]) => code);
    expect(listed).toEqual(Object.values(EXIT).map((code) => `\`${code}\``));
  });
});
