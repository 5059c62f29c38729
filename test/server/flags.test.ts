import { expect, test } from "vitest";
import { runSluice } from "../rig/command-line.ts";

/** The words that a section of a help begins its lines with. */
function namesIn(help: string, section: string): string[] {
  const [, text = ""] = help.split(`\n${section}:\n`);
  const lines = text.split("\n\n", 1)[0]!.split("\n");
  return lines.flatMap((line) => /^ {2}([a-z-]+(?: <[^>]+>)?)/.exec(line)?.[1] ?? []);
}

/** Every command, as it is typed, with its flags that take a value. */
async function flagsBelow(path: readonly string[]): Promise<[string[], string][]> {
  const { out } = await runSluice([...path, "--help"], {});
  const own = namesIn(out, "Options").flatMap((flag): [string[], string][] =>
    flag.includes("<") ? [[[...path], flag.split(" ", 1)[0]!]] : [],
  );
  const commands = namesIn(out, "Commands").filter((name) => name !== "help");
  const below = await Promise.all(commands.map((name) => flagsBelow([...path, name.split(" ", 1)[0]!])));
  return [...own, ...below.flat()];
}

test("every flag of every command says what its value must be when it has none", async () => {
  const all = await flagsBelow([]);
  expect(all.length).toBeGreaterThan(60);
  for (const [path, flag] of all) {
    const { code, out, errors } = await runSluice([...path, flag], {});
    const shown = [...path, flag].join(" ");
    expect([code, out], shown).toEqual([2, ""]);
    const [error, hint] = errors.split("\n");
    // Whole, in brackets too: half a rule is none.
    expect(error, shown).toMatch(/^error: --[a-z-]+ must be [^()]*(\([^()]*\)[^()]*)*; got nothing$/);
    expect(hint, shown).toBe(`hint: write ${flag} VALUE`);
  }
});
