/** The command line of the lab. */
import { parseArgs } from "node:util";
import { type LabOptions, type Part, UsageError } from "./part.ts";

export interface LabArguments {
  readonly parts: readonly Part[];
  readonly options: LabOptions;
  /** Forgets what an interrupted or finished run of these parts has done. */
  readonly isFresh: boolean;
  readonly mode: "run" | "list" | "help";
}

const NUMBERS = {
  hours: { initial: 1_000, low: 0.01, high: 1_000_000, isWhole: false },
  minutes: { initial: 30, low: 0.05, high: 1_440, isWhole: false },
  requests: { initial: 200_000, low: 1_000, high: 100_000_000, isWhole: true },
  rounds: { initial: 1, low: 1, high: 1_000, isWhole: true },
} as const;

export const USAGE = `npm run lab -- [part ...] [flags]

Runs what needs a long time, one part after the other, all of them if none is named. Interrupt it with Ctrl-C; the same command
continues where it stopped. A part that is finished for this source is not run again. Results go to docs/lab.md.

  --hours N      campaign: simulated cluster-hours (default ${NUMBERS.hours.initial})
  --minutes N    endurance: minutes under load (default ${NUMBERS.minutes.initial})
  --requests N   malformed: requests (default ${NUMBERS.requests.initial})
  --rounds N     chaos, attack, models: how often each suite is run (default ${NUMBERS.rounds.initial})
  --seed N       campaign, canaries: the first seed
  --from COMMIT  mixed-versions: the version to upgrade from
  --only A,B     only these canaries, suites, or folders and files to mutate; writes no report
  --fresh        starts the parts from the beginning
  --list         shows the parts, and how far each one is
  --help         this text`;

/** Throws a UsageError for invalid arguments. */
export function parseArguments(argv: readonly string[], parts: readonly Part[]): LabArguments {
  const { values, positionals } = parsed(argv);
  const named = positionals.map((name) => {
    const part = parts.find((one) => one.name === name);
    if (part !== undefined) return part;
    throw new UsageError(
      `${JSON.stringify(name)} is not a part of the lab: ${parts.map((one) => one.name).join(", ")}`,
    );
  });
  const chosenParts = named.length === 0 ? parts : parts.filter((part) => named.includes(part));
  const only = values.only?.split(",").filter((name) => name !== "") ?? [];
  if (values.only !== undefined && (only.length === 0 || named.length !== 1 || !named[0]!.flags.includes("only")))
    throw new UsageError(
      "--only needs names, and exactly one part that can be run in pieces, such as: canaries --only NAME",
    );
  const options: LabOptions = {
    hours: numberOf("hours", values.hours),
    minutes: numberOf("minutes", values.minutes),
    requests: numberOf("requests", values.requests),
    rounds: numberOf("rounds", values.rounds),
    seed: seedOf(values.seed),
    from: values.from,
    only,
  };
  // A flag that no chosen part listens to is a mistake, such as --minutes for the campaign.
  for (const flag of ["hours", "minutes", "requests", "rounds", "seed", "from"] as const) {
    if (values[flag] !== undefined && !chosenParts.some((part) => part.flags.includes(flag)))
      throw new UsageError(`--${flag} has no effect on ${chosenParts.map((part) => part.name).join(", ")}`);
  }
  const mode = values.help ? "help" : values.list ? "list" : "run";
  return { parts: chosenParts, options, isFresh: values.fresh, mode };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        hours: { type: "string" },
        minutes: { type: "string" },
        requests: { type: "string" },
        rounds: { type: "string" },
        seed: { type: "string" },
        from: { type: "string" },
        only: { type: "string" },
        fresh: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function numberOf(flag: keyof typeof NUMBERS, text: string | undefined): number {
  const { initial, low, high, isWhole } = NUMBERS[flag];
  if (text === undefined) return initial;
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (number >= low && number <= high && (!isWhole || Number.isInteger(number))) return number;
  const kind = isWhole ? "an integer" : "a number";
  throw new UsageError(`--${flag} must be ${kind} from ${low} to ${high}; got ${JSON.stringify(text)}`);
}

function seedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new UsageError(`--seed must be a non-negative integer; got ${JSON.stringify(text)}`);
}
