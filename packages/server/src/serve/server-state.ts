/** How one process of a server is, for those who watch it live: from its readiness and its reading of the metrics. */
import type { ServerState } from "../live/live-reading.ts";
import type { Reading } from "../metrics/reading.ts";
import type { Readiness } from "./readiness.ts";

export function serverStateOf({ ready, layers }: Readiness, reading: Reading): ServerState {
  const { stats, api, connections, residentBytes, startedAtMs, adminAgeMs } = reading;
  const { origin, global, cells } = stats;
  return {
    ready,
    processes: 1,
    startedAt: startedAtMs,
    layers,
    latencyBuckets: api.buckets,
    connections,
    residentBytes,
    cells: { live: cells.live, max: cells.max },
    adminAgeMs,
    origin: origin && {
      breaker: origin.breaker,
      unreplayed: origin.unreplayed,
      oldestUnreplayedMs: origin.oldestUnreplayedMs,
      failed: origin.failed + origin.late,
    },
    global: global && {
      publishAgeMs: global.publishAgeMs,
      importAgeMs: global.importAgeMs,
      unpublished: global.unpublished,
      regionsLive: global.regionsLive,
    },
  };
}
