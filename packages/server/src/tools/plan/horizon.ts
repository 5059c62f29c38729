/** How long news travels in a plan: the terms of docs/guarantees.md, from the simulator's own arithmetic. */
import {
  DELAY_WORST,
  ERROR_BUDGET_DEFAULT,
  freshnessMs,
  horizonsOf,
  isOriginFar,
  publishFloor,
  ROUND_WORST,
} from "@sluice/sim";
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

/** The denial channel writes within a second and reads every ten (global/global-layer.ts). */
const DENIALS_WRITE_MS = 1_000;
const DENIALS_IMPORT_MS = 10_000;

export function horizonOf(plan: Plan): Horizon {
  const world = worldOf(plan);
  const { regionalMs, globalMs, healMs } = horizonsOf(world);
  const freshMs = freshnessMs(plan.duration);
  const { kinds, script } = plan.faults;
  const countsMs = isConverging(plan) ? globalMs + regionalMs : regionalMs;
  const denialRoundsMs = ROUND_WORST * (DENIALS_WRITE_MS + DENIALS_IMPORT_MS);
  const denialsMs = hasDenialChannel(plan) ? denialRoundsMs + 2 * DELAY_WORST * plan["global-rtt"] + regionalMs : 0;
  // Reads from an origin far away come too late and open breakers: what is accepted last may have to wait for one.
  const isTroubled = kinds.length > 0 || script !== "none" || isOriginFar(world);
  const heardMs = Math.max(countsMs, denialsMs);
  return {
    regionalMs: regionalMs + freshMs,
    globalMs: globalMs + freshMs,
    freshnessMs: freshMs,
    floor: plan.floor ?? publishFloor(Math.max(2, plan.regions), ERROR_BUDGET_DEFAULT),
    convergedMs: heardMs + freshMs + (isTroubled ? healMs : 0),
  };
}
