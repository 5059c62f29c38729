/**
 * The heaviest names of a stream, in memory of a fixed size: the Space-Saving sketch (Metwally, Agrawal, El Abbadi, 2005).
 *
 * A name that has no counter, when all are taken, takes over the smallest one with what it holds: its own count is that much or less
 * too high, and the counter remembers by how much. The texts of the names have a maximum in bytes as well. A name that does not fit takes
 * the place of several of the smallest counters, so there are fewer counters where names are long.
 *
 * Invariant: for a name with a counter, `count - error ≤ truth ≤ count`; for every other, `truth ≤ dropped`, the largest count that was
 * taken over; and no count is below that. While the texts fit, `dropped` is at most the total divided by the number of counters, so every
 * name above that part of the total has a counter.
 *
 * The smallest is found by going round: counts only grow, so a count that equals the smallest of the last round is the smallest still.
 * With checks of cost 1 a round takes over most counters; a heap would cost more, for those who have a counter too.
 */
import type { Ranking } from "./ranking.ts";

/** Of the texts of a sketch. A hundred names of 163 UTF-16 units fit, and 16 of the longest identifiers. */
export const NAME_BYTES_MAX = 32 * 1024;

export class SpaceSaving {
  readonly #counts: Float64Array;
  readonly #errors: Float64Array;
  readonly #names: string[] = [];
  readonly #slots = new Map<string, number>();
  readonly #bytesMax: number;
  #bytes = 0;
  #total = 0;
  /** The largest count that was taken over. */
  #dropped = 0;
  /** The smallest count, when the round began; and how far it has come. */
  #least = 0;
  #next = 0;

  constructor(counters: number, bytesMax = NAME_BYTES_MAX) {
    this.#counts = new Float64Array(counters);
    this.#errors = new Float64Array(counters);
    this.#next = counters;
    this.#bytesMax = bytesMax;
  }

  /** What the texts of its names take at most. */
  get nameBytes(): number {
    return this.#bytes;
  }

  /** @param weight above 0. */
  add(name: string, weight: number): void {
    this.#total += weight;
    const slot = this.#slots.get(name) ?? this.#slotFor(name);
    this.#counts[slot] = this.#counts[slot]! + weight;
  }

  read(): Ranking {
    const entries = this.#names.map((name, slot) => {
      const atMost = this.#counts[slot]!;
      return { name, atLeast: atMost - this.#errors[slot]!, atMost };
    });
    return { total: this.#total, absentAtMost: this.#dropped, entries };
  }

  /** A slot whose count is what the name may have had before. */
  #slotFor(name: string): number {
    const bytes = bytesOf(name);
    let free = this.#names.length;
    while (free === this.#counts.length || (this.#names.length > 0 && this.#bytes + bytes > this.#bytesMax)) {
      free = this.#drop();
    }
    this.#names[free] = name;
    this.#slots.set(name, free);
    this.#bytes += bytes;
    this.#counts[free] = this.#dropped;
    this.#errors[free] = this.#dropped;
    return free;
  }

  /** Gives up the smallest counter; the last one takes its slot, so that there are no gaps. Returns the slot that is free then. */
  #drop(): number {
    const slot = this.#smallest();
    this.#dropped = this.#counts[slot]!;
    const name = this.#names[slot]!;
    this.#slots.delete(name);
    this.#bytes -= bytesOf(name);
    const last = this.#names.pop()!;
    const free = this.#names.length;
    if (slot === free) return free;
    this.#names[slot] = last;
    this.#slots.set(last, slot);
    this.#counts[slot] = this.#counts[free]!;
    this.#errors[slot] = this.#errors[free]!;
    return free;
  }

  #smallest(): number {
    const counts = this.#counts.subarray(0, this.#names.length);
    for (;;) {
      for (; this.#next < counts.length; this.#next++) if (counts[this.#next] === this.#least) return this.#next++;
      this.#next = 0;
      this.#least = Math.min(...counts);
    }
  }
}

/** Two bytes per UTF-16 unit: to find out whether one would do costs a pass over the text. */
function bytesOf(name: string): number {
  return 2 * name.length;
}
