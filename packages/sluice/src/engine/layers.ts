/**
 * What stands above an engine: the ledger, the gate of the regional layer, the listener for denials, and a history.
 *
 * A bare engine has none of it, and its decisions pay one comparison for the possibility. Here the layers are informed of what happens
 * to slots and of what was decided; what they have to say in a decision is in judge.ts.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Trace } from "../core/trace.ts";
import { type CellTable, NONE } from "./cell-table.ts";
import type { Decision } from "./decision.ts";
import { type Basis, basisOf, decisionEvent } from "./decision-event.ts";
import type { Gate, Waited } from "./gate.ts";
import type { HeldClock } from "./held-clock.ts";
import { encodeKey, type Key } from "./key.ts";
import type { Ledger } from "./ledger.ts";
import type { NameBudget } from "./name-budget.ts";
import type { View } from "./view.ts";

/** A request met a full window: what the denial channel may tell the other regions. */
export type DenialListener = (slot: Slot, sequence: Sequence, durationMs: DurationMs, limit: number) => void;

/** What may stand above an engine. */
export interface LayerParts {
  readonly ledger: Ledger;
  readonly gate: Gate | null;
  readonly onDenial: DenialListener | null;
  readonly trace: Trace | null;
}

/** How a decision was made, for the history. */
export interface Decided {
  readonly isCounted: boolean;
  /** The same number for all items of one batch, 0 for a single request. */
  readonly batch: number;
}

/** Where and when a call counted a request. */
export interface AdmittedPlace {
  readonly key: Key;
  readonly sequence: Sequence;
  readonly wallMs: number;
  readonly arrivedMs: number;
  readonly cost: number;
  /** The view of the cell before. */
  readonly previous: number;
  readonly call: number;
}

export class Layers {
  readonly gate: Gate | null;
  /** Whether a request may take the fast path at all: no history is kept, and nothing is missing. */
  mayBePlain: boolean;
  /**
   * Allows in windows of at least this are degraded: other regions take part in them, and their counts have not been read. Written by
   * `awaitOthers` and `endAwaitOthers`.
   */
  unheardFromMs: number = Number.POSITIVE_INFINITY;
  readonly #table: CellTable;
  readonly #clock: HeldClock;
  readonly #parts: LayerParts;

  constructor(memory: { readonly table: CellTable; readonly clock: HeldClock }, parts: LayerParts) {
    this.#table = memory.table;
    this.#clock = memory.clock;
    this.#parts = parts;
    this.gate = parts.gate;
    this.mayBePlain = parts.trace === null;
  }

  /** Until `endAwaitOthers`, allows in windows of at least `durationMinMs` are degraded. */
  awaitOthers(durationMinMs: number): void {
    this.unheardFromMs = durationMinMs;
    this.mayBePlain = false;
  }

  /** The other regions' counts have arrived. */
  endAwaitOthers(): void {
    this.unheardFromMs = Number.POSITIVE_INFINITY;
    this.mayBePlain = this.#parts.trace === null;
  }

  /** What a decision on this view rests on, if a history is kept: taken before anything is claimed for it. */
  basis(slot: Slot, sequence: Sequence): Basis | null {
    return this.#parts.trace === null ? null : basisOf(this.#table, slot, sequence);
  }

  /**
   * Before a slot is turned to `sequence`: gives up what a slot of a later window counted, and begins its key again; false if the slot can be
   * turned. Only an origin makes it necessary: it has the count under the slot's writer id. A call to the origin whose window the slot will
   * no longer hold ends first.
   */
  giveUpLater(slot: Slot, key: Key, sequence: Sequence): boolean {
    if (this.gate === null) return false;
    if (this.#table.sequence(slot) <= sequence) {
      this.#parts.ledger.endCallBefore(slot, sequence);
      return false;
    }
    this.#parts.ledger.giveUp(slot, key, sequence);
    return true;
  }

  /**
   * A slot was claimed for this key, for a request that waited for this.
   *
   * The slot that was claimed when the read ended may have been evicted since, or there was no room. What was read goes into the new one:
   * others who waited for the same read find this slot. Its writer id has counted nothing yet, so all of the sum is others'.
   */
  claimed(slot: Slot, key: Key, waited: Waited | null): void {
    const { ledger } = this.#parts;
    ledger.claimed(slot, key);
    if (waited?.isOk !== true || waited.source !== "origin") return;
    const table = this.#table;
    table.raiseOthers(slot, waited.sequence, waited.current);
    table.raiseOthers(slot, (waited.sequence - 1) as Sequence, waited.previous);
    ledger.regionalRose(slot);
  }

