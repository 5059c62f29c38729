/** Everything that one process has to tell at one moment, as a message can carry it. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Limiter, OriginHostStats, Stats } from "sluice";
import type { Directory } from "../admin/directory.ts";
import type { Tally, TallyReading } from "./tally.ts";

export interface Reading {
  readonly region: string;
  readonly stats: Stats;
  /** The counts that a parent holds for its workers, in the reading of one of them; null in all others, and with Redis. */
  readonly parentStore: OriginHostStats | null;
  readonly api: TallyReading;
  readonly connections: number;
  /** Since the store of keys and namespaces last answered. */
  readonly adminAgeMs: number;
  /** How late the event loop was since it was last asked. */
  readonly loopDelay: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly cpuS: number;
  readonly startedAtMs: number;
}

export interface ReadingParts {
  readonly region: string;
  readonly limiter: Limiter;
  readonly directory: Directory;
  readonly tally: Tally;
  readonly connections: () => Promise<number>;
}

const NS_PER_MS = 1e6;
const RESOLUTION_MS = 10;

export class Gauge {
  readonly #parts: ReadingParts;
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    this.#delay.enable();
  }

  async read(): Promise<Reading> {
    const { region, limiter, directory, tally, connections } = this.#parts;
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const late = (ns: number) => (ns > 0 && Number.isFinite(ns) ? Math.max(0, ns / NS_PER_MS - RESOLUTION_MS) : 0);
    const loopDelay = {
      p50Ms: late(this.#delay.percentile(50)),
      p99Ms: late(this.#delay.percentile(99)),
      maxMs: late(this.#delay.max),
    };
    this.#delay.reset();
    return {
      region,
      stats: limiter.stats(),
      parentStore: null,
      api: tally.read(),
      connections: await connections(),
      adminAgeMs: directory.ageMs,
      loopDelay,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      cpuS: (user + system) / 1e6,
      startedAtMs: Math.round(performance.timeOrigin),
    };
  }

  close(): void {
    this.#delay.disable();
  }
}
