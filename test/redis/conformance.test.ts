/** The origin on real Redis: the conformance suite, on every kind of deployment. */
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type { Origin } from "sluice";
import { type RedisOptions, redisOrigin } from "sluice/redis";
import { afterAll, beforeAll } from "vitest";
import { admitConformance } from "../../packages/sluice/src/origin/admit-conformance.ts";
import { holdConformance } from "../../packages/sluice/src/origin/hold-conformance.ts";
import { originConformance } from "../../packages/sluice/src/origin/origin-conformance.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import {
  type Encrypted,
  startCluster,
  startEncrypted,
  startWatched,
  type ThreeNodes,
  type Watched,
} from "../rig/redis-topologies.ts";

const isDeep = process.env["CI"] === "true";
const open: Origin[] = [];
const servers: { stop(): Promise<unknown> }[] = [];
let plain: RedisServer;
let encrypted: Encrypted;
let cluster: ThreeNodes;
let watched: Watched;

beforeAll(async () => {
  plain = await RedisServer.start();
  servers.push(plain);
  if (!isDeep) return;
  [encrypted, cluster, watched] = await Promise.all([startEncrypted(), startCluster(), startWatched()]);
  servers.push(encrypted, cluster, watched);
});

afterAll(async () => {
  for (const origin of open) await origin.close();
  for (const server of servers) await server.stop();
});

/** An origin that is connected, with a prefix of its own. */
async function connect(options: RedisOptions): Promise<Origin> {
  const origin = redisOrigin({ keyPrefix: `${randomUUID()}:`, ...options });
  open.push(origin);
  await poll("connected", () => origin.health?.().isConnected);
  return origin;
}

const elapse = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const addresses = () => cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));

const deployments: Record<string, () => RedisOptions> = {
  "a client of ioredis": () => {
    const client = new Redis(plain.port, "127.0.0.1", { autoResendUnfulfilledCommands: false });
    servers.push({ stop: async () => client.disconnect() });
    return { client };
  },
  "one server": () => ({ url: plain.url }),
  "a server with TLS": () => ({ host: "127.0.0.1", port: encrypted.port, tls: { ca: encrypted.ca } }),
  "a three-node Cluster": () => ({ cluster: addresses() }),
  "a master that Sentinels name": () => ({
    sentinel: { name: watched.name, nodes: [{ host: "127.0.0.1", port: watched.sentinel.port }] },
  }),
};

for (const [name, options] of Object.entries(deployments)) {
  // The whole suite on one server always, on the others with CI=true; what differs between them is in driver.test.ts.
  if (name !== "one server" && !isDeep) continue;
  const makeOrigin = async () => ({ origin: await connect(options()), nowMs: () => Date.now(), elapse });
  originConformance(name, makeOrigin);
  admitConformance(name, makeOrigin);
  holdConformance(name, makeOrigin, name !== "a three-node Cluster");
}
