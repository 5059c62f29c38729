/**
 * Publish: writes what this region has accepted to the global store, for the other regions.
 *
 * Only the regional count is sent, never what was imported: a count that came back to its owner would be counted twice.
 * A cell is sent when it has risen since its last successful publish and is either above the floor or in use elsewhere
 * already. `published` moves only after success, or when the region's row was imported and is as high; a row that has gone
 * missing from the store is sent again.
 *
 * A round examines the keys that are due (`ledger.unpublished`). A key that stays below the floor is not due any more until its
 * count or its lowest limit changes, it is used elsewhere, or the store lost its row; each of these marks it again. A new floor
 * makes every key with an unpublished count due once. So idle keys cost nothing.
 *
 * A cell that is new to the store needs room in the row budget (row-budget.ts). Where room is scarce, new cells wait for the end of the
 * round, and those nearest to their limit are taken first. A refused key is not due any more either, until one of the above happens or
 * room was freed.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import { nextTurn, pause } from "../core/turns.ts";
import { type CellTable, NONE } from "../engine/cell-table.ts";
import { encodeKey } from "../engine/key.ts";
import type { Ledger, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import { USE_LEVELS, useLevel } from "../engine/use-level.ts";
import type { CounterRow, Counters } from "./counters.ts";
import { type Floor, hiddenMax } from "./floor.ts";
import type { RowBudget } from "./row-budget.ts";

interface Entry {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly row: CounterRow;
  /** Whether the store has no row of the cell, as far as is known here: it needs room. */
  readonly isNew: boolean;
}

/** Slots with new cells that wait for the end of a round, by how near they are to their limit. */
type Waiting = readonly Slot[][];

/** Rows of one call: one statement of SQL. What is left goes out in the next call of the same round. */
const ROWS_MAX = 512;
/** Slots that are examined in one turn of the event loop, at 0.3 µs each, and ten times that on a busy machine. */
const SLOTS_PER_TURN_MAX = 2_000;
/** Slots of one turn where most are passed over: at 20 ns each, before the code is compiled at 300. */
const PASSED_MAX = 10_000;
/** While closing, a publish that failed is tried again after this long. */
const CLOSE_RETRY_MS = 50;

export interface PublishOptions {
  readonly region: string;
  readonly durationMinMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
  readonly budget: RowBudget;
}

export class Publish {
  readonly #table: CellTable;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: PublishOptions;
  rows = 0;
  failed = 0;
  /** The floor of the last round; null before the first. Every key that is not due was examined with it, or with none lower. */
  #floor: Floor | null = null;
  /** The number of the latest round: an older one that is still under way goes no further. */
  #round = 0;
  /** Monotonic clock. */
  #lastMs: number;

  constructor(table: CellTable, ledger: Ledger, counters: Counters, options: PublishOptions) {
    this.#table = table;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#options = options;
    this.#lastMs = options.clock.monoMs();
  }

  /** How long ago a round last sent all that was due; before the first, how long ago this began. */
  get ageMs(): number {
    return this.#options.clock.monoMs() - this.#lastMs;
  }

  /** A round that is under way goes no further. */
  stop(): void {
    this.#round++;
  }

  /**
   * Sends what is due, oldest first, in calls of a bounded size and turns of bounded work. Rejects if the store fails; what was
   * not sent is due again.
   */
  async publishOnce(floor: Floor): Promise<void> {
    await this.#publish(floor, true);
  }

