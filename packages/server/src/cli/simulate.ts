/** `sluice simulate`: rehearses a plan in the simulator and reports what would happen. */
import { closeSync, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { Failure } from "../input/failure.ts";
import { InputError, shown } from "../input/input-error.ts";
import type { Console } from "../terminal/console.ts";
import { FIELDS } from "../tools/plan/fields.ts";
import { Pace } from "../tools/plan/pace.ts";
import type { Mode, Plan } from "../tools/plan/plan.ts";
import { readPlanFile } from "../tools/plan/plan-file.ts";
import { isGiven, type PlanInput, readPlan } from "../tools/plan/read-plan.ts";
import { LEAD_MS, type Outcome, rehearse, worldTimeOf } from "../tools/plan/rehearsal.ts";
import { comparisonText } from "../tools/report/comparison.ts";
import { htmlReport } from "../tools/report/html-report.ts";
import { jsonReport } from "../tools/report/json-report.ts";
import { textReport } from "../tools/report/text-report.ts";

interface Output {
  readonly isJson: boolean;
  readonly html: string | undefined;
}

/** Answers the exit code: 0, 1 where a promise did not hold, or that of the signal that ended it. */
export function simulateCommand(console: Console, exit: (code: number) => void): Command {
  const command = new Command("simulate").description(
    "Simulate a plan: see how limits behave under a given load and given faults. Times are milliseconds, or a number with a unit: 50ms, 10s, 5m, 1h.",
  );
  for (const { name, value, help, rule, initialText } of FIELDS) {
    command.option(`--${name} ${value}`, `${help} (${rule}; default ${initialText})`);
  }
  return command
    .option("--file <path>", "a plan in YAML, with the same names; flags override it")
    .option("--json", "print the report as JSON")
    .option("--html <path>", "also write the report as an HTML page")
    .action(async (options: Record<string, unknown>) => {
      const { json, html, file, ...flags } = namesOf(options);
      const output = { isJson: json === true, html: html as string | undefined };
      const given = givenOf(flags, file as string | undefined);
      const plans = plansOf(readPlan(given), given);
      if (output.html !== undefined) checkWritable(output.html);
      exit(await simulate(plans, output, console));
    });
}

/** commander gives `--global-min` as `globalMin`. */
function namesOf(options: Record<string, unknown>): Record<string, unknown> {
  const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [dashed(name), value]));
}

function givenOf(flags: Record<string, unknown>, path: string | undefined): PlanInput {
  const given = { flags: new Map(Object.entries(flags)) };
  return path === undefined ? given : { ...given, file: { path, values: readPlanFile(path) } };
}

/** An attack is shown by the mode that it defeats and the default one, unless a mode was chosen. */
function plansOf(plan: Plan, given: PlanInput): Plan[] {
  if (plan.attack === "none" || isGiven("mode", given)) return [plan];
  const modes: readonly Mode[] = ["denials", "counters"];
  return modes.map((mode) => ({ ...plan, mode }));
}

async function simulate(plans: readonly Plan[], { isJson, html }: Output, console: Console): Promise<number> {
  let stoppedWith: number | undefined;
  console.onStop((code) => {
    stoppedWith = code;
  });
  const pace = new Pace({
    nowMs: console.nowMs,
    report: console.progress,
    notice: console.notice,
    isStopped: () => stoppedWith !== undefined,
    totalMs: plans.reduce((sum, plan) => sum + worldTimeOf(plan), 0),
    leadMs: LEAD_MS,
    rhythmMs: Math.max(0, ...plans.map(({ shape, duration }) => (shape === "herd" ? duration : 0))),
    isTerminal: console.isTerminal,
  });
  const outcomes: Outcome[] = [];
  for (const plan of plans) {
    if (stoppedWith === undefined) outcomes.push(await rehearse(plan, pace));
  }
  pace.done();
  console.out(isJson ? jsonReport(outcomes) : textOf(outcomes));
  if (html !== undefined) {
    writePage(html, htmlReport(outcomes));
    console.notice(`wrote ${html}`);
  }
  if (outcomes.length < plans.length) {
    const [shownMode, ...left] = plans.map(({ mode }) => mode);
    console.notice(`stopped before mode ${left.join(", ")} was simulated: this report covers only mode ${shownMode}`);
  }
  if (stoppedWith !== undefined) return stoppedWith;
  return outcomes.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

function textOf(outcomes: readonly Outcome[]): string {
  const last = textReport(outcomes.at(-1)!);
  return outcomes.length === 1 ? last : `${comparisonText(outcomes)}\n${last}`;
}

/** Before the run, not after it: a minute's work must not end at a closed door. */
function checkWritable(path: string): void {
  try {
    // A link that leads nowhere is there, and must stay.
    const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
    closeSync(openSync(path, "a"));
    if (isNew) rmSync(path);
  } catch (error) {
    throw new InputError(
      `--html must be a file that can be written; got ${shown(path)} (${codeOf(error)})`,
      "use a path in a folder that exists",
    );
  }
}

function writePage(path: string, page: string): void {
  try {
    writeFileSync(path, page);
  } catch (error) {
    throw new Failure(
      `the page could not be written to ${shown(path)} (${codeOf(error)})`,
      "the report is printed above",
    );
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "no access";
}
