/**
 * Global counters in memory: for several limiters of one process, for tests, and the model of what a driver must do.
 *
 * It answers at once and loses nothing. The cursor is the number of the last change; a region is alive for a minute after
 * it last published.
 */
import type { Clock } from "../core/clock.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { CounterRow, Counters, DenialRow, Denials, ImportedCell, ImportPage } from "./counters.ts";

interface Cell {
  readonly key: Key;
  readonly sequence: number;
  readonly components: Map<string, number>;
  /** The same from every region: it follows from the key and the sequence. */
  readonly expiresAtMs: number;
  /** The number of the last change. */
  changed: number;
}

const REGION_LIFE_MS = 60_000;

export class MemoryCounters implements Counters {
  readonly denials: Denials;
  readonly #cells = new Map<string, Cell>();
  readonly #denials = new Map<string, DenialRow>();
  readonly #regionsAtMs = new Map<string, number>();
  readonly #clock: Pick<Clock, "wallMs">;
  #changes = 0;

  constructor(clock: Pick<Clock, "wallMs">) {
    this.#clock = clock;
    this.denials = {
      write: async (region, rows) => {
        for (const row of rows) {
          const name = `${row.sequence}/${region.length}:${region}${encodeKey(row.key)}`;
          const known = this.#denials.get(name);
          if (known === undefined || row.limit > known.limit) this.#denials.set(name, row);
        }
      },
      active: async (nowMs) => [...this.#denials.values()].filter(({ expiresAtMs }) => expiresAtMs > nowMs),
    };
  }

  async publish(region: string, rows: readonly CounterRow[]): Promise<void> {
    this.#regionsAtMs.set(region, this.#clock.wallMs());
    for (const { key, sequence, count, expiresAtMs } of rows) {
      const name = `${sequence}/${encodeKey(key)}`;
      let cell = this.#cells.get(name);
      if (cell === undefined) {
        cell = { key, sequence, components: new Map(), expiresAtMs, changed: 0 };
        this.#cells.set(name, cell);
      }
      if (count > (cell.components.get(region) ?? 0)) {
        cell.components.set(region, count);
        cell.changed = ++this.#changes;
      }
    }
  }

  async read(region: string, cursor: string | null): Promise<ImportPage> {
    const nowMs = this.#clock.wallMs();
    const since = cursor === null ? 0 : Number(cursor);
    const cells: ImportedCell[] = [];
    for (const cell of this.#cells.values()) {
      if (cell.changed > since && cell.expiresAtMs > nowMs) cells.push(seenFrom(region, cell));
    }
    const alive = [...this.#regionsAtMs].filter(([name, atMs]) => name === region || nowMs - atMs < REGION_LIFE_MS);
    const regionsLive = new Set([region, ...alive.map(([name]) => name)]).size;
    return { cells, cursor: String(this.#changes), regionsLive };
  }

  async cleanUp(nowMs: number, rowsMax: number): Promise<number> {
    // The earlier of two clocks: a caller whose clock runs ahead must not delete what others still need.
    const expiredMs = Math.min(nowMs, this.#clock.wallMs());
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

  async close(): Promise<void> {}
}

function seenFrom(region: string, { key, sequence, components }: Cell): ImportedCell {
  let foreign = 0;
  for (const [owner, count] of components) if (owner !== region) foreign += count;
  return { key, sequence, foreign, own: components.get(region) ?? 0 };
}
