/**
 * A plan: what a user wants to know about, in his words and units. world-of-plan.ts turns it into a world.
 *
 * One key is asked; its limit, and everything its fate depends on, is here.
 */
import type { FaultKind, WorldOptions } from "@sluice/sim";

export type Shape = "even" | "one" | "burst" | "steady" | "herd";
export type Mode = "counters" | "denials" | "both";
export type Attack = "none" | "even-spread";
export type Script = WorldOptions["script"];

/** What goes wrong: kinds that strike by chance, and one script that strikes by the clock. */
export interface FaultPlan {
  readonly kinds: readonly FaultKind[];
  readonly script: Script;
  /** As it was asked for. */
  readonly text: string;
}

export interface Plan {
  readonly regions: number;
  /** In each region. */
  readonly processes: number;
  readonly limit: number;
  readonly duration: number;
  /** What is asked for by all regions together, as a multiple of the limit. */
  readonly load: number;
  readonly shape: Shape;
  readonly mode: Mode;
  readonly flush: number;
  readonly publish: number;
  readonly import: number;
  /** Null: by the number of live regions. */
  readonly floor: number | null;
  readonly "global-min": number;
  readonly "origin-rtt": number;
  readonly "global-rtt": number;
  readonly faults: FaultPlan;
  readonly "fault-every": number;
  readonly windows: number;
  readonly seed: number;
  readonly attack: Attack;
}

export type PlanName = keyof Plan;

/** Whether regions hear of each other's counts at all. */
export function isConverging({ regions, mode, duration, "global-min": minMs }: Plan): boolean {
  return regions > 1 && mode !== "denials" && duration >= minMs;
}

/** Whether regions tell each other of denials. */
export function hasDenialChannel({ regions, mode, duration, "global-min": minMs }: Plan): boolean {
  return regions > 1 && mode !== "counters" && duration >= minMs;
}

/** Requests that the whole plan makes, about. */
export function requestsOf({ load, limit, windows }: Plan): number {
  return Math.ceil(load * limit * windows);
}
