/**
 * Publish: tells the other regions what this region has accepted.
 *
 * Only the regional count is sent, never what was imported: a count that came back to its owner would be counted twice.
 * A cell is sent when it has risen since its last successful publish and either reaches the floor or is in use elsewhere
 * already. `published` moves only after success, or when the region's row was imported and is as high; a row that has gone
 * missing from the store is sent again.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import { nextTurn } from "../core/turns.ts";
import { type CellTable, NONE } from "../engine/cell-table.ts";
import type { Ledger, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import type { CounterRow, Counters } from "./counters.ts";

interface Entry {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly row: CounterRow;
}

/** Rows of one call: one statement of SQL. What is left goes out in the next call of the same round. */
const ROWS_MAX = 512;
/** Slots that are looked at in one turn of the event loop, at 0.3 µs each, and ten times that on a busy machine. */
const LOOKS_MAX = 2_000;

export interface PublishOptions {
  readonly region: string;
  readonly durationMinMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
}

export class Publish {
  readonly #table: CellTable;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: PublishOptions;
  rows = 0;
  failed = 0;
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

  /**
   * Sends what is due, oldest first, in calls of a bounded size and turns of bounded work. Rejects if the store fails; what was
   * not sent is due again.
   */
  async publishOnce(floor: number): Promise<void> {
    const { unpublished } = this.#ledger;
    let due: Entry[] = [];
    let looks = 0;
    // An empty call is made too: it says that this region is alive.
    let isSilent = true;
    // Those that come meanwhile are the next round's: a busy region must not hold this one for ever.
    for (let left = unpublished.size; left > 0; left--) {
      const slot = unpublished.rotate();
      if (slot === NONE) break;
      due.push(...this.#look(slot, floor));
      // A slot has two cells at most.
      const isFull = due.length > ROWS_MAX - 2;
      if (!isFull && ++looks < LOOKS_MAX) continue;
      if (isFull) {
        await this.#send(due);
        due = [];
        isSilent = false;
      }
      looks = 0;
      await nextTurn(this.#options.timers);
    }
    if (isSilent || due.length > 0) await this.#send(due);
    this.#lastMs = this.#options.clock.monoMs();
  }

  async #send(entries: readonly Entry[]): Promise<void> {
    try {
      await this.#counters.publish(
        this.#options.region,
        entries.map(({ row }) => row),
      );
    } catch (error) {
      this.failed++;
      throw error;
    }
    this.rows += entries.length;
    for (const entry of entries) this.#settle(entry);
  }

  #settle({ slot, name, row }: Entry): void {
    const { clock, trace } = this.#options;
    const { count } = row;
    const sequence = row.sequence as Sequence;
    trace?.({ kind: "publish", key: name.text, sequence, count, wallMs: clock.wallMs(), monoMs: clock.monoMs() });
    if (this.#ledger.name(slot) !== name) return;
    this.#table.raisePublished(slot, sequence, count);
    this.#ledger.confirm(slot, sequence);
  }

  /** What is due of a slot; one that has nothing to send any more leaves the backlog. */
  #look(slot: Slot, floor: number): readonly Entry[] {
    const name = this.#ledger.name(slot);
    const isTold = name !== undefined && name.key.durationMs >= this.#options.durationMinMs;
    const entries = isTold ? this.#entriesOf(slot, name, floor, this.#options.clock.wallMs()) : [];
    if (entries.length === 0 && !(isTold && this.#hasUnpublished(slot))) this.#ledger.markPublished(slot);
    return entries;
  }

  #entriesOf(slot: Slot, name: SlotName, floor: number, nowMs: number): Entry[] {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const floorCount = floor * table.limitLow(slot);
    const isAgain = this.#ledger.isUnseen(slot);
    const entries: Entry[] = [];
    for (const at of [(sequence - 1) as Sequence, sequence]) {
      const count = table.regional(slot, at);
      const expiresAtMs = cellExpiryMs(at, name.key.durationMs);
      if (count === 0 || expiresAtMs <= nowMs) continue;
      const isUnseen = isAgain && table.published(slot, at) > 0 && !this.#ledger.isConfirmed(slot, at);
      if (count <= table.published(slot, at) && !isUnseen) continue;
      if (count < floorCount && table.foreign(slot, at) === 0 && !isUnseen) continue;
      entries.push({ slot, name, row: { key: name.key, sequence: at, count, expiresAtMs } });
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
