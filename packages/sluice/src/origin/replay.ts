/**
 * Replay: sends what this process has accepted to the origin, as absolute totals, in the background.
 *
 * The backlog is a set of slots, never a queue of requests: nothing is dropped, and ten thousand requests to one cell cost
 * one entry. A total is sent again until it is confirmed; sending it twice changes nothing. Cells nearest their limit go
 * first, and those that hurry (regional-layer.ts and renewal.ts say which) need not wait for the next flush: they go ahead of it, within
 * its budget. Each flush also keeps the previous cell of a busy key fresh, so that no request must wait for it, and carries the
 * heartbeat.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import type { CellTable } from "../engine/cell-table.ts";
import { encodeKey } from "../engine/key.ts";
import type { Ledger, Orphan, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import { type AdmitNote, AdmitNotes } from "./admit-notes.ts";
import type { CellMerge } from "./cell-merge.ts";
import { CommandBudget } from "./command-budget.ts";
import { ANSWER_PART, freshnessMs } from "./freshness.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { OriginCount, Raise } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";
import { ReplayOrder, type Slots } from "./replay-order.ts";

/** A raise with the slot that sends it. */
interface Entry {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly raise: Raise;
}

/** A flush that is not answered by then is counted as failed; what it did stays done. */
const FLUSH_DEADLINE_MS = 1_000;

/** Names of keys in one flush, once their texts are made: what is left goes with the next one. */
const FLUSH_MAX_BYTES = 16 * 2 ** 20;

/** After a loss, so many slots are looked at with each flush: two to four milliseconds. */
const HEALED_AT_ONCE = 32_768;

export interface ReplayOptions {
  readonly flushMs: number;
  readonly commandsPerSecond: number;
  readonly trace: Trace | null;
}

export class Replay {
  readonly #table: CellTable;
  readonly #ledger: Ledger;
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #clock: Clock;
  readonly #options: ReplayOptions;
  readonly #heartbeat: Heartbeat;
  readonly #order: ReplayOrder;
  isFlushing = false;
  /** Slots that go ahead of the next flush: they are near their limit, or their freshness is about to end. */
  readonly hurried: Set<Slot> = new Set();
  /** What the origin counted itself and no beat has confirmed yet. Written by regional-layer.ts when an admit is answered. */
  readonly notes: AdmitNotes = new AdmitNotes();
  /** Shared by flushes and hurried flushes. */
  readonly #budget: CommandBudget;
  /** Times the origin was found to have lost what it had confirmed. */
  losses = 0;
  /**
   * Whether a flush was confirmed without its heartbeat: a part of the origin was away. What another part lost meanwhile would not
   * show, so everything is sent again once all of it is heard.
   */
  #hasMissedBeat = false;
  /** After a loss: the first slot that has not been made unreplayed again; from the high-water mark on, all have. */
  #unhealed: Slot = Number.MAX_SAFE_INTEGER as Slot;
  /** Hears of every loss, and how many keys are held that may be replayed again for it. */
  onLoss: (keys: number) => void = () => {};
  /** When the last flush began that left nothing behind of what was unreplayed then. Monotonic clock. */
  #cleanMs: number;

  constructor(
    table: CellTable,
    ledger: Ledger,
    calls: OriginCalls,
    merge: CellMerge,
    clock: Clock,
    options: ReplayOptions,
  ) {
    this.#table = table;
    this.#ledger = ledger;
    this.#calls = calls;
    this.#merge = merge;
    this.#clock = clock;
    this.#options = options;
    this.#heartbeat = new Heartbeat(ledger.incarnation);
    this.#order = new ReplayOrder(table);
    this.#cleanMs = clock.monoMs();
    this.#budget = new CommandBudget(options.commandsPerSecond, options.flushMs, this.#cleanMs);
  }

  /** How long accepted cost may have waited to be confirmed: since the last flush that sent all there was. */
  get unconfirmedForMs(): number {
    return this.#clock.monoMs() - this.#cleanMs;
  }

