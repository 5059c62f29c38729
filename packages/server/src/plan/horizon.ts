/** How long news travels in a plan: the terms of docs/guarantees.md, from the simulator's own arithmetic. */
import { freshnessMs, horizonsOf } from "sluice/sim";
import { isConverging, type Plan } from "./plan.ts";
import { worldOf } from "./world-of-plan.ts";

export interface Horizon {
  /** H_r: until all processes of a region that ask have heard of an accept. */
  readonly regionalMs: number;
  /** H_g: until all regions have. */
  readonly globalMs: number;
  readonly freshnessMs: number;
  /** The part of the limit that each other region may keep to itself. */
  readonly floor: number;
  /** Until all views agree, after the last accept and the last fault. */
  readonly convergedMs: number;
}

/** What the library does where no floor is given: half of an error budget of 0.02 is spent on it (global/floor.ts). */
const BUDGET_HALF = 0.01;

export function horizonOf(plan: Plan): Horizon {
  const { regionalMs, globalMs, healMs } = horizonsOf(worldOf(plan));
  const freshMs = freshnessMs(plan.duration);
  const { kinds, script } = plan.faults;
  const heardMs = isConverging(plan) ? globalMs + regionalMs : regionalMs;
  const others = Math.max(1, plan.regions - 1);
  return {
    regionalMs: regionalMs + freshMs,
    globalMs: globalMs + freshMs,
    freshnessMs: freshMs,
    floor: plan.floor ?? Math.min(1 / plan.regions, BUDGET_HALF / others),
    convergedMs: heardMs + freshMs + (kinds.length > 0 || script !== "none" ? healMs : 0),
  };
}
