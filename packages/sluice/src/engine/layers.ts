/**
 * A decision where layers are attached: the same arithmetic, with the gate before an allow and the ledger behind it.
 *
 * The engine has looked and computed; nothing runs between that and what happens here.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Trace } from "../core/trace.ts";
import { NONE } from "./cell-table.ts";
import { type Decision, decision } from "./decision.ts";
import { type Basis, basisOf, decisionEvent } from "./decision-event.ts";
import type { Engine } from "./engine.ts";
import type { Gate, Verdict, Waited } from "./gate.ts";
import { encodeKey, type Key } from "./key.ts";
import type { Asked, Decided, Layers } from "./layers.ts";
import type { Ledger } from "./ledger.ts";
import type { NameBudget } from "./name-budget.ts";
import { windowEndMs } from "./sequence.ts";
import { TALLY } from "./tally.ts";

/** A request met a full window: what the denial channel may tell the other regions. */
export type DenialListener = (slot: Slot, sequence: Sequence, durationMs: DurationMs, limit: number) => void;

/** What may stand above an engine. */
export interface LayerParts {
  readonly ledger: Ledger;
  readonly gate: Gate | null;
  readonly onDenial: DenialListener | null;
  readonly trace: Trace | null;
}

export class LayeredDecision implements Layers {
  readonly #engine: Engine;
  readonly #parts: LayerParts;
  /** Whether a request may take the fast path at all: no history is kept, and nothing is missing. */
  #mayBePlain: boolean;
  /** Allows in windows of at least this are degraded: other regions take part in them, and their counts have not been read. */
  #unheardFromMs: number = Number.POSITIVE_INFINITY;

  constructor(engine: Engine, parts: LayerParts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#mayBePlain = parts.trace === null;
  }

  /** Until `hearOthers`, allows in windows of at least `durationMinMs` are degraded. */
  awaitOthers(durationMinMs: number): void {
    this.#unheardFromMs = durationMinMs;
    this.#mayBePlain = false;
  }

  /** The other regions' counts have arrived. */
  hearOthers(): void {
    this.#unheardFromMs = Number.POSITIVE_INFINITY;
    this.#mayBePlain = this.#parts.trace === null;
  }

  get mustGiveUp(): boolean {
    return this.#parts.gate !== null;
  }

  // Stryker disable next-line BlockStatement: never ready takes the long way, which gives the same
  isReady(slot: Slot, sequence: Sequence, left: number, limit: number): boolean {
    const { gate } = this.#parts;
    // Stryker disable next-line ConditionalExpression: the same; true was killed
    return this.#mayBePlain && (gate === null || (gate.isSettled(slot, sequence) && !gate.mustAsk(left, limit)));
  }

  decide(asked: Asked, waited: Waited | null): Decision | null {
    const engine = this.#engine;
    const { key, limit, cost, sequence, current, previous, effective, slot } = asked;
    const { durationMs } = key;
    const source = waited?.isOk === true ? waited.source : "local";
    const basis = this.basis(asked);
    if (effective > limit) {
      const denial = engine.deny(current, previous, effective, limit, cost, sequence, durationMs, source);
      this.decided(asked, basis, slot, denial, { isCounted: false, batch: 0, waited });
      return denial;
    }
    const verdict = this.judge(asked, waited);
    if (verdict === "read") return null;
    const degraded = verdict === "degraded";
    if (degraded) engine.tally.add(TALLY.degraded);
    const endMs = windowEndMs(sequence, durationMs);
    const place = cost > 0 ? this.place(asked, waited) : slot;
    if (cost > 0 && place === NONE) {
      const answer = engine.unrecorded(limit, effective, endMs, source);
      this.decided(asked, basis, NONE, answer, { isCounted: false, batch: 0, waited });
      return answer;
    }
    engine.tally.add(TALLY.allowed);
    const answer = decision(true, limit, limit - effective, endMs, effective, "allowed", source, degraded);
    this.decided(asked, basis, place, answer, { isCounted: cost > 0, batch: 0, waited });
    if (cost > 0) {
      engine.table.accept(place, sequence, cost, limit);
      this.accepted(place, limit - effective, limit, durationMs);
    }
    return answer;
  }

  basis({ slot, sequence }: Asked): Basis | null {
    return this.#parts.trace === null ? null : basisOf(this.#engine.table, slot, sequence);
  }

  judge(asked: Asked, waited: Waited | null): Verdict {
    const verdict = this.#judgeRegion(asked, waited);
    return verdict === "proceed" && asked.key.durationMs >= this.#unheardFromMs ? "degraded" : verdict;
  }

