/** Times in a histogram of fixed memory, exact to three digits: what the percentiles of a load are read from. */
import { createHistogram } from "node:perf_hooks";

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Microseconds: an hour is longer than any request may wait. */
const HIGHEST_US = 3_600_000_000;

export class Latencies {
  readonly #histogram = createHistogram({ lowest: 1, highest: HIGHEST_US, figures: 3 });
  #maxMs = 0;

  get count(): number {
    return this.#histogram.count;
  }

  record(ms: number): void {
    this.#maxMs = Math.max(this.#maxMs, ms);
    this.#histogram.record(Math.min(HIGHEST_US, Math.max(1, Math.round(ms * 1_000))));
  }

  /** In milliseconds; zeros if there is none. A percentile is the upper end of its step, and that may lie above the longest. */
  read(): Percentiles {
    const max = Math.round(this.#maxMs * 1_000) / 1_000;
    const at = (percent: number) => (this.count === 0 ? 0 : Math.min(max, this.#histogram.percentile(percent) / 1_000));
    return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max };
  }
}
