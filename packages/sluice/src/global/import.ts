/**
 * Import: learns what the other regions have accepted.
 *
 * The foreign sum is merged by max: a lagging replica can only be late. The region's own row raises `others` as a lower
 * bound (somebody in this region knew of that much), and makes nothing fresh. Reads are incremental; a full pass from time
 * to time, and after every failure, brings what was missed: cells that had no room, and rows of this region's that the store has
 * lost, which are then published again. A store that knows that it was emptied says so, and the pass is now. Rows of windows that
 * have not begun here are kept until they begin (future-cells.ts).
 *
 * Answers are merged in turns of the event loop. A full pass that does not fit one import goes on in the next, behind what has
 * changed meanwhile.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import type { Trace } from "../core/trace.ts";
import { inTurns, nextTurn } from "../core/turns.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { Ledger } from "../engine/ledger.ts";
import { sequenceAt } from "../engine/sequence.ts";
import type { Counters, ImportedCell, ImportPage } from "./counters.ts";
import { FutureCells } from "./future-cells.ts";
import { OverAdmissions } from "./over-admission.ts";
import type { RowBudget } from "./row-budget.ts";

/** Every how many imports everything is read: with the jitter, a publish and time for both, a lost table is full again in 10 s. */
const FULL_EVERY = 8;
/** Slots that are looked at in one turn of the event loop, at 20 ns each; the first time, before it is compiled, at 300. */
const SLOTS_PER_TURN_MAX = 10_000;

export interface ImportOptions {
  readonly region: string;
  /** A full pass is left for the next import after this long. */
  readonly importMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
  /** Learns from full passes how many rows of this region there are. */
  readonly budget: RowBudget;
}

export class Import {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: ImportOptions;
  readonly #clock: Clock;
  /** How far windows that are over went beyond their limits. */
  readonly overAdmissions: OverAdmissions;
  #cursor: string | null = null;
  /** Imports until the next full pass; 0: the next one begins it. */
  #untilFull = 0;
  /** What is left of the full pass under way. */
  #rest: string | undefined;
  /** Cells whose windows have not begun by this process's clock. */
  readonly #future = new FutureCells();
  /** Regions that are alive, this one included, as last heard. */
  regionsLive = 1;
  cells = 0;
  /** Cells of the last full pass of which this region had published a count. */
  ownRows = 0;
  failed = 0;
  junk = 0;
  /** Monotonic clock; 0: never. */
  #lastMs: number;

