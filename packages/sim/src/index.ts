/** The simulator: worlds of limiters on simulated stores and networks, from a seed, and a checker of what must hold. */
export { ERROR_BUDGET_DEFAULT } from "../core/bounds.ts";
export { publishFloor } from "../global/floor.ts";
export { freshnessMs } from "../origin/freshness.ts";
export {
  add,
  type CampaignOptions,
  type CampaignTotals,
  type CorpusWorld,
  faultsOf,
  noTotals,
  runCampaign,
  tableOf,
  whole,
} from "./campaign.ts";
export { Checker } from "./checker/checker.ts";
export { DELAY_WORST, type Horizons, horizonsOf, isOriginFar, ROUND_WORST } from "./checker/horizons.ts";
export { MARK_NAMES, MARKS, type Mark, type MarkCounts } from "./checker/marks.ts";
export { drawOptions } from "./draw-options.ts";
export { FAULT_KINDS, type FaultKind } from "./fault-kinds.ts";
export type { FaultCounts } from "./faults.ts";
export { FEATURES, featured } from "./features.ts";
export type { HistoryEvent, HistoryLine, WorldEvent } from "./history.ts";
export { type IsolationOutcome, runIsolation } from "./isolation.ts";
export type { Feature, Traffic, TrafficShape, WorldKey, WorldOptions } from "./options.ts";
export { describeFailure, reduce } from "./reduction.ts";
export { runScenario, SCENARIOS, type Scenario, type ScenarioOutcome } from "./scenarios.ts";
export type { StoreLoad } from "./sim-origin.ts";
export { type RunOptions, runWorld, type WorldReport } from "./world.ts";