  /**
   * A request waits for one read at most. What the read brought suffices, whatever was denied in the meantime: it began after the
   * request arrived, or after the last denial known then (origin/regional-layer.ts sees to that). Asking for a younger read would let
   * one client whose requests do not fit keep a key from everybody else.
   */
  #judgeRegion({ slot, sequence, nowMs, key, limit, effective }: Asked, waited: Waited | null): Verdict {
    const { gate } = this.#parts;
    if (gate === null) return "proceed";
    if (waited?.isOk === false) return "degraded";
    if (waited === null && gate.mustAsk(limit - effective, limit)) {
      return gate.verdict(NONE, sequence, nowMs, key.durationMs);
    }
    // Try the fast check here too: with a trace attached, the engine never takes its fast path.
    const isSettled = slot !== NONE && gate.isSettled(slot, sequence);
    if (waited === null) return isSettled ? "proceed" : gate.verdict(slot, sequence, nowMs, key.durationMs);
    return isSettled || gate.suffices(waited, sequence, nowMs, key.durationMs) ? "proceed" : "degraded";
  }

  place({ key, h0, h1, h2, slot, sequence, nowMs }: Asked, waited: Waited | null): Slot {
    const engine = this.#engine;
    if (slot !== NONE) {
      if (this.mustGiveUp && engine.table.sequence(slot) > sequence) this.giveUp(slot, key, sequence);
      return slot;
    }
    const place = engine.claim(h0, h1, h2, key.durationMs, sequence, nowMs);
    if (place !== NONE) this.claimed(place, key, waited);
    return place;
  }

  giveUp(slot: Slot, key: Key, sequence: Sequence): void {
    this.#parts.ledger.giveUp(slot, key, sequence);
  }

  /**
   * The slot that was claimed when the read ended may have been evicted since, or there was no room. What was read goes into the new one:
   * others who waited for the same read find this slot. Its writer id has counted nothing yet, so all of the sum is others'.
   */
  claimed(slot: Slot, key: Key, waited: Waited | null): void {
    const { ledger } = this.#parts;
    ledger.claimed(slot, key);
    if (waited?.isOk !== true || waited.source !== "origin") return;
    const { table } = this.#engine;
    table.raiseOthers(slot, waited.sequence, waited.current);
    table.raiseOthers(slot, (waited.sequence - 1) as Sequence, waited.previous);
    ledger.regionalRose(slot);
  }

  accepted(slot: Slot, left: number, limit: number, durationMs: DurationMs): void {
    this.#parts.ledger.accepted(slot, limit);
    this.#parts.gate?.accepted(slot, left, limit, durationMs);
  }

  /**
   * A count that was far below a limit may be most of a lower one, so it is due for publishing. This is on the path of every denial:
   * a comparison, unless the limit is lower than any before. A limit of 0 is a ban, under which no count matters.
   */
  requested(slot: Slot, limit: number): void {
    const { table } = this.#engine;
    if (limit >= table.limitLow(slot) || limit === 0) return;
    table.lowerLimit(slot, limit);
    this.#parts.ledger.limitFell(slot);
  }

  released(slot: Slot, isOver: boolean): void {
    this.#parts.ledger.released(slot, isOver);
  }

  isPinned(slot: Slot): boolean {
    return this.#parts.ledger.isPinned(slot);
  }

  get budget(): NameBudget {
    return this.#parts.ledger.budget;
  }

  largeNameBytes(slot: Slot): number {
    const { ledger } = this.#parts;
    return ledger.budget.large.has(slot) ? (ledger.name(slot)?.bytes ?? 0) : 0;
  }

  /** A full window makes its key strict, and may be passed on to the other regions; a history hears everything. */
  decided(asked: Asked, basis: Basis | null, slot: Slot, answer: Decision, how: Decided): void {
    const { gate, onDenial, trace, ledger } = this.#parts;
    const { key, sequence, nowMs, previous, cost } = asked;
    const { durationMs } = key;
    const { isCounted, batch, waited } = how;
    if (!isCounted && slot !== NONE) this.requested(slot, answer.limit);
    if (answer.reason === "limit") {
      gate?.denied(asked, slot);
      if (slot !== NONE) onDenial?.(slot, sequence, durationMs, answer.limit);
    }
    if (trace === null || basis === null) return;
    const writer = isCounted ? (ledger.name(slot)?.writer ?? "") : "";
    const monoMs = this.#engine.clock.monoMs();
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
    };
    trace(decisionEvent(place, basis, answer));
  }
}
