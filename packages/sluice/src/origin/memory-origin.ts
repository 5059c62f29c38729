/**
 * An origin in memory: for several limiters of one process, for the workers of one parent, for tests, and the model of what a driver must do.
 *
 * It answers at once, and loses only what memory-cells.ts forgets when it is full. Cells vanish when they have expired and somebody touches
 * the store.
 */
import { CELLS_MAX_DEFAULT, COUNT_MAX } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { share } from "../engine/sliding-window.ts";
import { type MemoryCell, MemoryCells } from "./memory-cells.ts";
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
}

export class MemoryOrigin implements Origin {
  readonly isVolatile = true;
  readonly #cells: MemoryCells;
  readonly #clock: Pick<Clock, "wallMs">;

  /** @param keysMax how many keys it holds at most, with two cells each. */
  constructor(clock: Pick<Clock, "wallMs">, keysMax: number = CELLS_MAX_DEFAULT) {
    this.#clock = clock;
    this.#cells = new MemoryCells(CELLS_PER_KEY * keysMax);
  }

  get size(): number {
    return this.#cells.size;
  }

  get held(): HeldCells {
    const { size, cellsMax, bytes, bytesMax, evicted } = this.#cells;
    return { cells: size, cellsMax, bytes, bytesMax, evicted };
  }

  async raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return raises.map(({ key, sequence, writer, total, expiresAtMs }) => {
      this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
      return countOf(this.#cells.raise(nameOf(key, sequence), writer, total, expiresAtMs, nowMs), writer);
    });
  }

  async read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return reads.map(({ key, sequence, writer }) => countOf(this.#cells.live(nameOf(key, sequence), nowMs), writer));
  }

  async admit(admits: readonly Admit[]): Promise<readonly Admitted[]> {
    const nowMs = this.#clock.wallMs();
    return admits.map((admit) => {
      this.#cells.sweepOnce(nowMs, SWEEP_PER_CALL);
      return this.#admit(admit, nowMs);
    });
  }

  /** Its memory ends with the process, so all of its answers come from the same store. */
  life(): number {
    return 0;
  }

  async close(): Promise<void> {}

  /** The check is relative to the sums; what is written is absolute. So a second execution of a call finds a higher component and adds nothing. */
  #admit(admit: Admit, nowMs: number): Admitted {
    const { key, sequence, writer, total, leftMs, durationMs, requests } = admit;
    const previous = countOf(
      this.#raiseTo(nameOf(key, sequence - 1), writer, admit.previousTotal, admit.previousExpiresAtMs, nowMs),
      writer,
    );
    const name = nameOf(key, sequence);
    const held = countOf(this.#cells.live(name, nowMs), writer);
    if (held.component > total) return { allowed: null, current: held, previous };
    const weighed = share(Math.min(COUNT_MAX, previous.sum + admit.previousForeign), leftMs, durationMs);
    const fixed = held.sum - held.component + admit.foreign + weighed;
    let raised = total;
    const allowed = requests.map(({ limit, cost }) => {
      if (fixed + raised + cost > limit) return false;
      raised += cost;
      return true;
    });
    const current = countOf(this.#raiseTo(name, writer, raised, admit.expiresAtMs, nowMs), writer);
    return { allowed, current, previous };
  }

  /** Raises a component that is below `total`. Otherwise it writes nothing: a denial of an unknown key makes no cell. */
  #raiseTo(name: string, writer: string, total: number, expiresAtMs: number, nowMs: number): MemoryCell | undefined {
    const cell = this.#cells.live(name, nowMs);
    if (total <= (cell?.component(writer) ?? 0)) return cell;
    return this.#cells.raise(name, writer, total, expiresAtMs, nowMs);
  }
}

function nameOf(key: string, sequence: number): string {
  return `${sequence}/${key}`;
}

function countOf(cell: MemoryCell | undefined, writer: string): OriginCount {
  return { sum: cell?.sum ?? 0, component: cell?.component(writer) ?? 0 };
}
