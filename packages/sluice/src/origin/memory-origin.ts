/**
 * An origin in memory: for several limiters of one process, for the workers of one parent, for tests, and the model of what a driver must do.
 *
 * It answers at once, and loses only what memory-cells.ts forgets when it is full. Cells vanish when they have expired and somebody touches
 * the store.
 */
import { CELLS_MAX_DEFAULT, COUNT_MAX } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { share } from "../engine/sliding-window.ts";
import type { Free, Freed, Held, Hold } from "./hold.ts";
import { cellName, countOf, type MemoryCell, MemoryCells } from "./memory-cells.ts";
import { MemoryHolds } from "./memory-holds.ts";
import type { Admit, Admitted, Origin, OriginCount, Raise, Read } from "./origin.ts";

/** Cells looked at for expiry on every call: more than a call adds, so the store stays near what is live. */
const SWEEP_PER_CALL = 16;
/** A key has the cell of its current window, and that of the one before. */
const CELLS_PER_KEY = 2;

/** What an origin in memory holds. */
export interface HeldCells {
  readonly cells: number;
  readonly cellsMax: number;
  readonly bytes: number;
  readonly bytesMax: number;
  /** Cells that were forgotten because it was full, since its start. */
  readonly evicted: number;
  /** Holds of reservations, living and expired. */
  readonly holds: number;
}

export class MemoryOrigin implements Origin {
  readonly isVolatile = true;
  readonly #cells: MemoryCells;
  readonly #holds: MemoryHolds;
  readonly #clock: Pick<Clock, "wallMs">;

  /** @param keysMax how many keys it holds at most, with two cells each. */
  constructor(clock: Pick<Clock, "wallMs">, keysMax: number = CELLS_MAX_DEFAULT) {
    this.#clock = clock;
    this.#cells = new MemoryCells(CELLS_PER_KEY * keysMax);
    this.#holds = new MemoryHolds(this.#cells);
  }

  get size(): number {
    return this.#cells.size;
  }

  get held(): HeldCells {
    const { size, cellsMax, bytes, bytesMax, evicted } = this.#cells;
    return { cells: size, cellsMax, bytes, bytesMax, evicted, holds: this.#holds.size };
  }

  async raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return raises.map(({ key, sequence, writer, total, expiresAtMs }) => {
      this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
      const cell = this.#cells.raise(cellName(key, sequence), writer, total, expiresAtMs, nowMs);
      return this.#countOf(cell, writer, key, nowMs);
    });
  }

  async read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return reads.map(({ key, sequence, writer }) =>
      this.#countOf(this.#cells.live(cellName(key, sequence), nowMs), writer, key, nowMs),
    );
  }

  async admit(admits: readonly Admit[]): Promise<readonly Admitted[]> {
    const nowMs = this.#clock.wallMs();
    return admits.map((admit) => {
      this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
      return this.#admit(admit, nowMs);
    });
  }

  async hold(hold: Hold): Promise<Held> {
    const nowMs = this.#clock.wallMs();
    this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
    return this.#holds.hold(hold, Math.floor(nowMs));
  }

  async free(frees: readonly Free[]): Promise<Freed> {
    const nowMs = this.#clock.wallMs();
    this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
    return this.#holds.free(frees, Math.floor(nowMs));
  }

  /** Its memory ends with the process, so all of its answers come from the same store. */
  life(): number {
    return 0;
  }

  async close(): Promise<void> {}

  #countOf(cell: MemoryCell | undefined, writer: string, key: string, nowMs: number): OriginCount {
    const count = countOf(cell, writer);
    const holds = this.#holds.size === 0 ? undefined : this.#holds.seen(key, nowMs);
    return holds === undefined ? count : { ...count, holds };
  }

  /** The check is relative to the sums; what is written is absolute. So a second execution of a call finds a higher component and adds nothing. */
  #admit(admit: Admit, nowMs: number): Admitted {
    const { key, sequence, writer, total, leftMs, durationMs, requests } = admit;
    const previous = countOf(
      this.#cells.raiseTo(cellName(key, sequence - 1), writer, admit.previousTotal, admit.previousExpiresAtMs, nowMs),
      writer,
    );
    const name = cellName(key, sequence);
    const held = countOf(this.#cells.live(name, nowMs), writer);
    if (held.component > total) return { allowed: null, current: held, previous };
    const weighed = share(Math.min(COUNT_MAX, previous.sum + admit.previousForeign), leftMs, durationMs);
    const beside = this.#holds.seen(key, nowMs)?.cost ?? 0;
    const fixed = held.sum - held.component + admit.foreign + weighed + beside;
    let raised = total;
    const allowed = requests.map(({ limit, cost }) => {
      if (fixed + raised + cost > limit) return false;
      raised += cost;
      return true;
    });
    const cell = this.#cells.raiseTo(name, writer, raised, admit.expiresAtMs, nowMs);
    const current = this.#countOf(cell, writer, key, nowMs);
    return { allowed, current, previous };
  }
}
