/** The simulator: worlds of limiters on simulated stores and networks, from a seed, and a checker of what must hold. */

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
} from "./campaign/campaign.ts";
export { type IsolationOutcome, runIsolation } from "./campaign/isolation.ts";
export { describeFailure, reduce } from "./campaign/reduction.ts";
export { runScenario, SCENARIOS, type Scenario, type ScenarioOutcome } from "./campaign/scenarios.ts";
export { Checker } from "./checker/checker.ts";
export { DELAY_WORST, type Horizons, horizonsOf, isOriginFar, ROUND_WORST } from "./checker/horizons.ts";
export { MARK_NAMES, MARKS, type Mark, type MarkCounts } from "./checker/marks.ts";
export { FAULT_KINDS, type FaultKind } from "./model/fault-kinds.ts";
export type { HistoryEvent, HistoryLine, WorldEvent } from "./model/history.ts";
export { ERROR_BUDGET_DEFAULT, freshnessMs, publishFloor } from "./model/internals.ts";
export type { Feature, Traffic, TrafficShape, WorldKey, WorldOptions } from "./model/options.ts";
export { drawOptions } from "./world/draw-options.ts";
export type { FaultCounts } from "./world/faults.ts";
export { FEATURES, featured } from "./world/features.ts";
export type { StoreLoad } from "./world/sim-origin.ts";
export { type RunOptions, runWorld, type WorldReport } from "./world/world.ts";
