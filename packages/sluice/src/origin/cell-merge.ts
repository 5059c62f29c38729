/**
 * Merging what the origin answered into the cell table: one rule for reads and replays.
 *
 * `others = max(others, sum - component)`: the sum without this slot's own component is what everybody else had accepted, a
 * lower bound from the moment it was read. The cell is fresh from the moment the call began, not from when it answered.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import { HeldKeys } from "../engine/held-keys.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { Ledger, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs, sequenceAt } from "../engine/sequence.ts";
import { freshnessMs } from "./freshness.ts";
import type { KeyHolds } from "./hold.ts";
import type { OriginCount, Raise } from "./origin.ts";

export class CellMerge {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  /** Cells of which the origin held less than it had confirmed. */
  healed = 0;

  constructor(engine: Engine, ledger: Ledger) {
    this.#engine = engine;
    this.#ledger = ledger;
  }

  /** The window that is current now for a key. */
  sequenceOf({ durationMs }: Key): Sequence {
    return sequenceAt(this.#engine.clock.nowMs(), durationMs);
  }

  /** The component that a key's cost is counted under; for one without a slot, a name that has no component yet. */
  writerOf(key: Key): string {
    return this.#ledger.name(this.#engine.slotOf(key))?.writer ?? "";
  }

  /** The raise of a cell that has cost the origin has not confirmed; null if there is none. */
  unreplayed(key: Key, sequence: Sequence): Raise | null {
    const slot = this.#engine.slotOf(key);
    const name = this.#ledger.name(slot);
    if (name === undefined) return null;
    const total = this.#engine.table.own(slot, sequence);
    if (total <= this.#engine.table.replayed(slot, sequence)) return null;
    return {
      key: encodeKey(key),
      sequence,
      writer: name.writer,
      total,
      expiresAtMs: cellExpiryMs(sequence, key.durationMs),
    };
  }

  /**
   * What a read brought; false if it may not be relied on. `writer` is whose component was asked for, `isClaiming` whether a
   * key without a slot gets one, so that the next request knows.
   */
  applyRead(
    key: Key,
    sequence: Sequence,
    writer: string,
    current: OriginCount,
    previous: OriginCount,
    beganMs: number,
    isClaiming: boolean,
  ): boolean {
    const engine = this.#engine;
    const { table } = engine;
    this.#heard(key, current.holds, beganMs);
    const nowMs = engine.clock.nowMs();
    // The clock may have gone on, or been set back, while the read was under way: an older window's answer still merges. If the next
    // window has begun, what was read is its previous cell, which the decision needs.
    const now = sequenceAt(nowMs, key.durationMs);
    const isNear = now === sequence || now === sequence + 1;
    let slot = engine.slotOf(key);
    if (slot === NONE) {
      if (!isClaiming || !isNear) return true;
      slot = engine.claimFor(key, now, nowMs);
      if (slot === NONE) return true;
    } else if (isNear && table.sequence(slot) > now) {
      this.#ledger.giveUp(slot, key, now);
    }
    if (isNear) {
      this.#ledger.endCallBefore(slot, now);
      table.rotate(slot, now);
    }
    const before = (sequence - 1) as Sequence;
    const isAsked = this.#ledger.name(slot)?.writer === writer;
    // The sum may have the cost of a call that is under way under that other id, which `own` has not: nothing can be said of others.
    if (!isAsked && this.#ledger.isCalling(slot)) return false;
    if (!isAsked && table.own(slot, sequence) + table.own(slot, before) > 0) {
      // The key got its slot while the read was under way, and counts under an id whose component was not asked for. All of
      // its own count may be within the sum: what is left of it without that is a lower bound, but not a fresh one.
      table.raiseOthers(slot, sequence, current.sum - table.own(slot, sequence));
      table.raiseOthers(slot, before, previous.sum - table.own(slot, before));
      return false;
    }
    // An id that has counted nothing has no component: what this process counted before under another is somebody else's now.
    const ofOthers = (count: OriginCount) => ({ ...count, component: isAsked ? count.component : 0 });
    this.#apply(slot, sequence, ofOthers(current), beganMs, key.durationMs);
    this.#apply(slot, before, ofOthers(previous), beganMs, key.durationMs);
    return true;
  }

  /** What a raise brought for the slot that sent it; nothing if the slot has meanwhile become another's. */
  applyRaise(
    slot: Slot,
    name: SlotName,
    sequence: Sequence,
    total: number,
    answer: OriginCount,
    beganMs: number,
  ): void {
    if (this.#ledger.name(slot) !== name) return;
    this.#heard(name.key, answer.holds, beganMs);
    this.#engine.table.raiseReplayed(slot, sequence, total);
    this.#apply(slot, sequence, answer, beganMs, name.key.durationMs);
  }

  /** What an admit brought for the slot that sent it. Its total is not confirmed by it: see origin/admission.ts. */
  applyAdmit(slot: Slot, sequence: Sequence, current: OriginCount, previous: OriginCount, beganMs: number): void {
    const durationMs = this.#engine.table.durationMs(slot);
    const key = this.#ledger.name(slot)?.key;
    if (key !== undefined) this.#heard(key, current.holds, beganMs);
    this.#apply(slot, sequence, current, beganMs, durationMs);
    this.#apply(slot, (sequence - 1) as Sequence, previous, beganMs, durationMs);
  }

  #apply(slot: Slot, sequence: Sequence, answer: OriginCount, beganMs: number, durationMs: DurationMs): void {
    const { table } = this.#engine;
    const regional = table.regional(slot, sequence);
    if (answer.component < table.replayed(slot, sequence)) {
      this.healed++;
      table.lowerReplayed(slot, sequence, answer.component);
      this.#ledger.markUnreplayed(slot);
    }
    table.raiseOthers(slot, sequence, answer.sum - answer.component);
    table.raiseFreshUntil(slot, sequence, beganMs + freshnessMs(durationMs));
    if (table.regional(slot, sequence) > regional) this.#ledger.regionalRose(slot);
  }

  /** Their times are of the origin's clock, and are not used: a look brings them. */
  #heard(key: Key, holds: KeyHolds | undefined, beganMs: number): void {
    const engine = this.#engine;
    if (holds === undefined || (engine.held === null && holds.cost === 0)) return;
    const { cost, version } = holds;
    engine.held ??= new HeldKeys();
    engine.held.merge(engine.hashedKey(key), { cost, earliestMs: 0, version, beganMs }, engine.clock.monoMs());
  }
}
