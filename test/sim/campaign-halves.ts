/**
 * One half of the campaign: seeds of one parity, the corpus first. Whichever half ends last prints the
 * table of both and holds the totals to what was promised.
 *
 * A seed that fails is reduced, printed, and written into the corpus (test/sim/corpus.json) with its options: every later
 * run repeats it first. Commit it with the change that fixes it.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as sim from "@sluice/sim";
import { expect } from "vitest";
import { byLength, LENGTH } from "../rig/length.ts";
import { readCorpus, rememberFailure } from "./corpus.ts";
import { expectedMarks } from "./sometimes-page.ts";

/** Per half. A seed costs about a sixth of a second of one core. The lab runs as many as its hours take, in chunks of its own. */
const SEEDS = byLength({ fast: 2, short: 60, ci: 250, lab: 250 });
/** Of a world of the corpus, in simulated time. Two worlds of some hours take half of the time of all 26. */
const CORPUS_MAX_MS = byLength({
  fast: 3_600_000,
  short: Number.POSITIVE_INFINITY,
  ci: Number.POSITIVE_INFINITY,
  lab: Number.POSITIVE_INFINITY,
});
/** For a world that never ends: on a busy machine a half takes many times as long. */
export const HALF_TIMEOUT_MS = 1_800_000;
/** What both halves together must come to: about half of what a world has on average (0.18 cluster-hours and 507 faults, over 5,474 worlds). */
const WORLDS_MIN = 2 * SEEDS;
const HOURS_MIN = 0.075 * WORLDS_MIN;
const FAULTS_MIN = 250 * WORLDS_MIN;
const FAULTS_OF_KIND_MIN = WORLDS_MIN / 4;
const PROGRESS_EVERY_MS = 10_000;

export async function campaignHalf(half: 0 | 1): Promise<void> {
  const base = firstSeed();
  const seeds = Array.from({ length: SEEDS }, (_, i) => base + 2 * i + half);
  const corpus = readCorpus().filter(({ options }, i) => i % 2 === half && options.safetyMs <= CORPUS_MAX_MS);
  const totals = sim.noTotals();
  let toldAtMs = performance.now();
  console.log(`half ${half + 1}: ${SEEDS} fresh worlds, first seed ${base}; again: SLUICE_SIM_BASE=${base}`);
  const failure = await sim.runCampaign({
    seeds,
    corpus,
    onWorld: (report) => {
      sim.add(totals, report);
      if (performance.now() - toldAtMs < PROGRESS_EVERY_MS) return;
      toldAtMs = performance.now();
      console.log(`half ${half + 1}: ${totals.worlds} of ${SEEDS + corpus.length} worlds, from seed ${base}`);
    },
  });
  if (failure !== undefined) {
    const reduced = await sim.reduce(failure);
    rememberFailure({ ...failure, story: failure.problem ?? "" });
    expect.fail(sim.describeFailure(failure, reduced));
  }
  const both = together(half, totals);
  // The totals of a fast campaign state nothing: too few worlds for every kind of fault.
  if (both === undefined || LENGTH === "fast") return;
  hold(both);
}

/**
 * Other worlds for every commit, and the same ones for the same commit: each change meets new worlds, and a gate can be
 * repeated. SLUICE_SIM_BASE names another first seed; `now` takes the time, as does a tree without git.
 */
function firstSeed(): number {
  const given = process.env["SLUICE_SIM_BASE"];
  if (given !== undefined && given !== "now") return Number(given);

  const now = Math.floor(Date.now() / 60_000) * 2 ** 12;
  if (given === "now") return now;
  try {
    const head = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return Number.parseInt(head.slice(0, 8), 16);
  } catch {
    return now;
  }
}

function hold(totals: sim.CampaignTotals): void {
  console.log(`both halves, corpus included:\n${sim.tableOf(totals)}`);
  expect(totals.falseDenials).toBe(0);
  expect(totals.viewsAbove).toBe(0);
  expect(totals.worlds).toBeGreaterThanOrEqual(WORLDS_MIN);
  expect(totals.virtualMs / 3_600_000).toBeGreaterThanOrEqual(HOURS_MIN);
  expect(sim.faultsOf(totals)).toBeGreaterThanOrEqual(FAULTS_MIN);
  for (const kind of sim.FAULT_KINDS) expect(totals.faults[kind], kind).toBeGreaterThanOrEqual(FAULTS_OF_KIND_MIN);
  // Situations that are rare are for the lab, which has more worlds.
  const expected = expectedMarks(totals.worlds);
  expect(expected.length).toBeGreaterThan(0);
  for (const mark of expected) expect(totals.marks[mark], mark).toBeGreaterThan(0);
}

/** Leaves this half's totals for the other; answers both together if the other was first. Halves of one run share a parent. */
function together(half: 0 | 1, totals: sim.CampaignTotals): sim.CampaignTotals | undefined {
  const folder = join(tmpdir(), `sluice-sim-${process.ppid}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${half}.json`), JSON.stringify(totals));
  let other: sim.CampaignTotals;
  try {
    other = JSON.parse(readFileSync(join(folder, `${1 - half}.json`), "utf8")) as sim.CampaignTotals;
  } catch {
    console.log(`half ${half + 1}:\n${sim.tableOf(totals)}`);
    return undefined;
  }
  rmSync(folder, { recursive: true });
  const both = sim.noTotals();
  sim.add(both, totals);
  sim.add(both, other);
  return both;
}
