/** `npm run bench`: every contender in every case, then Markdown on standard output. */
import { readFile, writeFile } from "node:fs/promises";
import { HEADING } from "./endurance/page.ts";
import { FlagError, type Flags, parseFlags, usage } from "./flags.ts";
import { sectionOf, withSection } from "./page-section.ts";
import { report } from "./report.ts";
import { run } from "./run.ts";

const PAGE = new URL("../../docs/benchmarks.md", import.meta.url);

function flagsOrExit(): Flags {
  try {
    return parseFlags(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}\n`);
    process.exit(2);
  }
}

const flags = flagsOrExit();
if (flags.isHelp) {
  process.stdout.write(`${usage}\n`);
} else {
  const figures = await run(flags);
  const page = report(figures, flags, new Date());
  process.stdout.write(flags.isJson ? `${JSON.stringify(figures, null, 2)}\n` : page);
  if (flags.isWritten) {
    // The last section is made by the lab (endurance).
    const endurance = sectionOf(await readFile(PAGE, "utf8"), HEADING);
    await writeFile(PAGE, endurance === "" ? page : withSection(page, HEADING, endurance));
  }
}
