/** What the runs of Stryker found, and docs/mutation.md made of it. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, runInOrder } from "../steps.mjs";

export const FOLDERS = ["core", "engine", "origin", "global"];
/** Merging, estimating and encoding: nothing may survive there. */
const CLEAN = [
  "engine/key.ts",
  "engine/key-hash.ts",
  "engine/sequence.ts",
  "engine/sliding-window.ts",
  "engine/cell-table.ts",
  "origin/cell-merge.ts",
  "global/import.ts",
];
const SCORE_MIN = 85;

/**
 * @typedef {object} Mutant
 * @property {"Killed" | "Timeout" | "Survived" | "NoCoverage" | "Ignored" | "RuntimeError" | "CompileError"} status
 * @property {string} [statusReason]
 * @property {string} mutatorName
 * @property {{ start: { line: number } }} location
 *
 * @typedef {object} Line
 * @property {string} file
 * @property {number} killed
 * @property {number} survived
 * @property {Mutant[]} ignored
 */

/** @returns {Line[]} */
function readLines() {
  return FOLDERS.flatMap((folder) => {
    const path = join(root, `node_modules/.cache/mutation-${folder}.json`);
    if (!existsSync(path)) return [];
    const report = JSON.parse(readFileSync(path, "utf8"));
    const files = /** @type {[string, { mutants: Mutant[] }][]} */ (Object.entries(report.files));
    return files.map(([path, { mutants }]) => {
      /** @param {Mutant["status"][]} statuses */
      const of = (...statuses) => mutants.filter(({ status }) => statuses.includes(status));
      return {
        file: path.replace("packages/sluice/src/", ""),
        killed: of("Killed", "Timeout").length,
        survived: of("Survived", "NoCoverage").length,
        ignored: of("Ignored"),
      };
    });
  });
}

/**
 * The files that no run has been through, or that have nothing to mutate: types alone.
 *
 * @param {readonly Line[]} lines
 */
function unmeasured(lines) {
  const isSkipped = /[.]test[.]ts$|-conformance[.]ts$|^shared-/;
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, "packages/sluice/src", folder))
      .filter((name) => name.endsWith(".ts") && !isSkipped.test(name))
      .map((name) => `${folder}/${name}`),
  ).filter((file) => !lines.some((line) => line.file === file));
}

/** @param {{ killed: number, survived: number }} line */
function scoreOf({ killed, survived }) {
  return killed + survived === 0 ? 100 : (100 * killed) / (killed + survived);
}

/** @param {readonly Line[]} lines */
function totalOf(lines) {
  const sum = (/** @type {"killed" | "survived"} */ field) => lines.reduce((total, line) => total + line[field], 0);
  return { killed: sum("killed"), survived: sum("survived") };
}

/** @param {readonly Line[]} lines */
function pageOf(lines) {
  const total = totalOf(lines);
  const missing = unmeasured(lines).map((file) => `\`${file}\``);
  const rows = [{ file: "all", ...total }, ...lines.filter((line) => line.killed + line.survived > 0)].map(
    ({ file, killed, survived }) =>
      `| ${file} | ${killed} | ${survived} | ${scoreOf({ killed, survived }).toFixed(1)} |`,
  );
  const equivalents = lines.flatMap(({ file, ignored }) =>
    ignored.map(
      ({ mutatorName, location, statusReason }) =>
        `| ${file}:${location.start.line} | ${mutatorName} | ${statusReason?.replaceAll("|", "\\|")} |`,
    ),
  );
  return `# Mutation testing

Stryker changes the source, one small change (a mutant) at a time, and the tests must fail. Mutated are the core, the engine and
the two layers (\`packages/sluice/src/{core,engine,origin,global}\`), without drivers; they are tested by the suites beside the
source, the suites of the protocol and a few small worlds of the simulator, in one process that switches from mutant to mutant
([runner.mjs](../scripts/mutation/runner.mjs)). A mutant that makes a test run for ever counts as killed; one that no test
reaches, as survived.

Written by \`npm run lab -- mutation\`. The aim: ${SCORE_MIN} of 100 over all, and no survivor in merging, estimating and
encoding (${CLEAN.map((file) => `\`${file}\``).join(", ")}) but those proven to change nothing.

| file | killed | survived | score |
| --- | ---: | ---: | ---: |
${rows.join("\n")}

${missing.length > 0 ? `Not measured yet, or without anything to change: ${missing.join(", ")}.` : "Nothing is left out."}

## Mutants that change nothing

Named in the source with the reason, and not counted. Stryker leaves out all mutants of one kind on a line: where only some of
them change nothing, the others were killed in a run without that line.

| where | mutant | why nothing changes |
| --- | --- | --- |
${equivalents.join("\n")}
`;
}

/** The names that `--only` may have: folders, and files such as `engine/batch.ts`. */
export function mutable() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, "packages/sluice/src", folder))
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => `${folder}/${name}`),
  );
  return [...FOLDERS, ...files];
}

/** From the last run of every folder. */
export async function writePage() {
  writeFileSync(join(root, "docs/mutation.md"), pageOf(readLines()));
  await runInOrder([{ name: "format", command: "biome format --write docs/mutation.md" }]);
}

/** The result of the last runs, and what is wrong with it. */
export function summarize() {
  const lines = readLines();
  const { killed, survived } = totalOf(lines);
  const score = scoreOf({ killed, survived });
  const unclean = lines.filter(({ file, survived: left }) => CLEAN.includes(file) && left > 0).map(({ file }) => file);
  const problems = [
    ...(score < SCORE_MIN ? [`the score is ${score.toFixed(1)}, and must be at least ${SCORE_MIN}`] : []),
    ...(unclean.length > 0 ? [`survivors in ${unclean.join(", ")}`] : []),
  ];
  return { mutants: killed + survived, survived, score, problems };
}
