/**
 * The ledger: what the layers above need to know about slots, kept only where there are such layers.
 *
 * For every key with a slot it keeps the name (a layer must be able to say which cell it speaks of, even of a cell that
 * nobody has asked about for a while; name-budget.ts bounds what all names take), the writer id under which its cost is counted, and two marks: unreplayed and
 * unpublished. A slot that is unreplayed is pinned: its counts exist nowhere else.
 *
 * Invariant: a writer id never counts a cell twice from zero. A key that was evicted and is seen again has a fresh slot, and
 * a smaller total under the old id would be hidden by `max`; so after an eviction, new slots count under a new id.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import type { Random } from "../core/clock.ts";
import { detach } from "../core/part.ts";
import { AcceptedLimits } from "./accepted-limits.ts";
import type { CellTable } from "./cell-table.ts";
import { encodeKey, type Key } from "./key.ts";
import { NameBudget, nameBytes, textBytes } from "./name-budget.ts";
import { cellExpiryMs } from "./sequence.ts";
import { SharedTexts } from "./shared-texts.ts";
import { SlotSet } from "./slot-set.ts";

/**
 * A slot's key, from its claim to its release: another claim of the same slot has another name object. The text that processes share
 * (`encodeKey`) is not kept: it is made when it is sent.
 */
export interface SlotName {
  readonly key: Key;
  /** What the name takes of the budget. */
  readonly bytes: number;
  /** The component that this slot's cost is counted under. */
  readonly writer: string;
  /**
   * What is known to be reported of the key. Only global/denial-channel.ts writes it. Here, because it lives as long as the name: a
   * WeakMap of 200,000 names made a garbage collection take 250 ms.
   */
  reported: Reported | null;
}

/** Denials of one key in one window that other regions know of, or that this region has written. */
export interface Reported {
  readonly sequence: Sequence;
  /** The highest limit that was written from here, or that a row had. */
  limit: number;
  /** Rows from here, written or dropped. */
  writes: number;
  /** When the next one may follow, once the free ones are used. Monotonic clock. */
  nextMs: number;
  /** The row, until it is sent: a higher limit replaces its limit. */
  pending: { limit: number } | null;
}

/** A total that still has to reach the origin, of a cell without a slot. */
export interface Orphan {
  readonly key: string;
  readonly sequence: number;
  readonly writer: string;
  readonly total: number;
  /** How much of it the origin had not confirmed. */
  readonly unconfirmed: number;
  readonly expiresAtMs: number;
}

/** Orphans beyond this are given up, oldest first: a clock that is set back again and again must not fill the memory. */
const ORPHANS_MAX = 100_000;
const ORPHANS_MAX_BYTES = 32 * 2 ** 20;
/** An orphan beside the text of its key. */
const ORPHAN_BYTES = 150;

const UNREPLAYED = 1;
const UNPUBLISHED = 2;
/** Published, but missing or too low in the global store. */
const UNSEEN = 4;
/** How far a window of the slot's went over its limit has been told: global/over-admission.ts knows which. */
const MEASURED = 8;
/** Requests of the slot's key wait for a call to the origin (origin/admission.ts). */
const CALLING = 16;

/** Among the confirmed: a row of the slot's cell says that it was charged. One bit for even, and one for odd sequences. */
const TOLD = 4;

export class Ledger {
  /** This life of the process: 64 random bits. */
  readonly incarnation: string;
  /** Slots with cost that the origin has not confirmed, oldest first. */
  readonly unreplayed: SlotSet;
  /** Slots that the next publish examines: their count, limit or row has changed since the last one, or the store did not take the row. */
  readonly unpublished: SlotSet;
  readonly budget: NameBudget;
  /** Totals of slots that are gone though the origin had not confirmed them: after a clock that was followed back. */
  readonly orphans: Orphan[] = [];
  /** Called before a slot whose requests wait for a call forgets the window of that call. Written by origin/admission.ts. */
  onGiveUp: (slot: Slot) => void = () => {};
  readonly #table: CellTable;
  readonly #replays: boolean;
  readonly #publishes: boolean;
  readonly #marks: Uint8Array;
  /**
   * Whether the global store has what was published of a slot's cells: a bit for even, and one for odd sequences; and the same of
   * the note that a cell was charged. Not among the marks: all of them are forgotten at once, in one stroke, however many slots there are.
   */
  readonly #confirmed: Uint8Array;
  /** Null without a global layer: nothing else judges what was accepted. */
  readonly #limits: AcceptedLimits | null;
  /** The marks of a slot whose cost nobody has been told of yet: one more changes nothing. */
  readonly #marksAll: number;
  readonly #names: (SlotName | undefined)[] = [];
  readonly #texts = new SharedTexts();
  #orphanBytes = 0;
  #generation = 0;
  #hasEvicted = false;
  #writer: string;

