/**
 * Several processes on one Redis, and one key that gets ten times its limit in requests of different costs: how much of the limit
 * is admitted. With equal costs nothing would be left to compete for after the first denial.
 */
import { Limiter } from "sluice";
import { redisOrigin } from "sluice/redis";
import { seededRandom } from "../seeded-random.ts";

export interface SharedKeyOptions {
  readonly url: string;
  readonly seed: number;
  /** What this process asks for, in cost per window. */
  readonly demand: number;
  readonly limit: number;
  readonly durationMs: number;
  /** Wall clock. */
  readonly beginMs: number;
  readonly endMs: number;
}

export interface Allow {
  /** Wall clock, at the answer. */
  readonly atMs: number;
  readonly windowEndMs: number;
  readonly cost: number;
}

export interface SharedKeyFigure {
  readonly asked: number;
  readonly degraded: number;
  readonly allows: readonly Allow[];
}

const COSTS = [1, 2, 5, 10] as const;
const TURN_MS = 5;

/** One of the processes. */
export async function measureSharedKey(options: SharedKeyOptions): Promise<SharedKeyFigure> {
  const { url, seed, demand, limit, durationMs, beginMs, endMs } = options;
  const limiter = new Limiter({ origin: redisOrigin({ url }) });
  const rule = limiter.rule({ namespace: "bench", limit, duration: durationMs });
  const random = seededRandom(seed);
  const allows: Allow[] = [];
  const waiting = new Set<Promise<void>>();
  // A process that starts late does not catch up: a burst of all processes at once would be another benchmark.
  let demanded = (demand * Math.max(0, Date.now() - beginMs)) / durationMs;
  let asked = 0;
  const ask = async (cost: number) => {
    const { success, reset } = await rule.limit("everybody", { cost });
    if (success) allows.push({ atMs: Date.now(), windowEndMs: reset, cost });
  };
  for (let nowMs = Date.now(); nowMs < endMs; nowMs = Date.now()) {
    while (demanded < (demand * (nowMs - beginMs)) / durationMs) {
      const cost = COSTS[Math.floor(random() * COSTS.length)]!;
      demanded += cost;
      asked++;
      const answer = ask(cost);
      waiting.add(answer);
      void answer.finally(() => waiting.delete(answer));
    }
    await new Promise((resolve) => setTimeout(resolve, TURN_MS));
  }
  await Promise.all(waiting);
  const { degraded } = limiter.stats().decisions;
  await limiter.close();
  return { asked, degraded, allows };
}

/** What all processes admitted in one window ÷ the limit, and the highest effective count within it ÷ the limit. */
export interface SharedWindow {
  readonly admitted: number;
  readonly peak: number;
}

/** The windows from `beginMs` on, without the first. */
export function sharedWindows(
  figures: readonly SharedKeyFigure[],
  { limit, durationMs, beginMs, endMs }: Omit<SharedKeyOptions, "url" | "seed" | "demand">,
): SharedWindow[] {
  const allows = figures.flatMap((figure) => figure.allows).sort((a, b) => a.atMs - b.atMs);
  const windows: SharedWindow[] = [];
  let previous = 0;
  for (let windowEndMs = beginMs + durationMs; windowEndMs <= endMs; windowEndMs += durationMs) {
    let admitted = 0;
    let peak = 0;
    for (const allow of allows) {
      if (allow.windowEndMs !== windowEndMs) continue;
      admitted += allow.cost;
      const leftMs = Math.max(0, windowEndMs - allow.atMs);
      peak = Math.max(peak, admitted + Math.floor((previous * leftMs) / durationMs));
    }
    windows.push({ admitted: admitted / limit, peak: peak / limit });
    previous = admitted;
  }
  return windows.slice(1);
}
