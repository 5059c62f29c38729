import { expect, test } from "vitest";
import type { Console } from "./console.ts";
import { runProgram } from "./program.ts";

async function run(args: readonly string[]) {
  const said = { out: "", notices: [] as string[] };
  const console: Console = {
    out: (text) => {
      said.out += `${text}\n`;
    },
    notice: (text) => said.notices.push(text),
    progress: () => {},
    isTerminal: false,
    environment: {},
    nowMs: () => 0,
    onStop: () => {},
  };
  return { code: await runProgram(args, console), ...said };
}

/** The words that a section of a help begins its lines with. */
function namesIn(help: string, section: string): string[] {
  const [, text = ""] = help.split(`\n${section}:\n`);
  const lines = text.split("\n\n", 1)[0]!.split("\n");
  return lines.flatMap((line) => /^ {2}([a-z-]+(?: <[^>]+>)?)/.exec(line)?.[1] ?? []);
}

/** Every command, as it is typed, with its flags that take a value. */
async function flagsBelow(path: readonly string[]): Promise<[string[], string][]> {
  const { out } = await run([...path, "--help"]);
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
    const { code, out, notices } = await run([...path, flag]);
    const shown = [...path, flag].join(" ");
    expect([code, out], shown).toEqual([2, ""]);
    // Whole, in brackets too: half a rule is none.
    expect(notices[0], shown).toMatch(/^error: --[a-z-]+ must be [^()]*(\([^()]*\)[^()]*)*; got nothing$/);
    expect(notices[1], shown).toBe(`hint: write ${flag} VALUE`);
  }
});
