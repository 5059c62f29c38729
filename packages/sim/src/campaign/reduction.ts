/**
 * Makes a failing world smaller: switches one feature after another off, and keeps off what the failure does not need.
 *
 * Bounded: one pass over a list of features, each a run. A world with other options is another world, so what remains is a
 * smaller example, not a proof that every feature left is needed.
 */
import { FAULT_GROUPS, FAULT_KINDS, type FaultKind } from "../model/fault-kinds.ts";
import type { WorldOptions } from "../model/options.ts";
import { runWorld, type WorldReport } from "../world/world.ts";

type Change = (options: WorldOptions) => Partial<WorldOptions>;

const CHANGES: readonly Change[] = [
  () => ({ features: [] }),
  ...FAULT_GROUPS.map(
    (group: readonly FaultKind[]): Change =>
      (options) => ({
        faults: options.faults.filter((fault) => !group.includes(fault)),
      }),
  ),
  (options) => ({ traffic: { ...options.traffic, batches: 0, peeks: 0 } }),
  (options) => ({ traffic: { ...options.traffic, costMax: 1 } }),
  (options) => ({ traffic: { ...options.traffic, shape: "steady" } }),
  (options) => ({ keys: options.keys.slice(0, 1) }),
  () => ({ regions: 1 }),
  () => ({ processes: 1 }),
  ({ processes }) => ({ processes: Math.min(2, processes) }),
  () => ({ hasGlobal: false }),
  () => ({ globalMode: "counters" }),
  () => ({ cellsMax: 64 }),
  () => ({ admits: "none" }),
  () => ({ admits: "admit" }),
  (options) => ({ safetyMs: Math.ceil(options.safetyMs / 2) }),
  ...FAULT_KINDS.map(
    (fault): Change =>
      (options) => ({ faults: options.faults.filter((one) => one !== fault) }),
  ),
];

/** The smallest world found in which the seed still fails, with the report of its run. */
export async function reduce(failure: WorldReport): Promise<WorldReport> {
  let smallest = failure;
  for (const change of CHANGES) {
    const options = { ...smallest.options, ...change(smallest.options) };
    if (JSON.stringify(options) === JSON.stringify(smallest.options)) continue;
    const report = await runWorld(failure.seed, { options });
    if (report.problem !== undefined) smallest = report;
  }
  return smallest;
}

/** What a failure prints: the seed, the problem, how to see it again, whole and reduced, and the last events of the latter. */
export function describeFailure(failure: WorldReport, reduced: WorldReport): string {
  return [
    `seed ${failure.seed}: ${failure.problem}`,
    `replay: ${replayOf(failure)}`,
    `reduced: ${reduced.problem}`,
    `replay: ${replayOf(reduced)}`,
    "last events of the reduced run:",
    ...reduced.lastLines,
  ].join("\n");
}

/** Seed and options: a seed alone draws other options once drawing changes, and a world of the corpus has its own. */
function replayOf({ seed, options }: WorldReport): string {
  const quoted = JSON.stringify(options).replaceAll("'", String.raw`'\''`);
  return `SLUICE_SIM_SEED=${seed} SLUICE_SIM_OPTIONS='${quoted}' npx vitest run test/sim/campaign.test.ts`;
}
