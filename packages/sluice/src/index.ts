/** Sluice: a rate limiter that decides in memory and converges everywhere else. */
export type { Clock, Random, Timers } from "./core/clock.ts";
export type { Duration } from "./core/duration.ts";
export { type ErrorCode, SluiceError } from "./core/errors.ts";
export type { LatencySummary } from "./core/latency.ts";
export type { DecisionEvent, GlobalEvent, ImportEvent, OriginEvent, Trace, TraceEvent } from "./core/trace.ts";
export type { BatchDecision, Charge, ChargesDecision, Decision, Reason, Source } from "./engine/decision.ts";
export type { WhenFull } from "./engine/engine.ts";
export type { CellInspection, Inspection } from "./engine/inspection.ts";
export type { Key } from "./engine/key.ts";
export type {
  CounterRow,
  Counters,
  CountersHealth,
  DenialPage,
  DenialRow,
  Denials,
  DeniedCell,
  ImportedCell,
  ImportPage,
  Registration,
} from "./global/counters.ts";
export type { GlobalMode } from "./global/global-layer.ts";
export type { OverAdmission } from "./global/over-admission.ts";
export type { EventListener, Happening, LimiterEvent } from "./limiter/events.ts";
export {
  Limiter,
  type ReadyOptions,
  type Rule,
  type RuleOptions,
  type RuleRequest,
  type RuleTake,
  type TakeOptions,
} from "./limiter/limiter.ts";
export {
  type MemoryOriginOptions,
  type MemoryStoreOptions,
  memoryCounters,
  memoryOrigin,
  originHost,
  sharedOrigin,
} from "./limiter/memory-stores.ts";
export type { LimiterOptions } from "./limiter/options.ts";
export type { InspectRequest, KeyRequest, LimitRequest } from "./limiter/request.ts";
export type { Reservation, ReserveOptions, Settlement } from "./limiter/reservation.ts";
export type { CloseReport } from "./limiter/stack.ts";
export type { DenialStats, GlobalStats, OriginStats, ReservationStats, Stats } from "./limiter/stats.ts";
export type {
  Free,
  FreeCode,
  Freed,
  FreedItem,
  FreeVerb,
  Held,
  HeldItem,
  Hold,
  HoldCode,
  HoldItem,
  KeyHolds,
  NotDone,
} from "./origin/hold.ts";
export type {
  Admit,
  AdmitRequest,
  Admitted,
  CellName,
  ConnectionEvent,
  Origin,
  OriginCount,
  OriginHealth,
  Raise,
  Read,
} from "./origin/origin.ts";
export type { MessageChannel, OriginHost, OriginHostStats } from "./origin/shared-origin.ts";
