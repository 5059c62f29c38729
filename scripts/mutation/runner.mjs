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

/** @typedef {{ id: string, suite: string, run: () => unknown, costMs: number }} Case */

/** What a test may cost of the processor, beyond ten times what it costs without a mutant: a promise may never settle. */
const COST_MAX_MS = 2_000;
const COST_FACTOR = 10;
/** A test that gives the event loop back is ended in its turn: the watchdog is for those that do not. */
const WATCHED_FACTOR = 2;

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
    const source = join(process.cwd(), "packages/sluice/src");
    const suites = suitesOf(folder)
      .flatMap((pattern) => matching(pattern))
      .filter((path) =>
        this.#mutated.some((file) => file.includes("*") || isFor(suiteOf(path), basename(file, ".ts"))),
      );
    const bundle = await rolldown({
      input: Object.fromEntries(suites.map((path) => [suiteOf(path), path])),
      platform: "node",
      external: (id) => !/^[./]|^(vitest|sluice)(\/|$)/.test(id),
      resolve: {
        alias: {
          vitest: join(process.cwd(), "scripts/mutation/suite.mjs"),
          "sluice/sim": join(source, "sim/index.ts"),
          sluice: join(source, "index.ts"),
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
        this.#cases.push({ id, suite, run, costMs: costs[id] ?? 0 });
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
      const beforeMs = usedMs();
      const failure = await failureOf(one, Number.POSITIVE_INFINITY);
      one.costMs = usedMs() - beforeMs;
      const result = { id: one.id, name: one.id, timeSpentMs: one.costMs };
      tests.push(
        failure === undefined
          ? { ...result, status: TestStatus.Success }
          : { ...result, status: TestStatus.Failed, failureMessage: String(failure) },
      );
    }
    state.currentTestId = undefined;
    this.#cases.sort((a, b) => a.costMs - b.costMs);
    writeFileSync(COSTS, JSON.stringify(Object.fromEntries(this.#cases.map(({ id, costMs }) => [id, costMs]))));
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
      const costMaxMs = COST_MAX_MS + COST_FACTOR * one.costMs;
      this.#watchdog.watch(activeMutant.id, WATCHED_FACTOR * costMaxMs);
      const failure = await failureOf(one, costMaxMs);
      this.#watchdog.rest();
      const isEndless = failure instanceof Hung || state.hitCount > state.hitLimit;
      state.activeMutant = undefined;
      state.hitCount = undefined;
      if (failure === undefined) continue;
      // What a module was loaded with stays: such a mutant has the process for itself.
      const isAlone = failure instanceof Hung || mutantActivation === "static";
      const after = isAlone ? undefined : await failureOf(one, Number.POSITIVE_INFINITY);
      if (after !== undefined) throw new Error(`${one.id} fails without its mutant, too: ${after}`);
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
 * @param {number} costMaxMs
 */
async function failureOf({ run }, costMaxMs) {
  const beforeMs = usedMs();
  let isOver = false;
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
    if (usedMs() - beforeMs > costMaxMs) return new Hung("the test does not end");
  }
  return ended;
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
