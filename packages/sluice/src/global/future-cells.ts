/**
 * Imported cells of windows that have not begun by this process's clock, kept until they begin.
 *
 * Clocks differ by some milliseconds, so a window's first rows may arrive before the window itself. They are kept here and merged by
 * the first import after the window's beginning; reading the whole store again for them would make every process pay for one clock
 * that runs ahead. The number of cells is bounded: if there are more, one full pass is due when the first window of the
 * others begins. A row more than `AHEAD_MAX_MS` ahead can only come from a wrong clock and is ignored: the first regular full pass
 * after its window's beginning brings it.
 */
import { encodeKey } from "../engine/key.ts";
import type { ImportedCell } from "./counters.ts";

/** No two clocks of a working cluster differ by this much. */
const AHEAD_MAX_MS = 60_000;
/** At most 13 kB each with the longest keys, in parts and encoded: 13 MB. */
const CELLS_MAX = 1_000;

export class FutureCells {
  readonly #cells = new Map<string, ImportedCell>();
  /** When the first window begins that found no room here; Infinity: none. */
  #passAtMs = Number.POSITIVE_INFINITY;

  /** Keeps the larger counts of a cell, as the cell table would. */
  keep(cell: ImportedCell, nowMs: number): void {
    const beginsAtMs = beginningOf(cell);
    if (beginsAtMs - nowMs > AHEAD_MAX_MS) return;
    const name = `${cell.sequence}/${encodeKey(cell.key)}`;
    const kept = this.#cells.get(name);
    if (kept === undefined && this.#cells.size >= CELLS_MAX) {
      this.#passAtMs = Math.min(this.#passAtMs, beginsAtMs);
      return;
    }
    const foreign = Math.max(cell.foreign, kept?.foreign ?? 0);
    const own = Math.max(cell.own, kept?.own ?? 0);
    this.#cells.set(name, { key: cell.key, sequence: cell.sequence, foreign, own });
  }

  /** Removes and returns the cells whose windows have begun. */
  takeBegun(nowMs: number): readonly ImportedCell[] {
    const begun: ImportedCell[] = [];
    for (const [name, cell] of this.#cells) {
      if (beginningOf(cell) > nowMs) continue;
      this.#cells.delete(name);
      begun.push(cell);
    }
    return begun;
  }

  /** Whether a window has begun that found no room here. */
  isPassDue(nowMs: number): boolean {
    return nowMs >= this.#passAtMs;
  }

  /** A full pass begins: it reads every cell again, and those that still have not begun come here again. */
  passBegins(): void {
    this.#passAtMs = Number.POSITIVE_INFINITY;
  }
}

function beginningOf({ key, sequence }: ImportedCell): number {
  return sequence * key.durationMs;
}
