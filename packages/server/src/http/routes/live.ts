/** `live`: a stream of snapshots, one per second; and `server.status`, one snapshot of the server. */
import type { Caller } from "../../access/caller.ts";
import { checkPermission, checkServer } from "../../access/permission.ts";
import type { Directory } from "../../admin/directory.ts";
import type { LiveData, ServerSettingsData, ServerStatusData } from "../../contract/live-schemas.ts";
import { Problem } from "../../contract/problem.ts";
import type { LiveReading, ServerState } from "../../live/live-reading.ts";
import { BUCKETS_S } from "../../metrics/tally.ts";
import type { Answer, RouteParts } from "./route.ts";

export function live({ live: desk, directory, wallMs }: RouteParts, caller: Caller): Answer<LiveData> {
  checkPermission(caller.key, "read_namespace", undefined);
  desk.checkRoom(caller);
  const textOf = (reading: LiveReading) => JSON.stringify(dataOf(reading, directory, caller.workspace.id, wallMs()));
  return {
    // What a stream sends is in its events.
    data: { at: 0, totals: NO_SUMS, namespaces: [] },
    stream: (sink) => desk.begin(caller, sink, textOf),
  };
}

export async function serverStatus(
  { live: desk, server: { version, region } }: RouteParts,
  { key, workspace }: Caller,
): Promise<Answer<ServerStatusData>> {
  checkServer(key);
  const { server } = await desk.ask({ workspaceId: workspace.id, wantsServer: true });
  if (server === null)
    throw new Problem("unavailable", "No process of the server responds. Try again.", { retryAfterS: 1 });
  return { data: { version, node: process.versions.node, region, ...stateOf(server) } };
}

const NO_SUMS = { allowed: 0, denied: 0, shadowed: 0, degraded: 0, cost: 0 };

function dataOf({ usage, server }: LiveReading, directory: Directory, workspaceId: string, at: number): LiveData {
  const namespaces = usage.namespaces.flatMap(({ namespaceId, rule, ...sums }) => {
    const namespace = directory.namespaceOf(workspaceId, namespaceId);
    if (namespace === undefined) return [];
    return [{ namespaceId, name: namespace.name, ...sums, ...(rule === null ? {} : { rule: { ...rule } }) }];
  });
  const data: LiveData = { at, totals: usage.totals, namespaces };
  return server === null ? data : { ...data, server: stateOf(server) };
}

function stateOf({ latencyBuckets, ...state }: ServerState): LiveData["server"] & object {
  const { layers, origin, global } = state;
  return {
    ...state,
    layers: { ...layers },
    origin: origin === null ? null : { ...origin, oldestUnreplayedMs: Math.round(origin.oldestUnreplayedMs) },
    global:
      global === null
        ? null
        : { ...global, publishAgeMs: Math.round(global.publishAgeMs), importAgeMs: Math.round(global.importAgeMs) },
    adminAgeMs: Math.round(state.adminAgeMs),
    latency: latencyBuckets.map((count, at) => ({
      ...(at < BUCKETS_S.length ? { atMostS: BUCKETS_S[at]! } : {}),
      count,
    })),
  };
}

export function serverSettings({ server: { settings } }: RouteParts, { key }: Caller): Answer<ServerSettingsData> {
  checkServer(key);
  return { data: { settings: settings.map(({ path, shown, source }) => ({ name: path, value: shown, source })) } };
}