  constructor(engine: Engine, ledger: Ledger, counters: Counters, options: ImportOptions) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#options = options;
    this.#clock = options.clock;
    this.#lastMs = options.clock.monoMs();
    this.overAdmissions = new OverAdmissions(ledger, engine.table.capacity);
  }

  /** How long ago the last import succeeded; before the first, how long ago this began. */
  get ageMs(): number {
    return this.#clock.monoMs() - this.#lastMs;
  }

  /** Reads what changed, or all, and merges it. A full pass goes on for `budgetMs` at most. Rejects if the store fails. */
  async importOnce(budgetMs: number = this.#options.importMs): Promise<void> {
    const untilMs = this.#clock.monoMs() + budgetMs;
    try {
      await inTurns(this.#future.takeBegun(this.#nowMs), this.#options.timers, (cell) => this.#mergeLegal(cell));
      const isPassDue = this.#untilFull === 0 || this.#future.isPassDue(this.#nowMs);
      if (isPassDue && this.#rest === undefined) await this.#beginPass();
      else await this.#follow();
      while (this.#rest !== undefined && this.#clock.monoMs() < untilMs) await this.#goOn(this.#rest);
    } catch (error) {
      this.failed++;
      this.#untilFull = 0;
      this.#rest = undefined;
      throw error;
    }
  }

  get #nowMs(): number {
    return this.#engine.clock.nowMs();
  }

  /** Everything that changed since the last time. The cursor moves only when all of it was read. */
  async #follow(): Promise<void> {
    this.#untilFull = Math.max(0, this.#untilFull - 1);
    let ask = this.#cursor;
    for (let page: ImportPage; ask !== null; ask = page.rest ?? null) {
      page = await this.#read(ask);
      if (page.rest === undefined || page.isAll === true) this.#cursor = page.cursor;
      if (page.isAll !== true) continue;
      this.#untilFull = FULL_EVERY - 1;
      return this.#endPass(page);
    }
    this.#lastMs = this.#clock.monoMs();
  }

  async #beginPass(): Promise<void> {
    this.#untilFull = FULL_EVERY - 1;
    this.#future.passBegins();
    this.#ledger.forgetConfirmed();
    this.ownRows = 0;
    this.#options.budget.passBegins();
    const page = await this.#read(null);
    // What changed before a pass of several pages began is still to be followed, if anything was.
    if (page.rest === undefined || this.#cursor === null) this.#cursor = page.cursor;
    await this.#endPass(page);
  }

  async #goOn(rest: string): Promise<void> {
    await this.#endPass(await this.#read(rest));
  }

  async #endPass({ rest }: ImportPage): Promise<void> {
    this.#rest = rest;
    if (rest !== undefined) return;
    this.#lastMs = this.#clock.monoMs();
    await this.#markUnseen();
  }

  /** One answer, merged in turns. */
  async #read(cursor: string | null): Promise<ImportPage> {
    const page = await this.#counters.read(this.#options.region, cursor);
    if (page.isAll === true) this.#ledger.forgetConfirmed();
    this.regionsLive = Math.max(1, Number.isSafeInteger(page.regionsLive) ? page.regionsLive : 1);
    this.#options.budget.passed(cursor, page);
    await inTurns(page.cells, this.#options.timers, (cell) => this.#mergeLegal(cell));
    return page;
  }

  /** A row that no process of this version would write (another tool did, or it was damaged) must not hide those behind it. */
  #mergeLegal(cell: ImportedCell): void {
    try {
      this.#merge(cell);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.junk++;
    }
  }

  #merge(cell: ImportedCell): void {
    const { key, sequence, foreign, own, isCharged } = cell;
    if (!isAmount(foreign) || !isAmount(own)) {
      this.junk++;
      return;
    }
    if (own > 0) this.ownRows++;
    const at = sequence as Sequence;
    if (at > sequenceAt(this.#nowMs, key.durationMs)) {
      this.#future.keep(cell, this.#nowMs);
      return;
    }
    const slot = slotFor(this.#engine, key, at);
    if (slot === NONE) return;
    const { table } = this.#engine;
    if (own >= table.published(slot, at)) this.#ledger.confirm(slot, at);
    const regional = table.regional(slot, at);
    table.raiseForeign(slot, at, foreign);
    // The row may have the cost of a call to the origin that is under way, which `own` has not: it would be counted twice. The next
    // import brings the row again.
    const isCalling = this.#ledger.isCalling(slot);
    if (!isCalling) table.raiseOthers(slot, at, own - table.own(slot, at));
    table.raisePublished(slot, at, own);
    // In use elsewhere: what this region has of it is worth publishing now, however little.
    if (foreign > 0 || table.regional(slot, at) > regional) this.#ledger.regionalRose(slot);
    if (isCharged === true) this.#ledger.confirmCharge(slot, at);
    else if (this.#ledger.isChargeUntold(slot, at)) this.#ledger.regionalRose(slot);
    if (at < table.sequence(slot)) this.#measure(slot, at, own + foreign, isCharged === true);
    this.cells++;
    this.#options.trace?.({
      kind: "import",
      key: encodeKey(key),
      sequence,
      count: foreign,
      own: isCalling ? 0 : own,
      wallMs: this.#clock.wallMs(),
      monoMs: this.#clock.monoMs(),
    });
  }

  /** A cell that was charged may exceed its limit: that is an overdraft, and nothing was admitted too much. */
  #measure(slot: Slot, at: Sequence, total: number, isCharged: boolean): void {
    const limit = this.#ledger.limitHigh(slot, at);
    if (total > limit && (isCharged || this.#ledger.isCharged(slot, at))) return;
    this.overAdmissions.measure(slot, at, total, limit);
  }

  /** After a full pass: published cells whose row was not there, or was too low, are sent again. */
  async #markUnseen(): Promise<void> {
    const { table } = this.#engine;
    // Stryker disable next-line EqualityOperator: <= looks at a free slot, or at nothing that was published; >= was killed
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (slot % SLOTS_PER_TURN_MAX === SLOTS_PER_TURN_MAX - 1) await nextTurn(this.#options.timers);
      if (table.isFree(slot)) continue;
      const sequence = table.sequence(slot);
      if (this.#isGone(slot, sequence) || this.#isGone(slot, (sequence - 1) as Sequence)) this.#ledger.markUnseen(slot);
    }
  }

  #isGone(slot: Slot, sequence: Sequence): boolean {
    return this.#engine.table.published(slot, sequence) > 0 && !this.#ledger.isConfirmed(slot, sequence);
  }
}

/** The slot that can hold a cell of another region's: the key's own, or a new one where there is room. NONE otherwise. */
export function slotFor(engine: Engine, key: Key, sequence: Sequence): Slot {
  const { table } = engine;
  const nowMs = engine.clock.nowMs();
  const current = sequenceAt(nowMs, key.durationMs);
  if (sequence !== current && sequence !== current - 1) return NONE;
  let slot = engine.slotOf(key);
  if (slot === NONE) {
    // Nothing is evicted for a key that nobody has asked about here.
    if (!engine.hasRoomFor(key)) return NONE;
    slot = engine.claimFor(key, current, nowMs);
  } else {
    // Stryker disable next-line EqualityOperator: <= turns a slot to its own window, where it stays as it is; >= was killed
    if (table.sequence(slot) < current) {
      engine.layers?.giveUpLater(slot, key, current);
      table.rotate(slot, current);
    }
  }
  return slot;
}

/** Beyond the safe integers a sum is not exact, but large: the cell table takes its maximum for it. */
function isAmount(count: number): boolean {
  return Number.isInteger(count) && count >= 0;
}
