/**
 * The denial channel (spec 000): the first denial of a key in a window is told to all regions, which then deny too.
 *
 * Two filters: the window must be long enough to be told in time, and the key must have used half of its limit before the
 * request that was denied, or one oversized request would block a customer everywhere. A cell that was raised by a row
 * never emits one. Written in batches behind a breaker of its own; a sick store drops them, and the denial stands here all
 * the same.
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
import type { Ledger, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import type { Counters, DenialRow } from "./counters.ts";
import { slotFor } from "./import.ts";

/** Rows of one write; so many pending are written at once, fewer within a second. */
const ROWS_MAX = 100;
/** More than this are not kept for a store that is slow: dropped, and counted. */
const PENDING_MAX = 10_000;
const USED_MIN = 0.5;
const WRITE_DEADLINE_MS = 5_000;

export interface DenialOptions {
  readonly region: string;
  readonly durationMinMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
}

export class DenialChannel {
  /** Called when a batch is full. Set by the layer that owns the rhythm. */
  onFull: () => void = () => {};
  readonly breaker: Breaker = new Breaker();
  /** Writes under way; calling one gives it up. */
  readonly pending: Pending = new Set();
  /** Denials of shorter windows stay in their region. */
  readonly durationMinMs: number;
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: DenialOptions;
  readonly #pending: DenialRow[] = [];
  /** The window for which a key with a slot has emitted, or was raised by, a row. */
  readonly #settled = new WeakMap<SlotName, Sequence>();
  emitted = 0;
  dropped = 0;
  inflated = 0;
  /** Rows that are none. */
  junk = 0;

  constructor(engine: Engine, ledger: Ledger, counters: Counters, options: DenialOptions) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#options = options;
    this.durationMinMs = options.durationMinMs;
  }

  /**
   * Hears of every denial for want of room. What counts as used is what this region has accepted in this very window: a
   * share of the window before, or a count that a row has raised, would let one row follow from another for ever.
   */
  hear(slot: Slot, sequence: Sequence, durationMs: DurationMs, limit: number): void {
    const used = this.#engine.table.regional(slot, sequence);
    if (durationMs < this.durationMinMs || used < limit * USED_MIN) return;
    const name = this.#ledger.name(slot)!;
    if (this.#settled.get(name) === sequence) return;
    this.#settled.set(name, sequence);
    if (this.#pending.length >= PENDING_MAX) {
      this.dropped++;
      return;
    }
    this.#pending.push({ key: name.key, sequence, limit, expiresAtMs: cellExpiryMs(sequence, durationMs) });
    if (this.#pending.length === ROWS_MAX) this.onFull();
  }

  /** Writes what is pending. Never rejects: what a sick store does not take is dropped. */
  async writeOnce(): Promise<void> {
    const { clock, region, timers } = this.#options;
    while (this.#pending.length > 0) {
      const rows = this.#pending.splice(0, ROWS_MAX);
      if (!this.breaker.admit(clock.monoMs())) {
        this.dropped += rows.length;
        continue;
      }
      const write = () => this.#counters.denials.write(region, rows);
      const { kind } = await withDeadline(write, WRITE_DEADLINE_MS, timers, this.pending);
      if (kind === "done") {
        this.breaker.succeeded(clock.monoMs());
        this.emitted += rows.length;
        for (const row of rows) this.#tell("denial", row);
      } else {
        this.breaker.failed(clock.monoMs());
        this.dropped += rows.length;
      }
    }
  }

  /** Reads the active rows, and raises each row's own cell so far that its view reaches the limit. Rejects on failure. */
  async importOnce(): Promise<void> {
    const rows = await this.#counters.denials.active(this.#options.clock.wallMs());
    await inTurns(rows, this.#options.timers, (row) => this.#inflateLegal(row));
  }

  /** A row that no process of this version would write must not hide those behind it. */
  #inflateLegal(row: DenialRow): void {
    try {
      this.#inflate(row);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.junk++;
    }
  }

  #inflate(row: DenialRow): void {
    const sequence = row.sequence as Sequence;
    if (!Number.isSafeInteger(row.limit) || row.limit < 0) {
      this.junk++;
      return;
    }
    const slot = slotFor(this.#engine, this.#ledger, row.key, sequence);
    if (slot === NONE) return;
    const { table } = this.#engine;
    table.raiseForeign(slot, sequence, row.limit - table.regional(slot, sequence));
    if (table.sequence(slot) === sequence) this.#settled.set(this.#ledger.name(slot)!, sequence);
    this.inflated++;
    this.#tell("inflate", row);
  }

  #tell(kind: "denial" | "inflate", { key, sequence, limit }: DenialRow): void {
    const { trace, clock } = this.#options;
    trace?.({ kind, key: encodeKey(key), sequence, count: limit, wallMs: clock.wallMs(), monoMs: clock.monoMs() });
  }
}
