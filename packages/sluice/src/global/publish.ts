/**
 * Publish: tells the other regions what this region has accepted.
 *
 * Only the regional count is sent, never what was imported: a count that came back to its owner would be counted twice.
 * A cell is sent when it has risen since its last successful publish and either reaches the floor or is in use elsewhere
 * already. `published` moves only after success, or when the region's row was imported and is as high; a row that has gone
 * missing from the store is sent again.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import type { CellTable } from "../engine/cell-table.ts";
import type { Ledger, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import type { CounterRow, Counters } from "./counters.ts";

interface Entry {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly row: CounterRow;
}

/** Rows of one call. What is left goes out in the next call of the same tick. */
const ROWS_MAX = 1_000;

export interface PublishOptions {
  readonly region: string;
  readonly durationMinMs: number;
  readonly clock: Clock;
  readonly trace: Trace | null;
}

export class Publish {
  readonly #table: CellTable;
  readonly #ledger: Ledger;
  readonly #counters: Counters;
  readonly #options: PublishOptions;
  rows = 0;
  failed = 0;

  constructor(table: CellTable, ledger: Ledger, counters: Counters, options: PublishOptions) {
    this.#table = table;
    this.#ledger = ledger;
    this.#counters = counters;
    this.#options = options;
  }

  /** Sends what is due. Rejects if the store fails; what was not sent is due again. */
  async publishOnce(floor: number): Promise<void> {
    const due = this.#due(floor);
    // An empty call too: it says that this region is alive.
    for (let at = 0; at === 0 || at < due.length; at += ROWS_MAX) await this.#send(due.slice(at, at + ROWS_MAX));
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
    const { sequence, count } = row;
    trace?.({ kind: "publish", key: name.text, sequence, count, wallMs: clock.wallMs(), monoMs: clock.monoMs() });
    if (this.#ledger.name(slot) !== name) return;
    this.#ledger.unseen.delete(slot);
    this.#table.raisePublished(slot, sequence as Sequence, count);
  }

  #due(floor: number): Entry[] {
    const nowMs = this.#options.clock.wallMs();
    const entries: Entry[] = [];
    for (const slot of this.#ledger.unpublished) {
      const name = this.#ledger.name(slot);
      if (name === undefined || name.key.durationMs < this.#options.durationMinMs) {
        this.#ledger.markPublished(slot);
        continue;
      }
      const found = this.#entriesOf(slot, name, floor, nowMs);
      entries.push(...found);
      if (found.length === 0 && !this.#hasUnpublished(slot)) this.#ledger.markPublished(slot);
    }
    // In the order of the store's primary key, so that writers meet in one order and do not deadlock.
    return entries.sort((a, b) =>
      a.name.text < b.name.text ? -1 : a.name.text > b.name.text ? 1 : a.row.sequence - b.row.sequence,
    );
  }

  #entriesOf(slot: Slot, name: SlotName, floor: number, nowMs: number): Entry[] {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const floorCount = floor * table.limitLow(slot);
    const isAgain = this.#ledger.unseen.has(slot);
    const entries: Entry[] = [];
    for (const at of [sequence, (sequence - 1) as Sequence]) {
      const count = table.regional(slot, at);
      const expiresAtMs = cellExpiryMs(at, name.key.durationMs);
      if (count === 0 || expiresAtMs <= nowMs) continue;
      const isUnseen = isAgain && table.published(slot, at) > 0;
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
