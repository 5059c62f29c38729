/**
 * Global counters in memory: for several limiters of one process, for tests, and the model of what a driver must do.
 *
 * It answers at once and loses nothing. The cursor is the number of the last change; a region is alive for a minute after
 * it last published.
 */
import { COUNT_MAX } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type {
  CounterRow,
  Counters,
  DenialPage,
  DenialRow,
  Denials,
  DeniedCell,
  ImportedCell,
  ImportPage,
  Registration,
} from "./counters.ts";
import { NameBook } from "./name-book.ts";

/** A cell of either part. */
interface Cell {
  readonly key: Key;
  readonly sequence: number;
  /** By region: the count, or the limit of a denial. */
  readonly components: Map<string, number>;
  /** Whether a row said that some of it was charged. */
  isCharged: boolean;
  /** The same from every region: it follows from the key and the sequence. */
  readonly expiresAtMs: number;
  /** The number of the last change. */
  changed: number;
}

const REGION_LIFE_MS = 60_000;

export class MemoryCounters implements Counters {
  readonly denials: Denials;
  readonly #cells = new Map<string, Cell>();
  readonly #denials = new Map<string, Cell>();
  readonly #regionsAtMs = new Map<string, number>();
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #book = new NameBook();
  #changes = 0;

  constructor(clock: Pick<Clock, "wallMs">) {
    this.#clock = clock;
    this.denials = {
      write: async (region, rows) => {
        for (const row of rows) this.#raise(this.#denials, region, row, row.limit);
      },
      read: async (region, cursor) => this.#readDenials(region, cursor),
      active: async (nowMs) =>
        [...this.#denials.values()].filter((cell) => cell.expiresAtMs > nowMs).flatMap(denialsOf),
    };
  }

  async publish(region: string, rows: readonly CounterRow[]): Promise<void> {
    this.#regionsAtMs.set(region, this.#clock.wallMs());
    for (const row of rows) if (row.count > 0) this.#raise(this.#cells, region, row, row.count);
  }

  #raise(cells: Map<string, Cell>, region: string, row: Omit<CounterRow, "count">, amount: number): void {
    const { key, sequence, expiresAtMs, isCharged } = row;
    const name = `${sequence}/${encodeKey(key)}`;
    let cell = cells.get(name);
    if (cell === undefined) {
      cell = { key, sequence, components: new Map(), isCharged: false, expiresAtMs, changed: 0 };
      cells.set(name, cell);
    }
    const isNews = isCharged === true && !cell.isCharged;
    cell.isCharged ||= isNews;
    const known = cell.components.get(region);
    if (known !== undefined && !(amount > known) && !isNews) return;
    cell.components.set(region, Math.max(known ?? amount, amount));
    cell.changed = ++this.#changes;
  }

  async read(region: string, cursor: string | null): Promise<ImportPage> {
    const nowMs = this.#clock.wallMs();
    const cells = this.#changed(this.#cells, cursor).map((cell) => this.#seenFrom(region, cell));
    const alive = [...this.#regionsAtMs].filter(([name, atMs]) => name === region || nowMs - atMs < REGION_LIFE_MS);
    const regionsLive = new Set([region, ...alive.map(([name]) => name)]).size;
    return { cells, cursor: String(this.#changes), regionsLive };
  }

  #readDenials(region: string, cursor: string | null): DenialPage {
    const cells = this.#changed(this.#denials, cursor).map((cell) => this.#deniedFrom(region, cell));
    return { cells, cursor: String(this.#changes) };
  }

  #changed(cells: Map<string, Cell>, cursor: string | null): readonly Cell[] {
    const nowMs = this.#clock.wallMs();
    const since = cursor === null ? 0 : Number(cursor);
    return [...cells.values()].filter(({ changed, expiresAtMs }) => changed > since && expiresAtMs > nowMs);
  }

  async cleanUp(nowMs: number, rowsMax: number): Promise<number> {
    // The earlier of two clocks: a caller whose clock runs ahead must not delete what others still need.
    const expiredMs = Math.min(nowMs, this.#clock.wallMs());
    this.#book.forget(this.#clock.wallMs(), (region) => this.#hasRows(region));
    let deleted = 0;
    for (const rows of [this.#cells, this.#denials]) {
      for (const [name, { expiresAtMs }] of rows) {
        if (deleted >= rowsMax) return deleted;
        if (expiresAtMs > expiredMs) continue;
        rows.delete(name);
        deleted++;
      }
    }
    return deleted;
  }

  async register(region: string, origin: string): Promise<Registration> {
    return this.#book.register(region, origin, this.#clock.wallMs());
  }

  async close(): Promise<void> {}

  #seenFrom(region: string, { key, sequence, components, isCharged }: Cell): ImportedCell {
    const window = { sequence, durationMs: key.durationMs };
    const { foreign, own } = this.#book.names.seenFrom(region, window, components);
    const cell = { key, sequence, foreign: Math.min(foreign, COUNT_MAX), own };
    return isCharged ? { ...cell, isCharged } : cell;
  }

  #deniedFrom(region: string, { key, sequence, components }: Cell): DeniedCell {
    const window = { sequence, durationMs: key.durationMs };
    return { key, sequence, ...this.#book.names.deniedFrom(region, window, components) };
  }

  #hasRows(region: string): boolean {
    const parts = [...this.#cells.values(), ...this.#denials.values()];
    return parts.some(({ components }) => components.has(region));
  }
}

function denialsOf({ key, sequence, components, expiresAtMs }: Cell): readonly DenialRow[] {
  return [...components].map(([region, limit]) => ({ key, sequence, limit, expiresAtMs, region }));
}
