/**
 * The suites of convergence within a region on real stores: a region's origin on Redis, the global counters on SQL. Time stays by hand: it goes
 * on when the stores have answered.
 */
import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll } from "vitest";
import { closeSuite } from "../protocol/close-suite.ts";
import { convergenceSuite } from "../protocol/convergence-suite.ts";
import { originFailuresSuite } from "../protocol/origin-failures-suite.ts";
import { strictModeSuite } from "../protocol/strict-mode-suite.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SQL_NAMES, type SqlName, type SqlStoreRig, startSql } from "../rig/sql-stores.ts";
import { Processes } from "../support/processes.ts";
import type { OriginStore } from "../support/troubled-stores.ts";

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
  for (const suite of [convergenceSuite, strictModeSuite, originFailuresSuite, closeSuite])
    suite({ store, makeProcesses });
}
