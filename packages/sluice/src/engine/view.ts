/**
 * The first step of a decision, view → judge → record: what memory holds for one request, in numbers.
 *
 * A view is a lower bound of what was accepted: every part of it is. Viewing changes nothing, and asks nobody.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import { type CellTable, NONE } from "./cell-table.ts";
import type { Source } from "./decision.ts";
import { viewWaited, type Waited } from "./gate.ts";
import type { HashedKey } from "./key-hash.ts";
import { sequenceAt, windowEndMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";

/** One validated request, its key hashed. */
export interface HashedRequest extends HashedKey {
  readonly limit: number;
  readonly cost: number;
}

/** A request with what was found for it. */
export interface View extends HashedRequest {
  /** The key's, or NONE. */
  readonly slot: Slot;
  readonly sequence: Sequence;
  readonly nowMs: number;
  /** The end of the current window. */
  readonly endMs: number;
  /** The counts of the two cells. */
  readonly current: number;
  readonly previous: number;
  /** The effective count without this request, and without the earlier items of its batch. */
  readonly before: number;
  /** The effective count with its cost, and with the earlier items of its cell that fit. */
  readonly effective: number;
  /** What the request waited for; null if it has just arrived. */
  readonly waited: Waited | null;
  readonly source: Source;
}

/** `ahead`: the cost of earlier items of the same cell and batch. */
export function viewOf(
  table: CellTable,
  request: HashedRequest,
  slot: Slot,
  nowMs: number,
  ahead: number,
  waited: Waited | null,
): View {
  const { durationMs } = request.key;
  const sequence = sequenceAt(nowMs, durationMs);
  const endMs = windowEndMs(sequence, durationMs);
  let current = 0;
  let previous = 0;
  if (slot !== NONE) {
    current = table.view(slot, sequence);
    previous = table.view(slot, (sequence - 1) as Sequence);
  }
  if (waited !== null) {
    // Take the larger: both are lower bounds. The slot may be a new one, because the one that the read was merged into was evicted.
    current = Math.max(current, viewWaited(waited, sequence));
    previous = Math.max(previous, viewWaited(waited, sequence - 1));
  }
  const before = current + share(previous, endMs - nowMs, durationMs);
  return viewFrom(request, slot, sequence, nowMs, endMs, current, previous, before, ahead, waited);
}

/** The same of counts that the fast path has read already. No spread: it takes as long as everything else together. */
export function viewFrom(
  { key, h0, h1, h2, limit, cost }: HashedRequest,
  slot: Slot,
  sequence: Sequence,
  nowMs: number,
  endMs: number,
  current: number,
  previous: number,
  before: number,
  ahead: number,
  waited: Waited | null,
): View {
  return {
    key,
    h0,
    h1,
    h2,
    limit,
    cost,
    slot,
    sequence,
    nowMs,
    endMs,
    current,
    previous,
    before,
    effective: before + ahead + cost,
    waited,
    source: waited?.isOk === true ? waited.source : "local",
  };
}
