/** Rows that a server does not take: not sent again until they expire. Bounded; what does not fit is simply refused again. */
import type { StoredRow } from "./row.ts";

const ROWS_MAX = 10_000;

export class Quarantine {
  readonly #untilMs = new Map<string, number>();

  get size(): number {
    return this.#untilMs.size;
  }

  add(row: StoredRow): void {
    if (this.#untilMs.size < ROWS_MAX) this.#untilMs.set(nameOf(row), row.expiresAtMs);
  }

  holds(row: StoredRow): boolean {
    return this.#untilMs.size > 0 && this.#untilMs.has(nameOf(row));
  }

  sweep(nowMs: number): void {
    for (const [name, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(name);
  }
}

function nameOf({ hash, sequence }: StoredRow): string {
  return `${Buffer.from(hash).toString("base64")}/${sequence}`;
}