  /** @param isAlive whether a call is made even if nothing is due: it keeps the region live. */
  async #publish(floor: Floor, isAlive: boolean): Promise<void> {
    const { clock, budget } = this.#options;
    const round = ++this.#round;
    if ((this.#isNew(floor) || budget.takeFreed()) && !(await this.#examineAll(round))) return;
    this.#floor = floor;
    const waiting: Waiting = Array.from({ length: USE_LEVELS }, () => []);
    const { rows } = this;
    const isDone =
      (await this.#sendEach(this.#dueSlots(), (slot) => this.#look(slot, floor, waiting), round)) &&
      (await this.#sendEach(inOrder(waiting), (slot) => this.#look(slot, floor, null), round));
    if (!isDone) return;
    if (isAlive && this.rows === rows) await this.#send([]);
    this.#lastMs = clock.monoMs();
  }

  /** Keys that become due during a round wait for the next: a busy region must not prolong one without end. */
  *#dueSlots(): Iterable<Slot> {
    const { unpublished } = this.#ledger;
    for (let left = unpublished.size; left > 0; left--) {
      const slot = unpublished.rotate();
      if (slot === NONE) return;
      yield slot;
    }
  }

  /** Sends what is found of the slots. False if another round has begun since. */
  async #sendEach(slots: Iterable<Slot>, look: (slot: Slot) => readonly Entry[], round: number): Promise<boolean> {
    let due: Entry[] = [];
    let looks = 0;
    for (const slot of slots) {
      due.push(...look(slot));
      // A slot has two cells at most.
      const isFull = due.length > ROWS_MAX - 2;
      if (!isFull && ++looks < SLOTS_PER_TURN_MAX) continue;
      if (isFull) {
        await this.#send(due);
        due = [];
      }
      looks = 0;
      await nextTurn(this.#options.timers);
      if (this.#round !== round) {
        this.#giveBack(due);
        return false;
      }
    }
    if (due.length > 0) await this.#send(due);
    return true;
  }

  /** Rounds until nothing is due any more, or the time is over. Never rejects. */
  async publishUntil(floor: Floor, endMs: number): Promise<void> {
    const { clock, timers } = this.#options;
    while (clock.monoMs() < endMs) {
      const isSent = await this.#publish(floor, false).then(
        () => true,
        () => false,
      );
      if (isSent && this.#ledger.unpublished.size === 0) return;
      // The caller does not wait beyond the end, and no timer may be left then.
      if (clock.monoMs() + CLOSE_RETRY_MS >= endMs) return;
      await pause(timers, CLOSE_RETRY_MS);
    }
  }

  /**
   * Accepted cost that the global store has not confirmed, of cells that still matter and that it stores at all (windows of at
   * least `durationMinMs`). Cost that the ledger holds as unreplayed is left out: it is counted as lost already.
   */
  async unstored(): Promise<number> {
    const { timers, clock, durationMinMs } = this.#options;
    const table = this.#table;
    let sum = 0;
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (slot % PASSED_MAX === PASSED_MAX - 1) await nextTurn(timers);
      const durationMs = this.#ledger.name(slot)?.key.durationMs;
      if (durationMs === undefined || durationMs < durationMinMs) continue;
      const sequence = table.sequence(slot);
      for (const at of [sequence, (sequence - 1) as Sequence]) {
        if (cellExpiryMs(at, durationMs) > clock.wallMs()) sum += this.#unstoredOf(slot, at);
      }
    }
    return sum;
  }

  #unstoredOf(slot: Slot, at: Sequence): number {
    const table = this.#table;
    const own = table.own(slot, at);
    const isGone = this.#ledger.isUnseen(slot) && !this.#ledger.isConfirmed(slot, at);
    const missing = table.regional(slot, at) - (isGone ? 0 : table.published(slot, at));
    const unreplayed = this.#ledger.isPinned(slot) ? own - table.replayed(slot, at) : 0;
    // The row is the region's: of what it lacks, at most `own` is this process's.
    return Math.max(0, Math.min(own, missing) - unreplayed);
  }

