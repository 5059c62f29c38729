/**
 * The denial channel: the first denial of a key in a window is written for all other regions, which then deny it too.
 *
 * Two filters: the window lasts at least one minute, or a row would arrive after it; and the region has accepted half of the limit
 * in this window, or one oversized request would block a customer everywhere. Rows are written in batches behind a breaker of their
 * own; a failing store drops them, and the denial stands in this region anyway.
 *
 * Invariant: a region's own rows never raise its own cells. A row says "full", not how much, so what is left of the limit here would
 * be lost. Own rows and rows of other regions only stop further rows with the same or a lower limit.
 *
 * One key may be requested with several limits. A denial under a higher limit than any that was reported is written too, and the
 * store keeps the highest. A client who names ever higher limits gets a bounded number of rows: WRITES_FREE, then one in each
 * sixteenth of the window. A cell that this region has not reported yet needs room in the row budget (row-budget.ts). Without it, its row waits
 * until room is freed or its window is over, and the denial stands in this region alone. At most REFUSED_MAX rows wait; a denial beyond them is
 * forgotten, and the key's next one after a sixteenth of the window tries again.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { Breaker } from "../core/breaker.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { type Pending, withDeadline } from "../core/deadline.ts";
import { SluiceError } from "../core/errors.ts";
import type { Trace } from "../core/trace.ts";
import { inTurns } from "../core/turns.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import { encodeKey } from "../engine/key.ts";
import type { Ledger, Reported, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs, sequenceAt } from "../engine/sequence.ts";
import type { Counters, DenialPage, DenialRow, DeniedCell } from "./counters.ts";
import { slotFor } from "./import.ts";
import { PageFollower } from "./page-follower.ts";
import type { RowBudget } from "./row-budget.ts";

/** Rows of one write; so many pending are written at once, fewer within a second. */
const ROWS_MAX = 100;
/** More than this, or more bytes of names, are not kept for a store that is slow: dropped, and counted. */
const PENDING_MAX = 10_000;
const PENDING_MAX_BYTES = 8 * 2 ** 20;
/** Rows that wait for room in the row budget, of up to 7 KiB each: 7 MiB. */
const REFUSED_MAX = 1_000;
const USED_MIN = 0.5;
/** Writing (1 s) and reading (10 s) take longer than shorter windows. Independent of `globalDurationMin`, which is about counts. */
const DURATION_MIN_MS = 60_000;
const WRITE_DEADLINE_MS = 5_000;
/** Rows of one key in one window that are written without delay, each with a higher limit than the one before. */
const WRITES_FREE = 4;
/** After those, one row in each such part of the window: at most 4 + 16 per key, window and process. */
const WRITES_PARTS = 16;
/** A full pass every five minutes: a cell that had no room is found again, a row that was committed very late is found. */
const FULL_EVERY = 30;
/** A pass that takes longer than this continues with the next import, so that new rows are not read late. */
const PASS_MS = 10_000;
/** Cells of the next window, from regions whose clocks are ahead, that are kept until it begins. */
const EARLY_MAX = 1_000;

export interface DenialOptions {
  readonly region: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
  readonly budget: RowBudget;
}

interface PendingRow {
  readonly row: DenialRow & { limit: number };
  readonly reported: Reported;
  readonly bytes: number;
  /** Whether the region has no row of the cell, as far as is known here: it took room. */
  readonly isNew: boolean;
}

export class DenialChannel {
  /** Called when a batch is full. Set by the layer that owns the rhythm. */
  onFull: () => void = () => {};
  readonly breaker: Breaker = new Breaker();
  /** Writes under way; calling one gives it up. */
  readonly pending: Pending = new Set();
  /** Denials of shorter windows stay in their region. */
  readonly durationMinMs: number = DURATION_MIN_MS;
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: DenialOptions;
  readonly #follower: PageFollower;
  readonly #pending: PendingRow[] = [];
  #pendingBytes = 0;
  /** Rows without room in the row budget, oldest first. */
  #refused: PendingRow[] = [];
  #early: DeniedCell[] = [];
  /** Rows written. */
  emitted = 0;
  dropped = 0;
  /** Cells raised, each time a row was read. */
  inflated = 0;
  /** Rows that are damaged. */
  junk = 0;
  /** Batches that the store did not take, those that the breaker stopped not included. */
  writesFailed = 0;
  readsFailed = 0;
  /** When a batch was last written; null: never. Monotonic clock. */
  #writtenMs: number | null = null;
  /** When a round last ended with nothing left to write and nothing dropped. Monotonic clock. */
  #upToDateMs: number;

