/**
 * `npm run lab`: everything that needs a long time, one part after the other. See USAGE in arguments.ts.
 *
 * Ends with 0 if all parts are green, with 1 if one failed, with 2 if the arguments are wrong, with 130 after Ctrl-C.
 */
import { join } from "node:path";
import { runInOrder } from "../steps.mjs";
import { type LabArguments, parseArguments, USAGE } from "./arguments.ts";
import { type Part, UsageError } from "./part.ts";
import { timeText } from "./progress-line.ts";
import { writeRows } from "./report.ts";
import { root } from "./root.ts";
import { type Lab, runPart, stateName, stateToContinue } from "./run-part.ts";
import { type Source, sourceOf } from "./source.ts";
import { StateFolder } from "./state.ts";

/** Tests have other ones, in temporary folders. */
const STATE = process.env["SLUICE_LAB_STATE"] ?? join(root, ".lab");
const PAGE = process.env["SLUICE_LAB_PAGE"] ?? join(root, "docs/lab.md");
const OTHER_PARTS = process.env["SLUICE_LAB_PARTS"];

const { PARTS } =
  OTHER_PARTS === undefined
    ? await import("./parts.ts")
    : ((await import(OTHER_PARTS)) as { readonly PARTS: readonly Part[] });
const ORDER = PARTS.map(({ name }) => name);

function show({ parts, options }: LabArguments, lab: Pick<Lab, "source" | "state">): void {
  for (const part of parts) {
    const state = stateToContinue(part, options, lab);
    const chunks = Object.keys(state?.chunks ?? {}).length;
    const how =
      state === undefined
        ? ""
        : state.conclusion === undefined
          ? ` [interrupted, ${chunks} chunks done]`
          : ` [${state.conclusion.isGreen ? "done" : "failed"}]`;
    console.log(`${part.name.padEnd(16)}${part.summary}${how}`);
  }
}

/** Whether all parts are green; undefined after an interruption. */
async function runAll({ parts, options }: LabArguments, lab: Lab, source: Source): Promise<boolean | undefined> {
  let isGreen = true;
  for (const part of parts) {
    const outcome = await runPart(part, options, lab);
    if (outcome.kind === "interrupted") return undefined;
    const { conclusion, ranMs, wasDone } = outcome;
    for (const problem of conclusion.problems) console.error(`\n${problem}\n`);
    const word = conclusion.isGreen ? "ok  " : "FAIL";
    const when = wasDone ? "done before, --fresh runs it again" : timeText(ranMs);
    console.log(`${word}  ${part.name}: ${conclusion.length}; ${conclusion.figures} (${when})`);
    isGreen &&= conclusion.isGreen;
    if (wasDone || options.only.length > 0) continue;
    const row = {
      part: part.name,
      date: new Date().toISOString().slice(0, 10),
      commit: source.commit,
      length: `${conclusion.length} (${timeText(ranMs)})`,
      figures: conclusion.figures,
      verdict: conclusion.isGreen ? "held" : "**failed**",
    };
    writeRows(PAGE, [row], ORDER);
  }
  return isGreen;
}

async function main(): Promise<number> {
  const given = parseArguments(process.argv.slice(2), PARTS);
  if (given.mode === "help") {
    console.log(USAGE);
    return 0;
  }
  const source = sourceOf(root);
  const state = new StateFolder(STATE);
  if (given.mode === "list") {
    show(given, { source: source.hash, state });
    return 0;
  }
  // Before anything is run or forgotten: a wrong name after --only must cost nothing.
  for (const part of given.parts) part.begin(given.options);
  if (given.isFresh) for (const part of given.parts) state.forget(stateName(part, given.options));
  if (given.parts.some(({ isOfBuild }) => isOfBuild === true)) {
    if (!(await runInOrder([{ name: "build", command: "npm run build" }]))) return 1;
  }
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const lab: Lab = { root, source: source.hash, state, out: process.stdout, stop: stopping.signal };
  const isGreen = await runAll(given, lab, source);
  return isGreen === undefined ? 130 : isGreen ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`error: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
