/**
 * Spec 003 statement by statement on real stores: a region's origin on Redis, the global counters on SQL. Time stays by hand: it goes
 * on when the stores have answered.
 */
import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll } from "vitest";
import { Processes } from "./processes.ts";
import { RedisServer } from "./rig/redis-server.ts";
import { spec003Close } from "./spec-003-close-suite.ts";
import { spec003Failures } from "./spec-003-failures-suite.ts";
import { spec003Strict } from "./spec-003-strict-suite.ts";
import { spec003 } from "./spec-003-suite.ts";
import { SQL_NAMES, type SqlName, type SqlStoreRig, startSql } from "./sql-stores.ts";
import type { OriginStore } from "./troubled-stores.ts";

const isDeep = process.env["CI"] === "true";
/** What differs between the databases is in the conformance suite: with CI=true all of them stand behind Redis. */
const stores: readonly SqlName[] = isDeep ? SQL_NAMES : ["sqlite"];
const rigs = new Map<SqlName, SqlStoreRig>();
let redis: RedisServer;
let client: ReturnType<typeof makeClient>;

function makeClient(url: string) {
  return createClient({ url, disableOfflineQueue: true, commandOptions: { timeout: 0 } });
}

beforeAll(async () => {
  redis = await RedisServer.start();
  client = makeClient(redis.url);
  await client.connect();
  for (const name of stores) rigs.set(name, await startSql(name));
});

afterAll(async () => {
  client.destroy();
  await redis.stop();
  for (const rig of rigs.values()) await rig.stop();
});

/** An origin with keys of its own. Emptied, it loses everything, and all others with it: there is one world at a time. */
function makeOrigin(): OriginStore {
  return {
    origin: redisOrigin({ client, keyPrefix: `${randomUUID()}:` }),
    empty: async () => {
      await redis.ask("FLUSHALL");
    },
  };
}

for (const name of stores) {
  const store = `redis and ${name}`;
  const makeProcesses = () => new Processes({ makeOrigin, makeCounters: () => rigs.get(name)!.counters() });
  for (const suite of [spec003, spec003Strict, spec003Failures, spec003Close]) suite({ store, makeProcesses });
}
