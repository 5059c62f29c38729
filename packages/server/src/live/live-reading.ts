/**
 * What one process of a server knows at this moment of a workspace, and of itself, as a message can carry it; and the same of all processes of
 * the server.
 *
 * Counts are sums since the start: a reader takes the difference of two, so that one which was missed is not lost.
 */
import { mergedUsage, type WorkspaceUsage } from "../usage/usage-tally.ts";

export interface LiveQuestion {
  readonly workspaceId: string;
  /** Whether the state of the server is asked for. */
  readonly wantsServer: boolean;
}

export interface LiveLayer {
  readonly status: "ok" | "degraded" | "away" | "absent";
  readonly reason?: string;
}

/** How the server itself is. */
export interface ServerState {
  readonly ready: boolean;
  readonly processes: number;
  /** Of the youngest process, in Unix milliseconds. */
  readonly startedAt: number;
  readonly layers: { readonly admin: LiveLayer; readonly region: LiveLayer; readonly global: LiveLayer };
  /** Requests by time since the start, one number per bucket of `sluice_http_request_seconds` and one for those above the last. */
  readonly latencyBuckets: readonly number[];
  readonly connections: number;
  readonly residentBytes: number;
  readonly cells: { readonly live: number; readonly max: number };
  /** Since the store of keys and namespaces last answered. */
  readonly adminAgeMs: number;
  /** The origin of the region; null without Redis and workers. */
  readonly origin: {
    readonly breaker: "closed" | "open" | "probing";
    /** Keys whose cost the origin has not confirmed, and for how long at most. */
    readonly unreplayed: number;
    readonly oldestUnreplayedMs: number;
    readonly failed: number;
  } | null;
  /** The global counters; null without SQL. */
  readonly global: {
    readonly publishAgeMs: number;
    readonly importAgeMs: number;
    readonly unpublished: number;
    readonly regionsLive: number;
  } | null;
}

export interface LiveReading {
  readonly usage: WorkspaceUsage;
  /** Null where it was not asked for. */
  readonly server: ServerState | null;
}

/** Namespaces of a reading. */
export const BUSY_MAX = 20;

/** Of all processes of a server; null: one that did not answer. */
export function mergedLive(readings: readonly (LiveReading | null)[]): LiveReading {
  const heard = readings.filter((reading) => reading !== null);
  const states = heard.flatMap(({ server }) => server ?? []);
  const usage = mergedUsage(
    heard.map((reading) => reading.usage),
    BUSY_MAX,
  );
  return { usage, server: mergedState(states, heard.length === readings.length) };
}

function mergedState(states: readonly ServerState[], isWhole: boolean): ServerState | null {
  const [first] = states;
  if (first === undefined) return null;
  const most = (read: (state: ServerState) => number) => Math.max(...states.map(read));
  const sum = (read: (state: ServerState) => number) => states.reduce((total, state) => total + read(state), 0);
  const origins = states.flatMap(({ origin }) => origin ?? []);
  const globals = states.flatMap(({ global }) => global ?? []);
  return {
    ready: isWhole && states.every(({ ready }) => ready),
    processes: sum(({ processes }) => processes),
    startedAt: most(({ startedAt }) => startedAt),
    layers: {
      admin: worstOf(states.map(({ layers }) => layers.admin)),
      region: worstOf(states.map(({ layers }) => layers.region)),
      global: worstOf(states.map(({ layers }) => layers.global)),
    },
    latencyBuckets: first.latencyBuckets.map((_, at) => sum(({ latencyBuckets }) => latencyBuckets[at] ?? 0)),
    connections: sum(({ connections }) => connections),
    residentBytes: sum(({ residentBytes }) => residentBytes),
    cells: { live: sum(({ cells }) => cells.live), max: sum(({ cells }) => cells.max) },
    adminAgeMs: most(({ adminAgeMs }) => adminAgeMs),
    origin:
      origins.length === 0
        ? null
        : {
            breaker: origins.find(({ breaker }) => breaker !== "closed")?.breaker ?? "closed",
            unreplayed: origins.reduce((total, { unreplayed }) => total + unreplayed, 0),
            oldestUnreplayedMs: Math.max(...origins.map(({ oldestUnreplayedMs }) => oldestUnreplayedMs)),
            failed: origins.reduce((total, { failed }) => total + failed, 0),
          },
    global:
      globals.length === 0
        ? null
        : {
            publishAgeMs: Math.max(...globals.map(({ publishAgeMs }) => publishAgeMs)),
            importAgeMs: Math.max(...globals.map(({ importAgeMs }) => importAgeMs)),
            unpublished: globals.reduce((total, { unpublished }) => total + unpublished, 0),
            regionsLive: Math.max(...globals.map(({ regionsLive }) => regionsLive)),
          },
  };
}

const BAD: readonly LiveLayer["status"][] = ["away", "degraded", "absent", "ok"];

/** Of every layer the worst that one of the processes sees. */
export function worstOf(layers: readonly LiveLayer[]): LiveLayer {
  const status = BAD.find((bad) => layers.some((layer) => layer.status === bad));
  return layers.find((layer) => layer.status === status) ?? { status: "away", reason: "no worker responds" };
}
