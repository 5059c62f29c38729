/**
 * What the layers above cost a decision: the same rule on warm keys, in a bare limiter and in one with an origin and global
 * counters (both in memory). Each in processes of its own, for they would teach the optimiser different things about the
 * same code. Between slices the loop is left alone for longer than a flush interval, so that replays keep the keys fresh;
 * they are background work, and not timed.
 */
import { Limiter, memoryCounters, memoryOrigin } from "sluice";
import { median } from "./median.ts";

export const layerSubjects = ["bare", "with both layers"] as const;
export type LayerSubject = (typeof layerSubjects)[number];

export interface LayerOptions {
  readonly keys: number;
  readonly slices: number;
  readonly callsPerSlice: number;
}

export interface LayerFigure {
  readonly subject: LayerSubject;
  readonly keys: number;
  readonly ns: number;
}

const FLUSH_WAIT_MS = 60;
const WARM_SLICES = 5;

export async function measureLayers(subject: LayerSubject, options: LayerOptions): Promise<LayerFigure> {
  const { keys, slices, callsPerSlice } = options;
  const layers = subject === "bare" ? {} : { region: "here", origin: memoryOrigin(), global: memoryCounters() };
  const limiter = new Limiter(layers);
  const rule = limiter.rule({ namespace: "api", limit: 1_000_000_000, duration: "1h" });
  const identifiers = Array.from({ length: keys }, (_, i) => Buffer.from(`user_${100_000 + i}`).toString());
  for (const identifier of identifiers) await rule.limit(identifier);

  let last: unknown;
  const samples: number[] = [];
  for (let slice = -WARM_SLICES; slice < slices; slice++) {
    await new Promise((resolve) => setTimeout(resolve, FLUSH_WAIT_MS));
    const startedMs = performance.now();
    for (let i = 0; i < callsPerSlice; i++) last = rule.decide(identifiers[i % keys]!);
    const ns = ((performance.now() - startedMs) * 1e6) / callsPerSlice;
    if (last instanceof Promise) throw new Error("a warm key had to wait for the origin");
    if (slice >= 0) samples.push(ns);
  }
  await limiter.close();
  return { subject, keys, ns: median(samples) };
}
