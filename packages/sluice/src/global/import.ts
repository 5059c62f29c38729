/**
 * Import: learns what the other regions have accepted.
 *
 * The foreign sum is merged by max: a lagging replica can only be late. The region's own row raises `others` as a lower
 * bound (somebody in this region knew of that much), and makes nothing fresh. Reads are incremental; a full pass from time
 * to time, and after every failure, brings what was missed: rows of windows that had not begun here, cells that had no room,
 * and rows of this region's that the store has lost, which are then published again.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import type { Trace } from "../core/trace.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { Ledger } from "../engine/ledger.ts";
import { sequenceAt } from "../engine/sequence.ts";
import type { Counters, ImportedCell } from "./counters.ts";
import { OverAdmissions } from "./over-admission.ts";

/** Every how many imports everything is read. */
const FULL_EVERY = 10;

export class Import {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #region: string;
  readonly #clock: Clock;
  readonly #trace: Trace | null;
  /** How far windows that are over went beyond their limits. */
  readonly overAdmissions: OverAdmissions = new OverAdmissions();
  #cursor: string | null = null;
  /** Imports until the next full pass; 0: the next one is full. */
  #untilFull = 0;
  /** Regions that are alive, this one included, as last heard. */
  regionsLive = 1;
  cells = 0;
  failed = 0;
  junk = 0;
  /** Monotonic clock; 0: never. */
  #lastMs: number;

  constructor(
    engine: Engine,
    ledger: Ledger,
    counters: Counters,
    options: { readonly region: string; readonly clock: Clock; readonly trace: Trace | null },
  ) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#region = options.region;
    this.#clock = options.clock;
    this.#trace = options.trace;
    this.#lastMs = options.clock.monoMs();
  }

  /** How long ago the last import succeeded; before the first, how long ago this began. */
  get ageMs(): number {
    return this.#clock.monoMs() - this.#lastMs;
  }

  /** Reads what changed and merges it. Rejects if the store fails. */
  async importOnce(): Promise<void> {
    const cursor = this.#untilFull === 0 ? null : this.#cursor;
    try {
      const page = await this.#counters.read(this.#region, cursor);
      this.#untilFull = (cursor === null ? FULL_EVERY : this.#untilFull) - 1;
      this.#cursor = page.cursor;
      this.regionsLive = Math.max(1, Number.isSafeInteger(page.regionsLive) ? page.regionsLive : 1);
      this.#lastMs = this.#clock.monoMs();
      const seen = new Map<Slot, number>();
      for (const cell of page.cells) this.#mergeLegal(cell, seen);
      if (cursor === null) this.#markUnseen(seen);
    } catch (error) {
      this.failed++;
      this.#untilFull = 0;
      throw error;
    }
  }

  /** A row that no process of this version would write (another tool did, or it was damaged) must not hide those behind it. */
  #mergeLegal(cell: ImportedCell, seen: Map<Slot, number>): void {
    try {
      this.#merge(cell, seen);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.junk++;
    }
  }

  #merge({ key, sequence, foreign, own }: ImportedCell, seen: Map<Slot, number>): void {
    if (!Number.isSafeInteger(foreign) || foreign < 0 || !Number.isSafeInteger(own) || own < 0) {
      this.junk++;
      return;
    }
    const at = sequence as Sequence;
    const slot = slotFor(this.#engine, this.#ledger, key, at);
    // A window that has not begun by this clock: its rows are asked for again until it has.
    if (at > sequenceAt(this.#engine.clock.nowMs(), key.durationMs)) this.#untilFull = 0;
    if (slot === NONE) return;
    const { table } = this.#engine;
    // A bit for each of the slot's two cells whose row is as high as it was published.
    if (own >= table.published(slot, at)) seen.set(slot, (seen.get(slot) ?? 0) | (at === table.sequence(slot) ? 1 : 2));
    const regional = table.regional(slot, at);
    table.raiseForeign(slot, at, foreign);
    table.raiseOthers(slot, at, own - table.own(slot, at));
    table.raisePublished(slot, at, own);
    // In use elsewhere: what this region has of it is worth publishing now, however little.
    if (foreign > 0 || table.regional(slot, at) > regional) this.#ledger.regionalRose(slot);
    const name = this.#ledger.name(slot);
    if (name !== undefined && at < table.sequence(slot)) {
      this.overAdmissions.measure(name, at, own + foreign, table.limitLow(slot));
    }
    this.cells++;
    this.#trace?.({
      kind: "import",
      key: encodeKey(key),
      sequence,
      count: foreign,
      own,
      wallMs: this.#clock.wallMs(),
      monoMs: this.#clock.monoMs(),
    });
  }

  /** After a full pass: published cells whose row was not there, or was too low, are sent again. */
  #markUnseen(seen: ReadonlyMap<Slot, number>): void {
    const { table } = this.#engine;
    // Stryker disable next-line EqualityOperator: <= looks at a free slot, or at nothing that was published; >= was killed
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (table.isFree(slot)) continue;
      const sequence = table.sequence(slot);
      const bits = seen.get(slot) ?? 0;
      const isCurrentGone = table.published(slot, sequence) > 0 && (bits & 1) === 0;
      const isPreviousGone = table.published(slot, (sequence - 1) as Sequence) > 0 && (bits & 2) === 0;
      if (isCurrentGone || isPreviousGone) this.#ledger.markUnseen(slot);
    }
  }
}

/** The slot that can hold a cell of another region's: the key's own, or a new one where there is room. NONE otherwise. */
export function slotFor(engine: Engine, ledger: Ledger, key: Key, sequence: Sequence): Slot {
  const { table } = engine;
  const nowMs = engine.clock.nowMs();
  const current = sequenceAt(nowMs, key.durationMs);
  if (sequence !== current && sequence !== current - 1) return NONE;
  const { h0, h1, h2 } = engine.locateKey(key);
  let slot = table.find(h0, h1, h2, key.durationMs);
  if (slot === NONE) {
    // Nothing is evicted for a key that nobody has asked about here.
    if (!table.hasRoom) return NONE;
    slot = engine.claim(h0, h1, h2, key.durationMs, current, nowMs);
    ledger.claimed(slot, key);
  } else {
    // Stryker disable next-line EqualityOperator: <= turns a slot to its own window, where it stays as it is; >= was killed
    if (table.sequence(slot) < current) table.rotate(slot, current);
  }
  return slot;
}
