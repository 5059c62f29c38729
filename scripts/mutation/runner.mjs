/**
 * A test runner for Stryker that loads the suites once and then switches mutants in one process. A mutant costs the tests that
 * reach it, some milliseconds; a new worker for each, as Stryker's own runner for Vitest has it, costs half a second to begin with.
 *
 * Only mutants of what runs when a module is loaded need a new process, which Stryker sees to. Tests share the process, so a
 * test that a mutant made fail is run once more without: if it fails still, something was left behind, and that is an error.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { commonTokens, declareClassPlugin, PluginKind, tokens } from "@stryker-mutator/api/plugin";
import { DryRunStatus, MutantRunStatus, TestStatus } from "@stryker-mutator/api/test-runner";
import { rolldown } from "rolldown";
import { isFor, suitesOf } from "./suites.mjs";
import { usedMs, Watchdog } from "./watchdog.mjs";

/**
 * What a test takes: of the processor, and turns of the event loop.
 *
 * @typedef {{ costMs: number, turns: number }} Cost
 * @typedef {Cost & { id: string, suite: string, run: () => unknown }} Case
 */

/** What a test may take with a mutant, beyond ten times what it takes without: it may run for ever, or a promise never settle. */
const COST_MAX = { costMs: 400, turns: 2_000 };
const COST_FACTOR = 10;
const UNBOUNDED = { costMs: Number.POSITIVE_INFINITY, turns: Number.POSITIVE_INFINITY };
/** A test that gives the event loop back is ended in its turn: the watchdog is for those that do not. */
const WATCHED_FACTOR = 1.5;

/** In the sandbox: the suites, and what each test costs without a mutant, for the processes that Stryker starts later. */
const BUNDLE = "mutant-suites";
const COSTS = join(BUNDLE, "costs.json");
const ENDED = join(BUNDLE, "ended-");

class Hung extends Error {}

/** Where instrumented code looks, and where suite.mjs leaves the tests of the suite that is being loaded. */
const world = /** @type {any} */ (globalThis);
world.__stryker__ ??= {};
const state = world.__stryker__;

class Runner {
  static inject = tokens(commonTokens.options);
  /** @type {readonly string[]} */
  #mutated;
  /** @type {Case[]} */
  #cases = [];
  #watchdog = new Watchdog(ENDED);

