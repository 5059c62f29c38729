/**
 * Which slots a flush takes, and in which order: nearest to their limit first, as far as a bounded look can tell.
 *
 * Where all fit into the flush, all are looked at. After an outage a hundred thousand may wait: looking at each of them, twenty times
 * a second, holds the process up for as long as a flush interval. Then a quarter of the flush is for those that have waited longest,
 * and the rest for the nearest of some thousands, from where in the table the last look ended. Cells that are about to reach their limit do not
 * depend on it: they hurry (regional-layer.ts).
 */
import type { Slot } from "../core/brands.ts";
import type { CellTable } from "../engine/cell-table.ts";
import { USE_LEVELS, useLevel } from "../engine/use-level.ts";

/** A part of a flush that cannot carry all is for those that have waited longest, whatever they use of their limit. */
const OLDEST_PART = 1 / 4;
/** Slots of the table that are looked at for one flush: one to two milliseconds. */
const LOOKED_AT = 16_384;

/** A set of slots in the order in which they came. */
export interface Slots extends Iterable<Slot> {
  readonly size: number;
  has(slot: Slot): boolean;
}

export class ReplayOrder {
  readonly #table: CellTable;
  /** Where in the table the last look ended. */
  #next = 0;

  constructor(table: CellTable) {
    this.#table = table;
  }

  /** The slots in the order in which a flush of `count` should take them: at least as many, if there are. */
  of(slots: Slots, count: number): Iterable<Slot> {
    if (slots.size <= count) return this.#byUse(slots);
    const ordered = new Set<Slot>();
    addUpTo(ordered, slots, Math.ceil(count * OLDEST_PART));
    for (const slot of this.#byUse(this.#look(slots))) ordered.add(slot);
    addUpTo(ordered, slots, count);
    return ordered;
  }

  /** Those of the set that stand in the next part of the table. */
  #look(slots: Slots): readonly Slot[] {
    const some: Slot[] = [];
    const { highWater } = this.#table;
    for (let left = Math.min(LOOKED_AT, highWater); left > 0; left--) {
      const slot = (this.#next % highWater) as Slot;
      this.#next = slot + 1;
      if (slots.has(slot)) some.push(slot);
    }
    return some;
  }

  #byUse(slots: Iterable<Slot>): Slot[] {
    const levels: Slot[][] = Array.from({ length: USE_LEVELS }, () => []);
    for (const slot of slots) levels[useLevel(this.#table, slot)]!.push(slot);
    return levels.flat();
  }
}

/** Fills up with those that have waited longest. */
function addUpTo(ordered: Set<Slot>, slots: Slots, count: number): void {
  for (const slot of slots) {
    if (ordered.size >= count) return;
    ordered.add(slot);
  }
}
