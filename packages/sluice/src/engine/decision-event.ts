/** A decision as an event of a history: what it rests on, told before its cost is counted. */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { DecisionEvent } from "../core/trace.ts";
import { type CellTable, NONE } from "./cell-table.ts";
import type { Decision } from "./decision.ts";

/** The parts of the current cell that a decision rests on: taken before anything is claimed or counted for it. */
export interface Basis {
  readonly own: number;
  readonly others: number;
  readonly foreign: number;
}

export function basisOf(table: CellTable, slot: Slot, sequence: Sequence): Basis {
  if (slot === NONE) return { own: 0, others: 0, foreign: 0 };
  return {
    own: table.own(slot, sequence),
    others: table.others(slot, sequence),
    foreign: table.foreign(slot, sequence),
  };
}

/** Where and when it was decided. */
export interface DecisionPlace {
  readonly key: string;
  readonly writer: string;
  readonly sequence: Sequence;
  readonly durationMs: DurationMs;
  readonly wallMs: number;
  readonly monoMs: number;
  readonly arrivedMs: number;
  /** The view of the previous cell. */
  readonly previous: number;
  readonly cost: number;
  readonly isCounted: boolean;
  readonly batch: number;
  readonly call: number;
}

export function decisionEvent(place: DecisionPlace, basis: Basis, decision: Decision): DecisionEvent {
  const { limit, success, reason, source, degraded, current } = decision;
  return { kind: "decision", ...place, ...basis, limit, success, reason, source, degraded, effective: current };
}
