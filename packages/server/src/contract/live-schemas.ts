/** The events of `ratelimit.live`, and the answers of `server.*`. */
import { Type } from "typebox";
import { strict } from "./schemas.ts";
import { sums } from "./usage-schemas.ts";

export const NoBody = Type.Object({}, strict);

const STATES = ["ok", "degraded", "away", "absent"] as const;
const BREAKERS = ["closed", "open", "probing"] as const;

const Layer = Type.Object({
  status: Type.Unsafe<(typeof STATES)[number]>({ type: "string", enum: STATES }),
  reason: Type.Optional(Type.String()),
});

const state = {
  ready: Type.Boolean({ description: "Whether the server should be sent requests." }),
  processes: Type.Integer({ description: "Processes that serve requests." }),
  startedAt: Type.Integer({ description: "Unix milliseconds; with several processes, of the youngest." }),
  layers: Type.Object({ admin: Layer, region: Layer, global: Layer }),
  latency: Type.Array(
    Type.Object({
      atMostS: Type.Optional(Type.Number({ description: "Seconds; missing: above all others." })),
      count: Type.Integer(),
    }),
    { description: "Requests since the start by the time that they took, one entry per bucket." },
  ),
  connections: Type.Integer(),
  residentBytes: Type.Integer(),
  cells: Type.Object({ live: Type.Integer(), max: Type.Integer() }),
  adminAgeMs: Type.Integer({ description: "Since the store of keys and namespaces last answered." }),
  origin: Type.Union([
    Type.Object({
      breaker: Type.Unsafe<(typeof BREAKERS)[number]>({ type: "string", enum: BREAKERS }),
      unreplayed: Type.Integer({ description: "Keys whose cost the origin has not confirmed." }),
      oldestUnreplayedMs: Type.Integer(),
      failed: Type.Integer({ description: "Calls that failed since the start." }),
    }),
    Type.Null(),
  ]),
  global: Type.Union([
    Type.Object({
      publishAgeMs: Type.Integer(),
      importAgeMs: Type.Integer(),
      unpublished: Type.Integer({ description: "Keys that the next publish examines." }),
      regionsLive: Type.Integer(),
    }),
    Type.Null(),
  ]),
};

const Sums = Type.Object(sums);

export const LiveData = Type.Object({
  at: Type.Integer({ description: "Unix milliseconds." }),
  totals: Type.Object(sums, {
    description: "Of the workspace, since the start of the server: take the difference of two.",
  }),
  namespaces: Type.Array(
    Type.Object({
      namespaceId: Type.String(),
      name: Type.String(),
      ...Sums.properties,
      rule: Type.Optional(
        Type.Object(
          { limit: Type.Integer(), duration: Type.Integer() },
          { description: "Limit and duration of the last check that was denied; missing: none was." },
        ),
      ),
    }),
    { description: "The busiest ones of the last one to two minutes." },
  ),
  server: Type.Optional(
    Type.Object(state, { description: "How the server is: only for a key with `*` in the workspace `default`." }),
  ),
});
export type LiveData = Type.Static<typeof LiveData>;

export const ServerStatusData = Type.Object({
  version: Type.String(),
  node: Type.String(),
  region: Type.String(),
  ...state,
});
export type ServerStatusData = Type.Static<typeof ServerStatusData>;

export const ServerSettingsData = Type.Object({
  settings: Type.Array(
    Type.Object({
      name: Type.String({ description: "As in a configuration file." }),
      value: Type.String({ description: "The value; of a secret nothing, of a URL everything but its password." }),
      source: Type.String({ description: "`default`, or the name by which it was given." }),
    }),
  ),
});
export type ServerSettingsData = Type.Static<typeof ServerSettingsData>;
