/** The command line: what it accepts, and a clear refusal of everything else. */
import { parseArgs } from "node:util";
import { type CaseName, cases } from "./cases.ts";

export type SectionName = CaseName | "memory" | "layers" | "stalls";

const sectionNames: readonly SectionName[] = [...cases.map(({ name }) => name), "memory", "layers", "stalls"];

export interface Flags {
  readonly sections: readonly SectionName[];
  readonly rounds: number;
  readonly starts: number;
  readonly seed: number;
  readonly isQuick: boolean;
  readonly isWritten: boolean;
  readonly isJson: boolean;
  readonly isHelp: boolean;
}

export const usage = `npm run bench -- [flags]

  --case NAME   only this section; may be repeated. One of
                ${sectionNames.join(", ")}
  --rounds N    slices per contender and start (default 15)
  --starts N    processes per case (default 3)
  --seed N      of the order of keys and contenders (default 1)
  --quick       tiny inputs: tries out the benchmark, measures nothing
  --json        figures instead of Markdown
  --write       the Markdown also to docs/benchmarks.md; needs a full run
  --help        this text`;

/** A command line that cannot be followed; the message says what to write instead. */
export class FlagError extends Error {}

export function parseFlags(args: readonly string[]): Flags {
  const values = parse(args);
  const isQuick = values.quick ?? false;
  const isWritten = values.write ?? false;
  const chosen = values.case ?? [];
  if (isWritten && (isQuick || chosen.length > 0)) {
    throw new FlagError("--write needs a full run: leave out --quick and --case");
  }
  return {
    sections: chosen.length === 0 ? sectionNames : chosen.map(sectionNamed),
    rounds: wholeNumber("rounds", values.rounds, isQuick ? 2 : 15),
    starts: wholeNumber("starts", values.starts, isQuick ? 1 : 3),
    seed: wholeNumber("seed", values.seed, 1),
    isQuick,
    isWritten,
    isJson: values.json ?? false,
    isHelp: values.help ?? false,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        case: { type: "string", multiple: true },
        rounds: { type: "string" },
        starts: { type: "string" },
        seed: { type: "string" },
        quick: { type: "boolean" },
        json: { type: "boolean" },
        write: { type: "boolean" },
        help: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    throw new FlagError(error instanceof Error ? error.message : String(error));
  }
}

function sectionNamed(name: string): SectionName {
  const section = sectionNames.find((known) => known === name);
  if (section === undefined) throw new FlagError(`--case ${name} is not one of ${sectionNames.join(", ")}`);
  return section;
}

function wholeNumber(flag: string, text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 1_000_000) {
    throw new FlagError(`--${flag} takes a whole number from 1 to 1000000, not ${JSON.stringify(text)}`);
  }
  return number;
}
