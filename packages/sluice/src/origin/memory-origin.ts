/**
 * An origin in memory: for several limiters of one process, for tests, and the model of what a driver must do.
 *
 * It answers at once and loses nothing. Cells vanish when they have expired and somebody touches the store.
 */
import type { Clock } from "../core/clock.ts";
import type { Origin, OriginCount, Raise, Read } from "./origin.ts";

interface Cell {
  readonly components: Map<string, number>;
  sum: number;
  expiresAtMs: number;
}

/** Cells looked at for expiry on every call: more than a call adds, so the store stays near what is live. */
const SWEEP_PER_CALL = 16;

export class MemoryOrigin implements Origin {
  readonly isVolatile = true;
  readonly #cells = new Map<string, Cell>();
  readonly #clock: Pick<Clock, "wallMs">;
  #sweep: Iterator<[string, Cell]> = this.#cells.entries();

  constructor(clock: Pick<Clock, "wallMs">) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#cells.size;
  }

  async raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return raises.map((raise) => {
      this.#sweepOnce(nowMs);
      return this.#raise(raise, nowMs);
    });
  }

  async read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    const nowMs = this.#clock.wallMs();
    return reads.map(({ key, sequence, writer }) => countOf(this.#live(nameOf(key, sequence), nowMs), writer));
  }

  async close(): Promise<void> {}

  #raise({ key, sequence, writer, total, expiresAtMs }: Raise, nowMs: number): OriginCount {
    const name = nameOf(key, sequence);
    let cell = this.#live(name, nowMs);
    if (cell === undefined) {
      cell = { components: new Map(), sum: 0, expiresAtMs };
      this.#cells.set(name, cell);
    }
    const before = cell.components.get(writer) ?? 0;
    if (total > before) {
      cell.components.set(writer, total);
      cell.sum += total - before;
    }
    cell.expiresAtMs = Math.max(cell.expiresAtMs, expiresAtMs);
    return countOf(cell, writer);
  }

  #live(name: string, nowMs: number): Cell | undefined {
    const cell = this.#cells.get(name);
    if (cell === undefined || cell.expiresAtMs > nowMs) return cell;
    this.#cells.delete(name);
    return undefined;
  }

  #sweepOnce(nowMs: number): void {
    for (let i = 0; i < SWEEP_PER_CALL; i++) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#cells.entries();
        return;
      }
      const [name, cell] = next.value;
      if (cell.expiresAtMs <= nowMs) this.#cells.delete(name);
    }
  }
}

function nameOf(key: string, sequence: number): string {
  return `${sequence}/${key}`;
}

function countOf(cell: Cell | undefined, writer: string): OriginCount {
  return { sum: cell?.sum ?? 0, component: cell?.components.get(writer) ?? 0 };
}
