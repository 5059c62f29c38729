/**
 * The sweep: frees expired slots, a bounded step at a time, round and round the table.
 *
 * Every claim takes a small step, so that expired cells are found before anything that matters is evicted; the limiter's
 * housekeeping takes larger ones while nobody claims. It frees nothing that still matters: see `isExpired`. A slot whose key is strict
 * stays until its deadline, which is independent of any window. If the table needs the room before, the slot is evicted, and
 * strict-deadlines.ts keeps the deadline. A slot whose key has a call to the origin under way stays until the call ends.
 */
import type { Slot } from "../core/brands.ts";
import type { CellTable } from "./cell-table.ts";
import { isExpired } from "./eviction.ts";

export class Sweep {
  readonly #table: CellTable;
  readonly #release: (slot: Slot, nowMs: number) => void;
  readonly #isKept: (slot: Slot) => boolean;
  #hand = 0;

  constructor(
    table: CellTable,
    release: (slot: Slot, nowMs: number) => void,
    isKept: (slot: Slot) => boolean = () => false,
  ) {
    this.#table = table;
    this.#release = release;
    this.#isKept = isKept;
  }

  /** Looks at up to `slotsMax` slots and frees the expired ones, up to `freedMax`; returns how many it freed. */
  sweepOnce(nowMs: number, slotsMax: number, freedMax: number = slotsMax): number {
    const table = this.#table;
    const steps = Math.min(slotsMax, table.highWater);
    let freed = 0;
    for (let i = 0; i < steps && freed < freedMax; i++) {
      if (this.#hand >= table.highWater) this.#hand = 0;
      const slot = this.#hand++ as Slot;
      if (table.isFree(slot) || !isExpired(table, slot, nowMs) || this.#isKept(slot)) continue;
      this.#release(slot, nowMs);
      freed++;
    }
    return freed;
  }
}
