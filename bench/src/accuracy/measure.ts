/**
 * The sliding window's own error: its estimate of "the last D milliseconds" beside an exact log of what it accepted.
 *
 * One limiter alone, so nothing else is in the figures. An estimate is wrong because it takes the previous window for evenly
 * used: where it was used late, too little is estimated, and where early, too much.
 */
import { Limiter } from "sluice";
import { seededRandom } from "../seeded-random.ts";
import type { Shape } from "./shapes.ts";

export const LIMIT = 1_000;
const WINDOW_MS = 60_000;

export interface Accuracy {
  readonly shape: string;
  readonly requests: number;
  /** Of all requests: the answer of an exact log of the same accepted costs would have been the other one. */
  readonly wronglyAllowed: number;
  readonly wronglyDenied: number;
  /** |estimate − log| ÷ limit: on average, and the worst both ways. */
  readonly errorMean: number;
  readonly overMost: number;
  readonly underMost: number;
  /** The most that was accepted in any D milliseconds, and in any window, ÷ limit. */
  readonly admittedMost: number;
  readonly windowMost: number;
  /** Estimate and log over time, ÷ limit: for a plot. */
  readonly line: readonly { readonly at: number; readonly estimate: number; readonly log: number }[];
}

/** Accepted costs of the last D milliseconds: exact, and unbounded, which is why nobody limits with it. */
class ExactLog {
  readonly #entries: { readonly atMs: number; readonly cost: number }[] = [];
  #first = 0;
  sum = 0;

  expire(nowMs: number): void {
    for (let entry = this.#entries[this.#first]; entry !== undefined && entry.atMs <= nowMs - WINDOW_MS; ) {
      this.sum -= entry.cost;
      entry = this.#entries[++this.#first];
    }
  }

  add(atMs: number, cost: number): void {
    this.#entries.push({ atMs, cost });
    this.sum += cost;
  }
}

/** `windows` windows of one shape, from a seed. */
export function measureAccuracy(shape: Shape, windows: number, seed: number): Accuracy {
  const random = seededRandom(seed);
  // The start of a window, far from the epoch.
  const startMs = 1_800_000_000_000;
  let nowMs = startMs;
  const limiter = new Limiter({ clock: { wallMs: () => nowMs, monoMs: () => nowMs - startMs }, cellsMax: 16 });
  const rule = limiter.rule({ namespace: "accuracy", limit: LIMIT, duration: WINDOW_MS });
  const log = new ExactLog();
  const perWindow = new Map<number, number>();
  const line: { at: number; estimate: number; log: number }[] = [];
  const tally = { requests: 0, wronglyAllowed: 0, wronglyDenied: 0, error: 0, over: 0, under: 0, admitted: 0 };
  const costMean = meanCost(shape);
  let asked = 0;
  let next = shape.isRandom ? exponential(random) : 1;
  for (let ms = 0; ms < windows * WINDOW_MS; ms++) {
    nowMs = startMs + ms;
    asked += (shape.rate(ms / WINDOW_MS) * LIMIT) / WINDOW_MS / costMean;
    log.expire(nowMs);
    while (asked >= next) {
      next += shape.isRandom ? exponential(random) : 1;
      const cost = shape.cost?.(random) ?? 1;
      const decision = rule.decide("client", { cost });
      if (decision instanceof Promise) throw new Error("a limiter alone had to wait");
      tally.requests++;
      const estimate = decision.current - cost;
      tally.error += Math.abs(estimate - log.sum);
      tally.over = Math.max(tally.over, estimate - log.sum);
      tally.under = Math.max(tally.under, log.sum - estimate);
      const wouldFit = log.sum + cost <= LIMIT;
      if (decision.success && !wouldFit) tally.wronglyAllowed++;
      if (!decision.success && wouldFit) tally.wronglyDenied++;
      if (decision.success) {
        log.add(nowMs, cost);
        const window = Math.floor(ms / WINDOW_MS);
        perWindow.set(window, (perWindow.get(window) ?? 0) + cost);
        tally.admitted = Math.max(tally.admitted, log.sum);
      }
    }
    if (ms % (WINDOW_MS / 50) === 0) {
      const { current } = rule.decide("client", { cost: 0 }) as { readonly current: number };
      line.push({ at: ms / WINDOW_MS, estimate: current / LIMIT, log: log.sum / LIMIT });
    }
  }
  void limiter.close();
  return {
    shape: shape.name,
    requests: tally.requests,
    wronglyAllowed: tally.wronglyAllowed / tally.requests,
    wronglyDenied: tally.wronglyDenied / tally.requests,
    errorMean: tally.error / tally.requests / LIMIT,
    overMost: tally.over / LIMIT,
    underMost: tally.under / LIMIT,
    admittedMost: tally.admitted / LIMIT,
    windowMost: Math.max(...perWindow.values()) / LIMIT,
    line,
  };
}

/** A waiting time with a mean of 1. */
function exponential(random: () => number): number {
  return -Math.log(1 - random());
}

function meanCost(shape: Shape): number {
  if (shape.cost === undefined) return 1;
  const random = seededRandom(1);
  const draws = 100_000;
  let sum = 0;
  for (let i = 0; i < draws; i++) sum += shape.cost(random);
  return sum / draws;
}