  /** @param {import("@stryker-mutator/api/core").StrykerOptions} options */
  constructor({ mutate }) {
    this.#mutated = mutate;
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  /** Bundles the suites, unless an earlier process of this run has. */
  async init() {
    if (existsSync(COSTS)) return;
    const folder = process.env["SLUICE_MUTANTS"] ?? "engine";
    const packages = join(process.cwd(), "packages");
    const suites = suitesOf(folder)
      .flatMap((pattern) => matching(pattern))
      .filter((path) =>
        this.#mutated.some((file) => file.includes("*") || isFor(suiteOf(path), basename(file, ".ts"))),
      );
    const bundle = await rolldown({
      input: Object.fromEntries(suites.map((path) => [suiteOf(path), path])),
      platform: "node",
      external: (id) => !/^[./]|^(vitest|sluice|@sluice\/sim)(\/|$)/.test(id),
      resolve: {
        alias: {
          vitest: join(process.cwd(), "scripts/mutation/suite.mjs"),
          "@sluice/sim": join(packages, "sim/src/index.ts"),
          sluice: join(packages, "sluice/src/index.ts"),
        },
      },
      moduleTypes: { ".lua": "text" },
      logLevel: "silent",
    });
    await bundle.write({ dir: BUNDLE, format: "esm", entryFileNames: "[name].suite.mjs" });
    await bundle.close();
  }

  /** Once, and not before it is known which mutant is active: some change what runs when a module is loaded. */
  async #load() {
    if (this.#cases.length > 0) return;
    const costs = existsSync(COSTS) ? JSON.parse(readFileSync(COSTS, "utf8")) : {};
    for (const fileName of readdirSync(BUNDLE).filter((name) => name.endsWith(".suite.mjs"))) {
      world.__collected__ = [];
      await import(pathToFileURL(join(process.cwd(), BUNDLE, fileName)).href);
      const suite = basename(fileName, ".suite.mjs");
      for (const { name, run } of world.__collected__) {
        const id = `${suite} › ${name}`;
        this.#cases.push({ id, suite, run, costMs: 0, turns: 0, ...costs[id] });
      }
    }
    this.#cases.sort((a, b) => a.costMs - b.costMs);
  }

  /** @returns {Promise<import("@stryker-mutator/api/test-runner").DryRunResult>} */
  async dryRun() {
    await this.#load();
    /** @type {import("@stryker-mutator/api/test-runner").TestResult[]} */
    const tests = [];
    for (const one of this.#cases) {
      state.currentTestId = one.id;
      const { failure, costMs, turns } = await runOf(one, UNBOUNDED);
      Object.assign(one, { costMs, turns });
      const result = { id: one.id, name: one.id, timeSpentMs: one.costMs };
      tests.push(
        failure === undefined
          ? { ...result, status: TestStatus.Success }
          : { ...result, status: TestStatus.Failed, failureMessage: String(failure) },
      );
    }
    state.currentTestId = undefined;
    this.#cases.sort((a, b) => a.costMs - b.costMs);
    const costs = this.#cases.map(({ id, costMs, turns }) => [id, { costMs, turns }]);
    writeFileSync(COSTS, JSON.stringify(Object.fromEntries(costs)));
    return { status: DryRunStatus.Complete, tests, mutantCoverage: state.mutantCoverage };
  }

  /**
   * @param {import("@stryker-mutator/api/test-runner").MutantRunOptions} options
   * @returns {Promise<import("@stryker-mutator/api/test-runner").MutantRunResult>}
   */
  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const own = basename(activeMutant.fileName, ".ts");
    const isAsked = (/** @type {Case} */ { id, suite }) =>
      (testFilter === undefined || testFilter.includes(id)) && isFor(suite, own);
    if (this.#watchdog.hasEnded(activeMutant.id)) {
      return { status: MutantRunStatus.Timeout, reason: "a test does not give the event loop back" };
    }
    state.activeMutant = mutantActivation === "static" ? activeMutant.id : undefined;
    await this.#load();
    let nrOfTests = 0;
    for (const one of this.#cases.filter(isAsked)) {
      nrOfTests++;
      state.activeMutant = activeMutant.id;
      state.hitLimit = hitLimit;
      state.hitCount = hitLimit === undefined ? undefined : 0;
      const most = {
        costMs: COST_MAX.costMs + COST_FACTOR * one.costMs,
        turns: COST_MAX.turns + COST_FACTOR * one.turns,
      };
      this.#watchdog.watch(activeMutant.id, WATCHED_FACTOR * most.costMs);
      const { failure } = await runOf(one, most);
      this.#watchdog.rest();
      const isEndless = failure instanceof Hung || state.hitCount > state.hitLimit;
      state.activeMutant = undefined;
      state.hitCount = undefined;
      if (failure === undefined) continue;
      // What a module was loaded with stays: such a mutant has the process for itself.
      const isAlone = failure instanceof Hung || mutantActivation === "static";
      const after = isAlone ? undefined : (await runOf(one, UNBOUNDED)).failure;
      if (after !== undefined) throw new Error(`${one.id} fails even without its mutant: ${after}`);
      if (isEndless) return { status: MutantRunStatus.Timeout, reason: String(failure) };
      return { status: MutantRunStatus.Killed, killedBy: [one.id], failureMessage: String(failure), nrOfTests };
    }
    return { status: MutantRunStatus.Survived, nrOfTests };
  }
}

/**
 * Counted in the processor's time, not the clock's: a busy machine kills no mutant.
 *
 * @param {Case} one
 * @param {Cost} most
 * @returns {Promise<Cost & { failure: unknown }>}
 */
async function runOf({ run }, most) {
  const beforeMs = usedMs();
  let isOver = false;
  let turns = 0;
  const ended = Promise.resolve()
    .then(run)
    .then(
      () => undefined,
      (error) => error ?? new Error("nothing was thrown"),
    )
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await turn();
    turns++;
    const costMs = usedMs() - beforeMs;
    if (costMs > most.costMs || turns > most.turns)
      return { failure: new Hung("the test does not end"), costMs, turns };
  }
  return { failure: await ended, costMs: usedMs() - beforeMs, turns };
}

/** @param {string} path */
function suiteOf(path) {
  return basename(path, ".test.ts");
}

/** @param {string} pattern a path, with * in its last part */
function matching(pattern) {
  const folder = pattern.slice(0, pattern.lastIndexOf("/"));
  const [start = "", end = ""] = basename(pattern).split("*");
  return readdirSync(folder)
    .filter(
      (name) =>
        name.startsWith(start) && name.endsWith(end) && name.endsWith(".test.ts") && name !== "shared-origin.test.ts",
    )
    .map((name) => join(process.cwd(), folder, name));
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "sluice", Runner)];
