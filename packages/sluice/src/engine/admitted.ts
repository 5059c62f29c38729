/**
 * Records an allow that a call to the origin ended with: admitted by the origin, or given up and allowed as degraded.
 *
 * Invariant: the cost is counted in the cell, and under the writer id, that the call was sent with. The window may have ended since; then
 * that cell is the previous one, and the answer is of the window that is current now.
 *
 * It does not judge: the origin did, or nobody could (origin/admission.ts).
 */
import type { Sequence, Slot } from "../core/brands.ts";
import { type Decision, decision, type Source } from "./decision.ts";
import type { Engine } from "./engine.ts";
import type { Key } from "./key.ts";
import type { Layers } from "./layers.ts";
import { sequenceAt, windowEndMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";

/** What a call ended with for one of its requests. */
export interface Admission {
  readonly key: Key;
  readonly slot: Slot;
  /** The window that the call was sent for. */
  readonly sequence: Sequence;
  readonly call: number;
  readonly limit: number;
  readonly cost: number;
  readonly arrivedMs: number;
  /** "local": the call was given up. */
  readonly source: Source;
  /** The call was given up, or sent before the counts of the other regions had arrived. */
  readonly isDegraded: boolean;
}

export function recordAdmitted(engine: Engine, layers: Layers, admission: Admission, nowMs: number): Decision {
  const { table, tally } = engine;
  const { key, slot, sequence: at, call, limit, cost, arrivedMs, source, isDegraded } = admission;
  const { durationMs } = key;
  const basis = layers.basis(slot, at);
  const previous = table.view(slot, (at - 1) as Sequence);
  table.acceptAt(slot, at, cost, limit);
  const sequence = sequenceAt(nowMs, durationMs);
  const endMs = windowEndMs(sequence, durationMs);
  const share = shareOf(engine, slot, sequence, endMs - nowMs);
  const effective = table.view(slot, sequence) + share;
  tally.add(TALLY.allowed);
  if (isDegraded) tally.add(TALLY.degraded);
  // A batch may have counted beside the call, so the window can hold more than the origin knew.
  const remaining = Math.max(0, limit - effective);
  const answer = decision(true, limit, remaining, endMs, effective, "allowed", source, isDegraded, 0);
  layers.admitted({ key, sequence: at, wallMs: nowMs, arrivedMs, cost, previous, call }, slot, basis, answer);
  return answer;
}

function shareOf({ table }: Engine, slot: Slot, sequence: Sequence, leftMs: number): number {
  return share(table.view(slot, (sequence - 1) as Sequence), leftMs, table.durationMs(slot));
}