  constructor(table: CellTable, random: Random, layers: { readonly replays: boolean; readonly publishes: boolean }) {
    this.#table = table;
    this.#replays = layers.replays;
    this.#publishes = layers.publishes;
    this.#marks = new Uint8Array(table.capacity);
    this.#confirmed = new Uint8Array(layers.publishes ? table.capacity : 0);
    this.#limits = layers.publishes ? new AcceptedLimits(table.capacity) : null;
    this.unreplayed = new SlotSet(layers.replays ? table.capacity : 0);
    this.unpublished = new SlotSet(layers.publishes ? table.capacity : 0);
    this.budget = new NameBudget(table.capacity);
    this.#marksAll = (layers.replays ? UNREPLAYED : 0) | (layers.publishes ? UNPUBLISHED : 0);
    const word = () => random.uint32().toString(16).padStart(8, "0");
    this.incarnation = word() + word();
    this.#writer = this.incarnation;
  }

  name(slot: Slot): SlotName | undefined {
    return this.#names[slot];
  }

  /** Unreplayed, or waited for: it must not be evicted. */
  isPinned(slot: Slot): boolean {
    return (this.#marks[slot]! & (UNREPLAYED | CALLING)) !== 0;
  }

  /** While requests of a key wait for a call to the origin, memory allows none beside it. */
  isCalling(slot: Slot): boolean {
    return (this.#marks[slot]! & CALLING) !== 0;
  }

  markCalling(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! | CALLING;
  }

  unmarkCalling(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! & ~CALLING;
  }

  /**
   * Ends the call of a slot that is about to be turned forward by more than one window, by a clock that jumped: after that it does not hold the
   * window of the call.
   */
  endCallBefore(slot: Slot, sequence: Sequence): void {
    if (this.isCalling(slot) && sequence - this.#table.sequence(slot) > 1) this.onGiveUp(slot);
  }

  /** From the next claim on, slots count under a new writer id: what was counted may be forgotten here, not elsewhere. */
  renewWriter(): void {
    this.#hasEvicted = true;
  }

  claimed(slot: Slot, key: Key): void {
    if (this.#hasEvicted) {
      this.#hasEvicted = false;
      this.#generation++;
      this.#writer = `${this.incarnation}.${this.#generation}`;
    }
    const { workspace, namespace, identifier, durationMs } = key;
    const kept = {
      workspace: this.#texts.share(workspace),
      namespace: this.#texts.share(namespace),
      identifier: detach(identifier),
      durationMs,
    };
    const bytes = nameBytes(kept);
    this.#names[slot] = { key: kept, bytes, writer: this.#writer, reported: null };
    this.budget.add(slot, bytes);
  }

  /** The slot is about to be released. `isOver`: because its cells have expired and matter no more. */
  released(slot: Slot, isOver: boolean): void {
    const sequence = this.#table.sequence(slot);
    const hadOwn = this.#table.own(slot, sequence) + this.#table.own(slot, (sequence - 1) as Sequence) > 0;
    if (!isOver && hadOwn) this.#hasEvicted = true;
    if (!isOver && (this.#marks[slot]! & UNREPLAYED) !== 0) this.#orphan(slot, sequence);
    if (this.#replays) this.unreplayed.delete(slot);
    if (this.#publishes) this.unpublished.delete(slot);
    this.#marks[slot] = 0;
    this.#confirmed[slot] = 0;
    this.#limits?.forget(slot);
    const name = this.#names[slot];
    if (name !== undefined) this.budget.remove(slot, name.bytes);
    this.#names[slot] = undefined;
  }

  /**
   * Gives up what a slot of a later window counted, after a clock that was followed back, and begins its key anew at
   * `sequence`. Where the origin knows the count under the slot's writer id it cannot be turned back: it must not be
   * counted from zero again under that id.
   */
  giveUp(slot: Slot, key: Key, sequence: Sequence): void {
    const isCalling = this.isCalling(slot);
    // What a call may have counted is counted under the old writer id, so the call ends first.
    if (isCalling) this.onGiveUp(slot);
    this.released(slot, false);
    this.#table.restart(slot, sequence);
    this.claimed(slot, key);
    if (isCalling) this.markCalling(slot);
  }

  /** Cost was added to the slot's current cell, under this limit. */
  accepted(slot: Slot, limit: number): void {
    this.acceptedAt(slot, this.#table.sequence(slot), limit);
  }

  /** The same of the cell at `sequence`. */
  acceptedAt(slot: Slot, sequence: Sequence, limit: number): void {
    this.#limits?.raise(slot, sequence, limit);
    this.#rose(slot);
  }

  /** Cost was charged to the slot's current cell, under this limit. */
  charged(slot: Slot, limit: number): void {
    this.#limits?.charge(slot, this.#table.sequence(slot), limit);
    this.#rose(slot);
  }

  #rose(slot: Slot): void {
    if ((this.#marks[slot]! & this.#marksAll) === this.#marksAll) return;
    if (this.#replays) this.markUnreplayed(slot);
    this.regionalRose(slot);
  }

  markUnreplayed(slot: Slot): void {
    const marks = this.#marks[slot]!;
    if ((marks & UNREPLAYED) !== 0) return;
    this.#marks[slot] = marks | UNREPLAYED;
    this.unreplayed.add(slot);
  }

  markReplayed(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! & ~UNREPLAYED;
    this.unreplayed.delete(slot);
  }

  regionalRose(slot: Slot): void {
    const marks = this.#marks[slot]!;
    if (!this.#publishes || (marks & UNPUBLISHED) !== 0) return;
    this.#marks[slot] = marks | UNPUBLISHED;
    this.unpublished.add(slot);
  }

  /** The slot was requested with a lower limit than before: what its region has of it may now be worth publishing. */
  limitFell(slot: Slot): void {
    this.regionalRose(slot);
  }

  /** The highest limit under which this process accepted cost in a cell; Infinity if it accepted none, or without a global layer. */
  limitHigh(slot: Slot, sequence: Sequence): number {
    return this.#limits?.read(slot, sequence) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether this process charged cost in a cell; false without a global layer. */
  isCharged(slot: Slot, sequence: Sequence): boolean {
    return this.#limits?.isCharged(slot, sequence) === true;
  }

  /** Whether it did, and no row of the cell says so yet, as far as is known here. */
  isChargeUntold(slot: Slot, sequence: Sequence): boolean {
    return this.isCharged(slot, sequence) && (this.#confirmed[slot]! & (TOLD << (sequence & 1))) === 0;
  }

  /** The global store has a row of the cell that says that it was charged. */
  confirmCharge(slot: Slot, sequence: Sequence): void {
    this.#confirmed[slot] = this.#confirmed[slot]! | (TOLD << (sequence & 1));
  }

  markPublished(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! & ~(UNPUBLISHED | UNSEEN);
    this.unpublished.delete(slot);
  }

  isUnseen(slot: Slot): boolean {
    return (this.#marks[slot]! & UNSEEN) !== 0;
  }

  /** What was published of the slot is not in the global store: it must be sent again. */
  markUnseen(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! | UNSEEN;
    this.regionalRose(slot);
  }

  /** A pass over the global store begins: nothing is confirmed by it yet. */
  forgetConfirmed(): void {
    this.#confirmed.fill(0, 0, this.#table.highWater);
  }

  /** The global store has, or took, what was published of this cell. */
  confirm(slot: Slot, sequence: Sequence): void {
    this.#confirmed[slot] = this.#confirmed[slot]! | (1 << (sequence & 1));
  }

  isConfirmed(slot: Slot, sequence: Sequence): boolean {
    return (this.#confirmed[slot]! & (1 << (sequence & 1))) !== 0;
  }

  isMeasured(slot: Slot): boolean {
    return (this.#marks[slot]! & MEASURED) !== 0;
  }

  markMeasured(slot: Slot): void {
    this.#marks[slot] = this.#marks[slot]! | MEASURED;
  }

  /** Forgets orphans whose cells have expired. */
  dropOrphans(wallMs: number): void {
    let live = 0;
    for (const orphan of this.orphans) {
      if (orphan.expiresAtMs > wallMs) this.orphans[live++] = orphan;
      else this.#orphanBytes -= orphanBytes(orphan);
    }
    this.orphans.length = live;
  }

  /** The origin has this total. */
  settleOrphan(orphan: Orphan): void {
    const at = this.orphans.indexOf(orphan);
    if (at === -1) return;
    this.orphans.splice(at, 1);
    this.#orphanBytes -= orphanBytes(orphan);
  }

  #orphan(slot: Slot, sequence: Sequence): void {
    const name = this.#names[slot];
    if (name === undefined) return;
    const key = encodeKey(name.key);
    for (const at of [sequence, (sequence - 1) as Sequence]) {
      const total = this.#table.own(slot, at);
      const unconfirmed = total - this.#table.replayed(slot, at);
      if (unconfirmed <= 0) continue;
      const expiresAtMs = cellExpiryMs(at, name.key.durationMs);
      const orphan = { key, sequence: at, writer: name.writer, total, unconfirmed, expiresAtMs };
      this.orphans.push(orphan);
      this.#orphanBytes += orphanBytes(orphan);
    }
    let dropped = 0;
    while (this.orphans.length - dropped > ORPHANS_MAX || this.#orphanBytes > ORPHANS_MAX_BYTES) {
      this.#orphanBytes -= orphanBytes(this.orphans[dropped++]!);
    }
    this.orphans.splice(0, dropped);
  }
}

function orphanBytes({ key }: Orphan): number {
  return ORPHAN_BYTES + textBytes(key);
}
