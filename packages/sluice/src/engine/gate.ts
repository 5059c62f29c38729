/**
 * The gate: how the regional layer has its say in a decision without the engine knowing about it.
 *
 * The engine asks only when the answer from memory would be "allow": counts only grow, so no read could turn a denial
 * into an allow. The states of a cell, for such a request (judge.ts has the rules, origin/regional-layer.ts the times):
 *
 * | state    | when                                                    | who decides                 | waits              | `degraded`                |
 * | -------- | ------------------------------------------------------- | --------------------------- | ------------------ | ------------------------- |
 * | cold     | the key has no slot, or its cells were never read       | memory and a read           | one read, at most  | if the read fails         |
 * | stale    | the last read or replay began too long ago              | memory and a read           | one read, at most  | if the read fails         |
 * | fresh    | both cells are young enough (origin/freshness.ts)       | memory                      | no                 | no                        |
 * | strict   | the key was denied within the last duration             | memory and a read that      | one read, at most  | if the read fails         |
 * |          |                                                         | began after that denial     |                    |                           |
 * | near     | the allow would leave little, and the origin is near    | memory and a read, then a   | one read and one   | if either fails           |
 * |          | (origin/near-limit.ts), however fresh                   | report of the cost          | report             |                           |
 * | degraded | not fresh, and the breaker is open                      | memory                      | no                 | yes                       |
 * | unread   | the other regions' counts were not read since the start | as in the rows above        | as above           | yes                       |
 *
 * For single requests with a cost, "a read" is a call in which the origin checks and counts them in one step, if it can (origin/admission.ts).
 * A read that is not answered within the read timeout has failed, and so has one from an origin that accepts no writes (origin/refresh.ts).
 * A denial from memory is final in every state: it waits for nothing and is never degraded. Without an origin there is no gate, and every
 * cell counts as fresh.
 */
import { SUM_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Source } from "./decision.ts";
import type { Key } from "./key.ts";

/**
 * - `proceed`: what memory holds is as young as the rules ask
 * - `read`: the origin must be read first
 * - `degraded`: it should be, but the origin is away: decide from memory, and say so
 */
export type Verdict = "proceed" | "read" | "degraded";

export interface Gate {
  /** Whether holds are kept at the origin, so that a request is denied because of them only after a look. */
  readonly canLook?: boolean;
  /** Whether the verdict on a slot's own window is "proceed", as far as that can be said at one go. */
  isSettled(slot: Slot, sequence: Sequence): boolean;
  /** `slot`: the key's, or NONE if memory does not suffice. */
  verdict(slot: Slot, sequence: Sequence, nowMs: number, durationMs: DurationMs): Verdict;
  /** Whether an allow that leaves `left` of its limit needs a read, however fresh memory is. */
  mustAsk(left: number, limit: number): boolean;
  /** Whether what a request waited for is of the window it is decided in, and not too old. */
  suffices(waited: Waited, sequence: Sequence, nowMs: number, durationMs: DurationMs): boolean;
  /** Cost was added to the slot; `left` is what its limit still has room for. */
  accepted(slot: Slot, left: number, limit: number, durationMs: DurationMs): void;
  /** The same of a charge, which may leave less than nothing. `isNews`: the key was within its limit before it. */
  charged(slot: Slot, left: number, limit: number, durationMs: DurationMs, isNews: boolean): void;
  /** The window was too full for this request. `slot`: its key's, or NONE. */
  denied(key: Key, slot: Slot): void;
}

/** What a read of the origin brought. */
export interface ReadOutcome {
  readonly isOk: boolean;
  /** Monotonic clock. */
  readonly beganMs: number;
  /** The sums of the two cells, for a key that has no slot (a peek makes none). */
  readonly sequence: Sequence;
  readonly current: number;
  readonly previous: number;
}

/**
 * What a request that had to wait is decided from. `origin`: a read. `local`: what memory held when the request arrived, for an item of
 * a batch that needed no read of its own; it counts like a read that began at the arrival.
 */
export interface Waited extends ReadOutcome {
  readonly source: Source;
  /** When the request arrived. Monotonic clock. */
  readonly arrivedMs: number;
  /** The cost of the living holds, if it was a look. `isLast`: the request does not look again. */
  readonly look?: { readonly cost: number; readonly isLast: boolean };
}

/**
 * The view of the cell at `sequence` in what was waited for. In the window after the one that was read, the current cell is unknown,
 * and held nothing when the read began.
 */
export function viewWaited({ sequence: known, current, previous }: Waited, sequence: number): number {
  return Math.min(SUM_MAX, sequence === known ? current : sequence === known - 1 ? previous : 0);
}
