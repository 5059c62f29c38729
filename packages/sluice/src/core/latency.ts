/**
 * How long calls take: counted in buckets that grow by a fifth, so that nothing is stored per call and a quantile is off by at
 * most that fifth.
 */

const FIRST_MS = 0.01;
const GROWTH = 1.2;
/** The last bucket begins at about 100 s. */
const BUCKETS = 90;

export interface LatencySummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export class Latency {
  readonly #buckets = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = 0;

  add(tookMs: number): void {
    const bucket = Math.ceil(Math.log(Math.max(tookMs, FIRST_MS) / FIRST_MS) / Math.log(GROWTH));
    const at = Math.min(BUCKETS - 1, bucket);
    this.#buckets[at] = this.#buckets[at]! + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, tookMs);
  }

  read(): LatencySummary {
    return { count: this.#count, p50Ms: this.#quantile(0.5), p99Ms: this.#quantile(0.99), maxMs: this.#maxMs };
  }

  /** The upper end of the bucket that holds the quantile: never less than the truth, never more than the longest. */
  #quantile(part: number): number {
    let left = Math.ceil(this.#count * part);
    for (let at = 0; at < BUCKETS; at++) {
      left -= this.#buckets[at]!;
      if (left <= 0) return this.#count === 0 ? 0 : Math.min(this.#maxMs, FIRST_MS * GROWTH ** at);
    }
    return this.#maxMs;
  }
}