  /** Cost was added to a slot; `left` is what its limit still has room for. */
  accepted(slot: Slot, left: number, limit: number, durationMs: DurationMs): void {
    this.#parts.ledger.accepted(slot, limit);
    this.gate?.accepted(slot, left, limit, durationMs);
  }

  /** Cost was charged to a slot, whose key had `before` counted. */
  charged(slot: Slot, before: number, left: number, limit: number, durationMs: DurationMs): void {
    this.#parts.ledger.charged(slot, limit);
    this.gate?.charged(slot, left, limit, durationMs, before <= limit);
  }

  /**
   * A request with this limit added nothing to the slot.
   *
   * A count that was far below a limit may be most of a lower one, so it is due for publishing. This is on the path of every denial:
   * a comparison, unless the limit is lower than any before. A limit of 0 is a ban, under which no count matters.
   */
  requested(slot: Slot, limit: number): void {
    const table = this.#table;
    if (limit >= table.limitLow(slot) || limit === 0) return;
    table.lowerLimit(slot, limit);
    this.#parts.ledger.limitFell(slot);
  }

  /** A slot is about to be released. `isOver`: because its cells have expired. */
  released(slot: Slot, isOver: boolean): void {
    this.#parts.ledger.released(slot, isOver);
  }

  isCalling(slot: Slot): boolean {
    return this.#parts.ledger.isCalling(slot);
  }

  isPinned(slot: Slot): boolean {
    return this.#parts.ledger.isPinned(slot);
  }

  get budget(): NameBudget {
    return this.#parts.ledger.budget;
  }

  /** What evicting the slot for its name gives back: 0 if the name is not large. */
  largeNameBytes(slot: Slot): number {
    const { ledger } = this.#parts;
    return ledger.budget.large.has(slot) ? (ledger.name(slot)?.bytes ?? 0) : 0;
  }

  /** A call to the origin allowed a request, or was given up: what is counted goes into the cell it was sent for. */
  admitted(place: AdmittedPlace, slot: Slot, basis: Basis | null, answer: Decision): void {
    const { trace, ledger } = this.#parts;
    ledger.acceptedAt(slot, place.sequence, answer.limit);
    if (trace === null || basis === null) return;
    const { key, sequence, wallMs, arrivedMs, cost, previous, call } = place;
    const { durationMs } = key;
    const writer = ledger.name(slot)?.writer ?? "";
    const monoMs = this.#clock.monoMs();
    const counted = { previous, cost, isCounted: true, batch: 0, call };
    const text = encodeKey(key);
    trace(
      decisionEvent({ key: text, writer, sequence, durationMs, wallMs, monoMs, arrivedMs, ...counted }, basis, answer),
    );
  }

  /**
   * A decision was made; what it counts has not been added yet. A request that a full window denied makes its key strict, and may be
   * passed on to the other regions; a history gets everything. A peek asked for nothing, so a denied one says nothing about a request.
   */
  decided(view: View, basis: Basis | null, slot: Slot, answer: Decision, { isCounted, batch }: Decided): void {
    const { onDenial, trace, ledger } = this.#parts;
    const { key, sequence, nowMs, previous, cost, waited } = view;
    const { durationMs } = key;
    if (!isCounted && slot !== NONE) this.requested(slot, answer.limit);
    if (!answer.success && cost > 0 && isFull(view, answer)) {
      this.gate?.denied(key, slot);
      if (slot !== NONE) onDenial?.(slot, sequence, durationMs, answer.limit);
    }
    if (trace === null || basis === null) return;
    const writer = isCounted ? (ledger.name(slot)?.writer ?? "") : "";
    const monoMs = this.#clock.monoMs();
    const clocks = { wallMs: nowMs, monoMs, arrivedMs: waited?.arrivedMs ?? monoMs };
    const place = {
      key: encodeKey(key),
      writer,
      sequence,
      durationMs,
      ...clocks,
      previous,
      cost,
      isCounted,
      batch,
      call: 0,
    };
    trace(decisionEvent(place, basis, answer));
  }
}

/** Whether a request was denied because its window is full, after waiting or at once. A charge is not denied, and a cost above the limit says nothing. */
function isFull({ effective, limit }: View, { reason }: Decision): boolean {
  return reason === "limit" || ((reason === "timeout" || reason === "waiters") && effective > limit);
}