  /** Whether a key that was left unpublished by the last round may not be by this one. Before the first, all keys are due. */
  #isNew({ part, regionsLive }: Floor): boolean {
    const last = this.#floor;
    return last !== null && (last.part !== part || last.regionsLive !== regionsLive);
  }

  /** Makes every key due that has something unpublished. False if another round has begun since. */
  async #examineAll(round: number): Promise<boolean> {
    const table = this.#table;
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (slot % PASSED_MAX === PASSED_MAX - 1) await nextTurn(this.#options.timers);
      if (this.#round !== round) return false;
      if (!table.isFree(slot) && this.#hasUnpublished(slot)) this.#ledger.regionalRose(slot);
    }
    return true;
  }

  async #send(entries: readonly Entry[]): Promise<void> {
    try {
      await this.#counters.publish(
        this.#options.region,
        entries.map(({ row }) => row),
      );
    } catch (error) {
      this.failed++;
      this.#giveBack(entries);
      throw error;
    }
    this.rows += entries.length;
    for (const { row, isNew } of entries) if (isNew) this.#options.budget.written(row.key);
    for (const entry of entries) this.#settle(entry);
    for (const { slot, name } of entries) {
      const isSame = this.#ledger.name(slot) === name;
      if (isSame && !this.#ledger.isUnseen(slot) && !this.#hasUnpublished(slot)) this.#ledger.markPublished(slot);
    }
  }

  #giveBack(entries: readonly Entry[]): void {
    for (const { row, isNew } of entries) if (isNew) this.#options.budget.giveBack(row.key);
  }

  #settle({ slot, name, row }: Entry): void {
    const { clock, trace } = this.#options;
    const { count, isCharged } = row;
    const sequence = row.sequence as Sequence;
    trace?.({
      kind: "publish",
      key: encodeKey(name.key),
      sequence,
      count,
      wallMs: clock.wallMs(),
      monoMs: clock.monoMs(),
    });
    if (this.#ledger.name(slot) !== name) return;
    this.#table.raisePublished(slot, sequence, count);
    this.#ledger.confirm(slot, sequence);
    if (isCharged === true) this.#ledger.confirmCharge(slot, sequence);
  }

  /**
   * What is to be sent of a slot. One that has nothing to send, or no room, is not due any more.
   *
   * @param waiting takes the slot if a new cell of it must wait for the end of the round; null at the end.
   */
  #look(slot: Slot, floor: Floor, waiting: Waiting | null): readonly Entry[] {
    const { clock, durationMinMs, budget } = this.#options;
    const name = this.#ledger.name(slot);
    const isStored = name !== undefined && name.key.durationMs >= durationMinMs;
    const entries = isStored ? this.#entriesOf(slot, name, floor, clock.wallMs()) : [];
    const mustWait = waiting !== null && entries.some(({ isNew }) => isNew) && !budget.isAmple(name!.key);
    const sent = entries.filter(({ isNew, row }) => !isNew || (!mustWait && budget.take(row.key)));
    if (mustWait) waiting[this.#waitingLevel(slot)]!.push(slot);
    else if (sent.length === 0) this.#ledger.markPublished(slot);
    return sent;
  }

  /** Keys that other regions use too come first: there, an unknown count is excess now. */
  #waitingLevel(slot: Slot): number {
    const table = this.#table;
    return table.foreign(slot, table.sequence(slot)) > 0 ? 0 : useLevel(table, slot);
  }

  #entriesOf(slot: Slot, name: SlotName, floor: Floor, nowMs: number): Entry[] {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const hidden = hiddenMax(floor, table.limitLow(slot));
    const isAgain = this.#ledger.isUnseen(slot);
    const entries: Entry[] = [];
    for (const at of [(sequence - 1) as Sequence, sequence]) {
      const count = table.regional(slot, at);
      const expiresAtMs = cellExpiryMs(at, name.key.durationMs);
      if (count === 0 || expiresAtMs <= nowMs) continue;
      const isStored = table.published(slot, at) > 0;
      const isUnseen = isAgain && isStored && !this.#ledger.isConfirmed(slot, at);
      // Another process of the region may have published the count, without knowing that this one charged it.
      const mustSend = isUnseen || (isStored && this.#ledger.isChargeUntold(slot, at));
      if (count <= table.published(slot, at) && !mustSend) continue;
      if (count <= hidden && table.foreign(slot, at) === 0 && !mustSend) continue;
      const isNew = isUnseen || !isStored;
      const row = { key: name.key, sequence: at, count, expiresAtMs };
      entries.push({ slot, name, row: this.#ledger.isCharged(slot, at) ? { ...row, isCharged: true } : row, isNew });
    }
    return entries;
  }

  #hasUnpublished(slot: Slot): boolean {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const before = (sequence - 1) as Sequence;
    return (
      table.regional(slot, sequence) > table.published(slot, sequence) ||
      table.regional(slot, before) > table.published(slot, before)
    );
  }
}

function* inOrder(waiting: Waiting): Iterable<Slot> {
  for (const slots of waiting) yield* slots;
}
