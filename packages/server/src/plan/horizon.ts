/** How long news travels in a plan: the terms of docs/guarantees.md, from the simulator's own arithmetic. */
import { freshnessMs, horizonsOf } from "sluice/sim";
import { hasDenialChannel, isConverging, type Plan } from "./plan.ts";
import { worldOf } from "./world-of-plan.ts";

export interface Horizon {
  /** H_r: until all processes of a region that ask have heard of an accept. */
  readonly regionalMs: number;
  /** H_g: until all regions have. */
  readonly globalMs: number;
  readonly freshnessMs: number;
  /** The part of the limit that each other region may keep to itself. */
  readonly floor: number;
  /** Until no view changes any more, after the last accept, the last fault and, where denials are told, the last denial. */
  readonly convergedMs: number;
}

/** What the library does where no floor is given: half of an error budget of 0.02 is spent on it (global/floor.ts). */
const BUDGET_HALF = 0.01;

/** The denial channel writes within a second and reads every ten (global/global-layer.ts); rounds are late as in H_g. */
const DENIAL_ROUNDS_MS = 2.2 * (1_000 + 10_000);
/** A message takes up to one and a half times its mean. */
const DELAY_WORST = 1.5;

export function horizonOf(plan: Plan): Horizon {
  const { regionalMs, globalMs, healMs } = horizonsOf(worldOf(plan));
  const freshMs = freshnessMs(plan.duration);
  const { kinds, script } = plan.faults;
  const countsMs = isConverging(plan) ? globalMs + regionalMs : regionalMs;
  const denialsMs = hasDenialChannel(plan) ? DENIAL_ROUNDS_MS + 2 * DELAY_WORST * plan["global-rtt"] + regionalMs : 0;
  const heardMs = Math.max(countsMs, denialsMs);
  const others = Math.max(1, plan.regions - 1);
  return {
    regionalMs: regionalMs + freshMs,
    globalMs: globalMs + freshMs,
    freshnessMs: freshMs,
    floor: plan.floor ?? Math.min(1 / plan.regions, BUDGET_HALF / others),
    convergedMs: heardMs + freshMs + (kinds.length > 0 || script !== "none" ? healMs : 0),
  };
}