  constructor(engine: Engine, ledger: Ledger, counters: Counters, options: DenialOptions) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#options = options;
    const { clock } = options;
    this.#upToDateMs = clock.monoMs();
    this.#follower = new PageFollower({
      fullEvery: FULL_EVERY,
      clock,
      read: (cursor) => this.#read(cursor),
    });
  }

  /** Whether the active rows were read once, to their end. */
  get isRead(): boolean {
    return this.#follower.isDone;
  }

  /** Since the rows of other regions were last read; before the first time, since the start. */
  get readAgeMs(): number {
    return this.#follower.ageMs;
  }

  /** Since a batch was last written; null if none was. */
  get writeAgeMs(): number | null {
    return this.#writtenMs === null ? null : this.#options.clock.monoMs() - this.#writtenMs;
  }

  /** Since this region's denials had all been written; before the first round, since the start. */
  get upToDateAgeMs(): number {
    return this.#options.clock.monoMs() - this.#upToDateMs;
  }

  /** Rows that wait to be written. */
  get waiting(): number {
    return this.#pending.length;
  }

  /**
   * Called for every denial for lack of room. What counts as used is what this region has accepted in this very window: a
   * share of the window before, or a count that a row has raised, would let one row follow from another for ever.
   */
  noteDenial(slot: Slot, sequence: Sequence, durationMs: DurationMs, limit: number): void {
    const used = this.#engine.table.regional(slot, sequence);
    if (durationMs < this.durationMinMs || used < limit * USED_MIN) return;
    const name = this.#ledger.name(slot)!;
    const reported = this.#reportedOf(name, sequence);
    if (limit <= reported.limit) return;
    if (reported.pending !== null) {
      reported.limit = limit;
      reported.pending.limit = limit;
      return;
    }
    const nowMs = this.#options.clock.monoMs();
    const isNew = reported.writes === 0;
    // Not remembered: the same denial is written once its time has come.
    if ((isNew || reported.writes >= WRITES_FREE) && nowMs < reported.nextMs) return;
    reported.nextMs = nowMs + durationMs / WRITES_PARTS;
    const row = { key: name.key, sequence, limit, expiresAtMs: cellExpiryMs(sequence, durationMs) };
    const pending = { row, reported, bytes: name.bytes, isNew };
    if (isNew && !this.#options.budget.take(name.key)) {
      if (this.#refused.length >= REFUSED_MAX) return;
      reported.limit = limit;
      reported.pending = row;
      this.#refused.push(pending);
      return;
    }
    reported.limit = limit;
    this.#enqueue(pending);
  }

  /** A row that has room in the row budget, or needs none. */
  #enqueue(pending: PendingRow): void {
    const { row, reported, bytes, isNew } = pending;
    reported.writes++;
    if (this.#pending.length >= PENDING_MAX || this.#pendingBytes >= PENDING_MAX_BYTES) {
      this.dropped++;
      reported.pending = null;
      if (isNew) this.#options.budget.giveBack(row.key);
      return;
    }
    reported.pending = row;
    this.#pending.push(pending);
    this.#pendingBytes += bytes;
    if (this.#pending.length === ROWS_MAX) this.onFull();
  }

  /** Rows whose windows are over are left out: the key may have been denied again since, with a row of its own. */
  #retryRefused(): void {
    const { budget } = this.#options;
    if (!budget.takeFreed()) return;
    const nowMs = this.#engine.clock.nowMs();
    const refused = this.#refused;
    this.#refused = [];
    for (const pending of refused) {
      const { row, reported } = pending;
      if (sequenceAt(nowMs, row.key.durationMs) !== row.sequence) reported.pending = null;
      else if (budget.take(row.key)) this.#enqueue(pending);
      else this.#refused.push(pending);
    }
  }

  /** Writes what is pending. Never rejects: what a failing store does not take is dropped. */
  async writeOnce(): Promise<void> {
    const { clock } = this.#options;
    const { dropped } = this;
    this.#retryRefused();
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, ROWS_MAX);
      for (const { reported, bytes } of batch) {
        reported.pending = null;
        this.#pendingBytes -= bytes;
      }
      await this.#write(batch);
    }
    if (this.dropped === dropped && this.#refused.length === 0) this.#upToDateMs = clock.monoMs();
  }

  async #write(batch: readonly PendingRow[]): Promise<void> {
    const { clock, region, timers, budget } = this.#options;
    const rows = batch.map(({ row }) => row);
    const taken = batch.flatMap(({ row, isNew }) => (isNew ? [row] : []));
    if (!this.breaker.admit(clock.monoMs())) {
      this.dropped += rows.length;
      for (const { key } of taken) budget.giveBack(key);
      return;
    }
    const write = () => this.#counters.denials.write(region, rows);
    const { kind } = await withDeadline(write, WRITE_DEADLINE_MS, timers, this.pending);
    if (kind === "done") {
      this.breaker.succeeded(clock.monoMs());
      this.#writtenMs = clock.monoMs();
      this.emitted += rows.length;
      for (const { key } of taken) budget.written(key);
      for (const row of rows) this.#emit("denial", row);
    } else {
      this.breaker.failed(clock.monoMs());
      this.writesFailed++;
      this.dropped += rows.length;
      for (const { key } of taken) budget.giveBack(key);
    }
  }

  /** Reads the rows that changed, and raises the cells of other regions' rows until their view reaches the limit. A full pass goes on for `budgetMs` at most. Rejects on failure. */
  async importOnce(budgetMs: number = PASS_MS): Promise<void> {
    const early = this.#early;
    this.#early = [];
    for (const cell of early) this.#mergeLegal(cell);
    try {
      await this.#follower.followOnce(budgetMs);
    } catch (error) {
      this.readsFailed++;
      throw error;
    }
  }

  async #read(cursor: string | null): Promise<DenialPage> {
    const { denials } = this.#counters;
    const { region, timers, budget } = this.#options;
    // A store without `read` answers everything, whatever the cursor.
    const asked = denials.read === undefined ? null : cursor;
    if (asked === null) budget.passBegins();
    const page = denials.read === undefined ? await this.#readActive() : await denials.read(region, cursor);
    const cells = page.cells.map(({ key, ownLimit }) => ({ key, own: ownLimit === null ? 0 : 1 }));
    budget.passed(asked, { ...page, cells });
    await inTurns(page.cells, timers, (cell) => this.#mergeLegal(cell));
    return page;
  }

  /** From a store that cannot answer in pages: all rows, every time. */
  async #readActive(): Promise<DenialPage> {
    const { region, clock } = this.#options;
    const rows = await this.#counters.denials.active(clock.wallMs());
    const cells = rows.map(({ key, sequence, limit, region: owner }) =>
      owner === region
        ? { key, sequence, foreignLimit: null, ownLimit: limit }
        : { key, sequence, foreignLimit: limit, ownLimit: null },
    );
    return { cells, cursor: "" };
  }

  /** A row that no process of this version would write must not hide those behind it. */
  #mergeLegal(cell: DeniedCell): void {
    try {
      this.#merge(cell);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.junk++;
    }
  }

  #merge(cell: DeniedCell): void {
    const { key, foreignLimit, ownLimit } = cell;
    const sequence = cell.sequence as Sequence;
    if (!isLimit(foreignLimit) || !isLimit(ownLimit)) {
      this.junk++;
      return;
    }
    // Nothing is claimed for a key that only this region reported.
    const slot = foreignLimit === null ? this.#engine.slotOf(key) : slotFor(this.#engine, key, sequence);
    if (slot === NONE) {
      this.#keepEarly(cell);
      return;
    }
    const { table } = this.#engine;
    if (table.sequence(slot) === sequence) {
      const reported = this.#reportedOf(this.#ledger.name(slot)!, sequence);
      reported.limit = Math.max(reported.limit, foreignLimit ?? -1, ownLimit ?? -1);
    }
    if (foreignLimit === null) return;
    table.raiseForeign(slot, sequence, foreignLimit - table.regional(slot, sequence));
    this.inflated++;
    this.#emit("inflate", { ...cell, limit: foreignLimit });
  }

  /** A window that begins soon is tried again with the next import; the store answers its row only once. */
  #keepEarly(cell: DeniedCell): void {
    const { key, sequence } = cell;
    const isNext = sequence === sequenceAt(this.#engine.clock.nowMs(), key.durationMs) + 1;
    if (isNext && this.#early.length < EARLY_MAX) this.#early.push(cell);
  }

  #reportedOf(name: SlotName, sequence: Sequence): Reported {
    if (name.reported?.sequence !== sequence) {
      name.reported = { sequence, limit: -1, writes: 0, nextMs: 0, pending: null };
    }
    return name.reported;
  }

  #emit(kind: "denial" | "inflate", { key, sequence, limit }: Pick<DenialRow, "key" | "sequence" | "limit">): void {
    const { trace, clock } = this.#options;
    trace?.({ kind, key: encodeKey(key), sequence, count: limit, wallMs: clock.wallMs(), monoMs: clock.monoMs() });
  }
}

function isLimit(limit: number | null): boolean {
  return limit === null || (Number.isSafeInteger(limit) && limit >= 0);
}
