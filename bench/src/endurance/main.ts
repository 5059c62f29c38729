/**
 * Half an hour of load with a fault every 30 s; with `--write` into docs/benchmarks.md. The lab runs it: `npm run lab -- endurance`.
 * Leaves a summary in the file that SLUICE_LAB_RESULT names.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { withSection } from "../page-section.ts";
import { enduranceSection, HEADING, verdictsOf } from "./page.ts";
import { endure } from "./run.ts";

const USAGE = `node --import tsx bench/src/endurance/main.ts [flags], or: npm run lab -- endurance

  --minutes N   how long (default 30)
  --rate N      requests per second (default 3000)
  --every N     seconds from one fault to the next (default 30)
  --json        figures instead of Markdown
  --write       the section also into docs/benchmarks.md
  --help        this text`;
const PAGE = new URL("../../../docs/benchmarks.md", import.meta.url);

function flagsOrExit() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "30" },
        rate: { type: "string", default: "3000" },
        every: { type: "string", default: "30" },
        json: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    const numberOf = (flag: "minutes" | "rate" | "every", low: number, high: number) => {
      const number = Number(values[flag]);
      if (number >= low && number <= high) return number;
      throw new Error(`--${flag} takes a number from ${low} to ${high}, not ${JSON.stringify(values[flag])}`);
    };
    const [minutes, rate] = [numberOf("minutes", 0.05, 1_440), numberOf("rate", 1, 100_000)];
    return { ...values, minutes, rate, everyMs: numberOf("every", 1, 3_600) * 1_000 };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    process.exit(2);
  }
}

const flags = flagsOrExit();
if (flags.help) {
  process.stdout.write(`${USAGE}\n`);
} else {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const options = { ...flags, stop: stopping.signal, log: (line: string) => process.stderr.write(`${line}\n`) };
  const run = await endure(options);
  const section = enduranceSection(run, options);
  process.stdout.write(flags.json ? `${JSON.stringify(run, null, 2)}\n` : `${section}\n`);
  if (flags.write) await writeFile(PAGE, withSection(await readFile(PAGE, "utf8"), HEADING, section));
  const missed = verdictsOf(run).flatMap(({ what, measured, isMet }) =>
    isMet === false ? [`${what}: ${measured}`] : [],
  );
  const result = process.env["SLUICE_LAB_RESULT"];
  if (result !== undefined) {
    const { load, faults, falseDenials, excess } = run;
    const [minutes, answered, p99Ms] = [load.elapsedMs / 60_000, load.answered, load.latencyMs.corrected.p99];
    await writeFile(result, JSON.stringify({ minutes, answered, faults, falseDenials, excess, p99Ms, missed }));
  }
  process.exitCode = missed.length > 0 ? 1 : 0;
}