  /**
   * One flush: sends up to the budget, or up to `raisesMax` if that is given, and merges the answers. Sends nothing while the budget has
   * no room for a cell. False if the origin could not be reached. Never rejects.
   */
  async flushOnce(raisesMax?: number): Promise<boolean> {
    if (this.isFlushing) return true;
    return this.#flush(async () => {
      const nowMs = this.#clock.monoMs();
      const cells = raisesMax ?? this.#budget.cellsOfFlush(nowMs);
      if (this.#table.size === 0 && this.#ledger.orphans.length === 0) {
        this.#cleanMs = nowMs;
        return true;
      }
      if (cells === 0) return true;
      this.#ledger.dropOrphans(this.#clock.wallMs());
      return this.#send(this.#ledger.unreplayed, this.#ledger.orphans.slice(0, cells), cells);
    });
  }

  /** Sends the hurried slots alone. Does nothing while a flush is under way, or without budget. Never rejects. */
  async flushHurriedOnce(): Promise<void> {
    if (this.isFlushing || this.hurried.size === 0) return;
    await this.#flush(async () => {
      const cells = this.#budget.cells(this.#clock.monoMs());
      return cells === 0 || this.#send(this.hurried, [], cells);
    });
  }

  /** Accepted cost that the origin has not confirmed, of cells that still matter. */
  unconfirmed(): number {
    const wallMs = this.#clock.wallMs();
    const table = this.#table;
    this.#heal(table.highWater);
    let sum = 0;
    for (const slot of this.#ledger.unreplayed) {
      const durationMs = this.#ledger.name(slot)?.key.durationMs;
      if (durationMs === undefined) continue;
      const sequence = table.sequence(slot);
      for (const at of [sequence, (sequence - 1) as Sequence]) {
        if (cellExpiryMs(at, durationMs) > wallMs) sum += Math.max(0, table.own(slot, at) - table.replayed(slot, at));
      }
    }
    this.#ledger.dropOrphans(wallMs);
    return this.#ledger.orphans.reduce((total, orphan) => total + orphan.unconfirmed, sum);
  }

  async #flush(send: () => Promise<boolean>): Promise<boolean> {
    this.isFlushing = true;
    try {
      return await send();
    } catch {
      // A clock that fails. What was not confirmed is sent again with the next flush.
      return false;
    } finally {
      this.isFlushing = false;
    }
  }

  async #send(slots: Slots, orphans: readonly Orphan[], raisesMax: number): Promise<boolean> {
    const beganMs = this.#clock.monoMs();
    const wallMs = this.#clock.wallMs();
    // A hundred thousand cells that wait for an origin that is away need not be listed twenty times a second.
    // Stryker disable next-line ConditionalExpression,BlockStatement: the call below is refused as well; true was killed
    if (this.#calls.breaker.isOpen(beganMs)) {
      this.hurried.clear();
      return false;
    }
    this.#heal(HEALED_AT_ONCE);
    const { entries, noted, isCut } = this.#entries(slots, wallMs, raisesMax - orphans.length);
    const sent = orphans.length + entries.length;
    // A flush that carries the heartbeat alone costs as much as a cell.
    this.#budget.spend(Math.max(1, sent));
    this.hurried.clear();
    const raises = [...orphans, ...entries.map(({ raise }) => raise)];
    const beat = this.#heartbeat.next(wallMs, raises);
    // The beat goes last: a state of the origin that has it has all that was confirmed with it.
    const answers = await this.#calls.raise([...raises, beat], FLUSH_DEADLINE_MS);
    if (answers === null) {
      for (const { raise } of entries) this.#emit(raise, beganMs, null);
      return false;
    }
    this.#settleOrphans(orphans, answers);
    entries.forEach((entry, i) => {
      this.#settle(entry, answers[orphans.length + i] ?? null, beganMs);
    });
    const isHealed = this.#unhealed >= this.#table.highWater;
    const isWhole = isHealed && slots === this.#ledger.unreplayed && sent < raisesMax && !isCut;
    const beatAnswer = answers.at(-1) ?? null;
    const hasLost = beatAnswer !== null && this.#heartbeat.hasLost(beat, beatAnswer);
    const isConfirmed = beatAnswer !== null && !hasLost && this.#confirm(noted);
    if (isWhole && isConfirmed && !answers.includes(null)) this.#cleanMs = beganMs;
    if (hasLost) this.#replayAll();
    else if (beatAnswer !== null && this.#hasMissedBeat) this.#distrust();
    this.#hasMissedBeat = beatAnswer === null;
    return true;
  }

  #settle({ slot, name, raise }: Entry, answer: OriginCount | null, beganMs: number): void {
    this.#emit(raise, beganMs, answer);
    if (answer === null) return;
    this.#merge.applyRaise(slot, name, raise.sequence as Sequence, raise.total, answer, beganMs);
    if (this.#ledger.name(slot) !== name) return;
    this.#ledger.markReplayed(slot);
    // Counted meanwhile: it waits anew, behind those that were not sent.
    if (this.#hasUnreplayed(slot)) this.#ledger.markUnreplayed(slot);
  }

  /** A beat was answered without a loss. What admits had counted before it is confirmed, if the connection is still the same: false if not. */
  #confirm(noted: readonly AdmitNote[]): boolean {
    const life = this.#calls.life();
    for (const note of noted) {
      const { slot, name, sequence, component } = note;
      if (note.life !== life || this.#ledger.name(slot) !== name) continue;
      this.#table.raiseReplayed(slot, sequence, component);
      if (!this.#hasUnreplayed(slot)) this.#ledger.markReplayed(slot);
    }
    return noted.every((note) => note.life === life);
  }

  #settleOrphans(orphans: readonly Orphan[], answers: readonly (OriginCount | null)[]): void {
    orphans.forEach((orphan, i) => {
      if (answers[i] !== null) this.#ledger.settleOrphan(orphan);
    });
  }

  /** The origin has lost something: every live cell with a count of its own is sent again. */
  #replayAll(): void {
    this.losses++;
    this.#distrust();
    this.#heal(HEALED_AT_ONCE);
    this.onLoss(this.#table.size);
  }

  #distrust(): void {
    this.#unhealed = 0 as Slot;
    this.notes.lost(this.#clock.monoMs());
  }

  /** A million slots at once would hold the process up for a tenth of a second. */
  #heal(slotsMax: number): void {
    const table = this.#table;
    for (let left = slotsMax; left > 0 && this.#unhealed < table.highWater; left--) {
      const slot = this.#unhealed;
      this.#unhealed = (slot + 1) as Slot;
      if (table.isFree(slot)) continue;
      const sequence = table.sequence(slot);
      table.lowerReplayed(slot, sequence, 0);
      table.lowerReplayed(slot, (sequence - 1) as Sequence, 0);
      if (this.#hasUnreplayed(slot)) this.#ledger.markUnreplayed(slot);
    }
  }

  #hasUnreplayed(slot: Slot): boolean {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const before = (sequence - 1) as Sequence;
    return (
      table.own(slot, sequence) > table.replayed(slot, sequence) ||
      table.own(slot, before) > table.replayed(slot, before)
    );
  }

  /** What to send of these slots, cells nearest their limit first. `isCut`: their names take too much memory for one flush. */
  #entries(
    slots: Slots,
    wallMs: number,
    raisesMax: number,
  ): { readonly entries: Entry[]; readonly noted: AdmitNote[]; readonly isCut: boolean } {
    const isBehind = slots.size > raisesMax;
    const entries: Entry[] = [];
    const noted: AdmitNote[] = [];
    const life = this.#calls.life();
    let bytes = 0;
    for (const slot of this.#order.of(slots, raisesMax)) {
      if (entries.length >= raisesMax) break;
      const name = this.#ledger.name(slot);
      if (name === undefined) continue;
      bytes += name.bytes;
      if (bytes > FLUSH_MAX_BYTES) return { entries, noted, isCut: true };
      const found = this.#entriesOf(slot, name, wallMs, isBehind, noted, life);
      // Confirmed meanwhile, by a read that brought it along.
      if (!this.#hasUnreplayed(slot)) this.#ledger.markReplayed(slot);
      entries.push(...found);
    }
    if (slots === this.#ledger.unreplayed && !isBehind && entries.length < raisesMax) this.notes.clear();
    return { entries: entries.slice(0, raisesMax), noted, isCut: isBehind };
  }

  /** The raises of a slot. A cell that the origin counted itself is added to `noted` instead. */
  #entriesOf(
    slot: Slot,
    name: SlotName,
    wallMs: number,
    isBehind: boolean,
    noted: AdmitNote[],
    life: number | undefined,
  ): Entry[] {
    const table = this.#table;
    const { durationMs } = name.key;
    const sequence = table.sequence(slot);
    const before = (sequence - 1) as Sequence;
    const entries: Entry[] = [];
    let text: string | undefined;
    for (const at of [sequence, before]) {
      const total = table.own(slot, at);
      const expiresAtMs = cellExpiryMs(at, durationMs);
      if (expiresAtMs <= wallMs) continue;
      const isUnreplayed = total > table.replayed(slot, at);
      const isAging = !isBehind && at === before && this.#isAging(table.freshUntilMs(slot, at), durationMs);
      if (!isUnreplayed && !isAging) continue;
      const note = isUnreplayed ? this.notes.take(slot, name, at, total, life) : null;
      if (note !== null) noted.push(note);
      if (note !== null && !isAging) continue;
      text ??= encodeKey(name.key);
      const raise = { key: text, sequence: at, writer: name.writer, total, expiresAtMs };
      entries.push({ slot, name, raise });
    }
    return entries;
  }

  /** A previous cell that has used half of its freshness, or that the flush after this one would renew too late. */
  #isAging(freshUntilMs: number, durationMs: number): boolean {
    const freshMs = freshnessMs(durationMs);
    const { flushMs } = this.#options;
    // A flush that is still under way when the next one is due takes its place.
    const intervalMs = flushMs * Math.max(1, Math.ceil(this.#calls.roundTripMs / flushMs));
    const nextMs = Math.min(intervalMs, freshMs / 2);
    return freshUntilMs - this.#clock.monoMs() < Math.max(freshMs / 2, nextMs + ANSWER_PART * freshMs);
  }

  #emit(raise: Raise, beganMs: number, answer: OriginCount | null): void {
    const { trace } = this.#options;
    if (trace === null) return;
    const { key, sequence, writer, total } = raise;
    const { sum, component } = answer ?? { sum: 0, component: 0 };
    const clocks = { wallMs: this.#clock.wallMs(), monoMs: this.#clock.monoMs() };
    trace({
      kind: "raise",
      key,
      sequence,
      ...clocks,
      writer,
      total,
      beganMs,
      isAnswered: answer !== null,
      sum,
      component,
    });
  }
}
