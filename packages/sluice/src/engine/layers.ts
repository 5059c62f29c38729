/**
 * What an engine sees of the layers above it.
 *
 * A bare engine has none, and its decision path pays one comparison for the possibility. The one implementation is
 * layered-decision.ts.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Decision } from "./decision.ts";
import type { Basis } from "./decision-event.ts";
import type { HashedKey, Verdict, Waited } from "./gate.ts";
import type { Key } from "./key.ts";
import type { NameBudget } from "./name-budget.ts";

/** A request with what the engine found for it. */
export interface Asked extends HashedKey {
  readonly limit: number;
  readonly cost: number;
  readonly slot: Slot;
  readonly sequence: Sequence;
  readonly nowMs: number;
  /** The views of the two cells, and the effective count with the cost. */
  readonly current: number;
  readonly previous: number;
  readonly effective: number;
}

/** How a decision was made, for the history. */
export interface Decided {
  readonly isCounted: boolean;
  /** The same number for all items of one batch, 0 for a single request. */
  readonly batch: number;
  readonly waited: Waited | null;
}

export interface Layers {
  /**
   * Whether a request that fits may be decided at once, because nobody has a say in it. False where that takes a closer look,
   * which `decide` has. `left` is what the request would leave of its limit.
   */
  isReady(slot: Slot, sequence: Sequence, left: number, limit: number): boolean;
  /** Decides what the engine has looked up. Null, only if nothing was waited for: the origin must be read first. */
  decide(asked: Asked, waited: Waited | null): Decision | null;
  /** Whether a request that fits may be decided now. Never "read" for one that has waited. */
  judge(asked: Asked, waited: Waited | null): Verdict;
  /** The slot to count in: the key's own, or a new one. NONE if the table is full. */
  place(asked: Asked, waited: Waited | null): Slot;
  /** Whether a slot of a later window must be given up rather than turned back. */
  readonly mustGiveUp: boolean;
  /** Gives up what such a slot counted, and begins its key anew at `sequence`. */
  giveUp(slot: Slot, key: Key, sequence: Sequence): void;
  /** A slot was claimed for this key, for a request that waited for this. */
  claimed(slot: Slot, key: Key, waited: Waited | null): void;
  /** Cost was added to a slot; `left` is what its limit still has room for. */
  accepted(slot: Slot, left: number, limit: number, durationMs: DurationMs): void;
  /** A request with this limit added nothing to the slot: a peek that took the fast path. */
  requested(slot: Slot, limit: number): void;
  /** A slot is about to be released. `isOver`: because its cells have expired. */
  released(slot: Slot, isOver: boolean): void;
  isPinned(slot: Slot): boolean;
  readonly budget: NameBudget;
  /** What evicting the slot for its name gives back: 0 if the name is not large. */
  largeNameBytes(slot: Slot): number;
  /** What a decision on these findings rests on, if a history is kept: asked before anything is claimed for it. */
  basis(asked: Asked): Basis | null;
  /** A decision was made; what it counts has not been added yet. */
  decided(asked: Asked, basis: Basis | null, slot: Slot, answer: Decision, how: Decided): void;
}
