/** What a world is made of. A seed draws it: draw-options.ts. */
import type { WhenFull } from "sluice";
import type { FaultKind } from "./fault-kinds.ts";
import { EXCESS_PART, NAME_SHARE_BYTES, nameBytes, nameExcess } from "./internals.ts";

export interface WorldKey {
  readonly workspace: string;
  readonly namespace: string;
  readonly identifier: string;
  readonly durationMs: number;
  readonly limit: number;
}

/**
 * - `steady`: independent arrivals everywhere
 * - `bursty`: nothing, then many at once at one process
 * - `even`: the regions in turn
 * - `one-region`: nearly all in the first region
 * - `under-floor`: in every region as much as stays below the publish floor, and no more
 * - `herd`: nothing, then at the instant a window of the first key begins all of it, at every process of every region
 */
export type TrafficShape = "steady" | "bursty" | "even" | "one-region" | "under-floor" | "herd";

export interface Traffic {
  readonly shape: TrafficShape;
  /** Requests, in the whole world. */
  readonly perSecond: number;
  readonly costMax: number;
  /** Parts of all requests. */
  readonly batches: number;
  readonly peeks: number;
}

/**
 * - `region-renamed`: the processes of the first region restart one after another under a new region name, with the same origin
 * - `origin-shared`: every second process of the first region uses another region name, by mistake
 * - `late-starts`: processes are replaced in mid-window and get requests at once, while the first region uses up the limits
 * - `limits-changed`: the limits of all keys fall and rise in mid-window, per request
 * - `oversized-costs`: half of the requests ask for more than half of the limit, or for more than all of it
 * - `clocks-corrected`: clocks are set back by less than 5 s, with windows of 1 s
 * - `region-restarted-empty`: all processes of a region die at once, and its origin forgets everything
 */
export type Feature =
  | "region-renamed"
  | "origin-shared"
  | "late-starts"
  | "limits-changed"
  | "oversized-costs"
  | "clocks-corrected"
  | "region-restarted-empty";

/**
 * What an origin can do beside `raise` and `read`.
 *
 * - `none`: nothing. Requests that need it read, are decided in memory, and are replayed
 * - `admit`: it admits, and cannot tell when its server was replaced. What it counted is replayed again
 * - `life`: it admits and has a life. What it counted is confirmed by the next beat
 */
export type Admits = "none" | "admit" | "life";

export interface WorldOptions {
  readonly regions: number;
  /** In each region. */
  readonly processes: number;
  /** How long the safety phase lasts, world time. */
  readonly safetyMs: number;
  readonly keys: readonly WorldKey[];
  readonly traffic: Traffic;
  readonly hasOrigin: boolean;
  /** Missing: none. */
  readonly admits?: Admits;
  readonly hasGlobal: boolean;
  readonly globalMode: "counters" | "denials" | "both";
  readonly flushMs: number;
  readonly readTimeoutMs: number;
  readonly publishMs: number;
  readonly importMs: number;
  /** Null: by the number of live regions. */
  readonly floor: number | null;
  readonly globalMinDuration: number;
  readonly cellsMax: number;
  readonly whenFull: WhenFull;
  /** One-way delays, and what a driver waits for a reply. */
  readonly originDelayMs: number;
  readonly globalDelayMs: number;
  readonly timeoutMs: number;
  readonly faults: readonly FaultKind[];
  /** Mean time between two faults that begin; message faults come in storms, each of which is one. */
  readonly faultEveryMs: number;
  /** Clocks that are skewed are off by up to this. */
  readonly skewMaxMs: number;
  /** Faults that come by the clock, in named scenarios. */
  readonly script: "none" | "origin-flushed-every-20-s" | "origin-away-half-the-time";
  /** What operators and clients do in this world beside the ordinary (features.ts); missing: nothing. */
  readonly features?: readonly Feature[];
}

/** Whether the table, or the memory for names, may be too small for all keys of the world. */
export function isTight({ cellsMax, keys }: Pick<WorldOptions, "cellsMax" | "keys">): boolean {
  const bytes = keys.reduce((sum, key) => sum + nameBytes(key), 0);
  const excess = keys.reduce((sum, key) => sum + nameExcess(key), 0);
  const bytesMax = cellsMax * NAME_SHARE_BYTES;
  return cellsMax < keys.length || bytes >= bytesMax || excess >= bytesMax * EXCESS_PART;
}
