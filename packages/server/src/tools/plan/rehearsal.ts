/** Runs the world of a plan, and gathers what came of it. */
import { freshnessMs, horizonsOf, runWorld, type WorldReport } from "@sluice/sim";
import { lateness } from "./convergence-meter.ts";
import { horizonOf } from "./horizon.ts";
import type { Measured } from "./measured.ts";
import type { Pace } from "./pace.ts";
import type { Plan } from "./plan.ts";
import { WindowRecorder } from "./recorder.ts";
import { type Advice, adviceOn } from "./sizing.ts";
import { worldOf } from "./world-of-plan.ts";

/** What came of a plan, and what there is to say about it. */
export interface Outcome extends Measured {
  readonly advice: readonly Advice[];
}

/** Processes begin within a second; another one, and all have imported once. */
export const LEAD_MS = 2_000;
/** A peek at every process this often, for each process in the world: as fine as can be paid for. */
const PROBE_MS_PER_PROCESS = 1;
const PROBE_MIN_MS = 20;

/** World time of a whole run: the plan, healing, settling and closing, which are a few horizons each (packages/sim/src/world/world.ts). */
export function worldTimeOf(plan: Plan): number {
  const world = worldOf(plan);
  const { healMs, regionalMs, globalMs } = horizonsOf(world);
  const settleMs = 2 * regionalMs + Math.max(regionalMs, world.hasGlobal ? globalMs : 0);
  const callsMs = 3 * world.readTimeoutMs + 2 * world.timeoutMs;
  return LEAD_MS + world.safetyMs + 2 * healMs + settleMs + 2 * freshnessMs(plan.duration) + callsMs;
}

export async function rehearse(plan: Plan, pace: Pace): Promise<Outcome> {
  const recorder = new WindowRecorder(plan);
  let startMs: number | undefined;
  pace.next();
  const report = await runWorld(plan.seed, {
    options: worldOf(plan),
    leadMs: LEAD_MS,
    probeEveryMs: Math.max(PROBE_MIN_MS, plan.regions * plan.processes * PROBE_MS_PER_PROCESS),
    observe: (line) => {
      startMs ??= line.atMs;
      recorder.observe(line);
    },
    breathe: (atMs, events) => pace.breathe(atMs - (startMs ?? atMs), events),
  });
  return outcomeOf(plan, recorder, report);
}

function outcomeOf(plan: Plan, recorder: WindowRecorder, report: WorldReport): Outcome {
  const { limit, windows, duration } = plan;
  const figures = recorder.windows();
  const convergence = recorder.convergence.result();
  // A run that was ended early loaded its stores for that long only.
  const planMs = Math.max(1, Math.min(windows * duration, report.virtualMs - LEAD_MS));
  const rate = (count: number): number => (count * 1_000) / planMs;
  const { origin, global } = report.load;
  const convergencePromisedMs = Math.ceil(horizonOf(plan).convergedMs);
  const measured: Measured = {
    plan,
    isPartial: report.isPartial,
    problem: report.problem ?? lateness(convergence, convergencePromisedMs),
    // A request that was under way when the plan ended belongs to a window that the plan has not got.
    windows: figures.filter(({ fromMs }) => fromMs >= 0 && fromMs < windows * duration),
    timeline: { everyMs: recorder.timeline.everyMs, counts: recorder.timeline.counts },
    admittedOverLimit: Math.max(0, ...figures.map(({ admitted }) => admitted / limit)),
    falseDenials: figures.reduce((sum, { falseDenials }) => sum + falseDenials, 0),
    worstExcess: Math.max(0, report.worst.excess),
    bound: report.worst.bound,
    worstExcessDegraded: recorder.excessDegraded,
    convergenceMs: convergence?.ms,
    convergencePromisedMs,
    unheard: convergence?.unheard ?? 0,
    perSecond: {
      redisCommands: rate(origin.commands),
      redisCalls: rate(origin.calls),
      sqlStatements: rate(global.calls),
      sqlRows: rate(global.commands),
    },
    waits: {
      part: recorder.answered === 0 ? 0 : recorder.waited / recorder.answered,
      worstMs: recorder.waitedWorstMs,
    },
    faults: Object.fromEntries(Object.entries(report.faults).filter(([, count]) => count > 0)),
    virtualMs: report.virtualMs,
    events: report.events,
  };
  return { ...measured, advice: adviceOn(measured) };
}
