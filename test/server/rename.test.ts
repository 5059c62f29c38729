/**
 * A region that is renamed, on real servers: one Redis for each of two regions, and one MariaDB.
 *
 * Seen: a server warned that its region was left at the default. Its operator named it, as the warning says, with the same Redis. 60 of 100
 * were used in the whole world, and the next request was denied: the rows of the old name counted as those of another region.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

/** So long that no window ends during a test. */
const BODY = { namespace: "api", identifier: "shared", limit: 100, duration: 30 * 86_400_000 };
const DAY_MS = 86_400_000;

let folder = "";
let mariadb: MariadbServer;
const redis: RedisServer[] = [];
const started: SluiceServer[] = [];

beforeAll(async () => {
  folder = temporaryFolder();
  const [sql, ...stores] = await Promise.all([MariadbServer.start(), RedisServer.start(), RedisServer.start()]);
  mariadb = sql;
  redis.push(...stores);
}, 120_000);
afterAll(async () => {
  for (const server of started) await server.stop("SIGKILL");
  for (const one of redis) await one.stop();
  await mariadb.stop();
  removeFolder(folder);
});

const environmentOf = (store: RedisServer, region: string | null) => ({
  SLUICE_SQL_URL: mariadb.url(),
  SLUICE_REDIS_URL: store.url,
  ...(region === null ? {} : { SLUICE_REGION: region }),
});

async function start(store: RedisServer, region: string | null, key = ""): Promise<SluiceServer> {
  const server = SluiceServer.begin(folder, { environment: environmentOf(store, region), args: [] });
  started.push(server);
  if (key !== "") server.key = key;
  await server.greeted();
  await poll("readiness", async () => (await server.ready()).status === 200);
  return server;
}

async function remaining(server: SluiceServer, cost: number): Promise<unknown> {
  const { success, remaining: left } = (await server.post("limit", { ...BODY, cost })).body.data;
  return [success, left];
}

/** Waits until a server knows this much of the others. */
function knows(server: SluiceServer, left: number): Promise<unknown> {
  return poll(`${left} left`, async () => JSON.stringify(await remaining(server, 0)) === `[true,${left}]`);
}

test("a region that is renamed counts once, there and in a third region, also days later", async () => {
  const first = await start(redis[0]!, null);
  const us = await start(redis[1]!, "us", first.key);
  await poll("two regions", async () => (await metric(first, "sluice_global_regions")) === 2);
  expect(await remaining(first, 60)).toEqual([true, 40]);
  await knows(us, 40);
  await first.stop();

  const renamed = await start(redis[0]!, "eu", first.key);
  expect(await remaining(renamed, 1)).toEqual([true, 39]);
  await knows(us, 39);
  expect(await metric(renamed, "sluice_global_aliases")).toBe(1);
  expect(await metric(us, "sluice_global_aliases")).toBe(0);
  await poll("the remark", async () =>
    JSON.stringify((await renamed.ready()).body).includes('renamed: rows of \\"default\\"'),
  );
  await renamed.stop();

  // Three days pass for everything that was written until now. A cleanup forgets nothing that a living row needs.
  await mariadb.ask(`UPDATE sluice_origins SET seen_at = seen_at - ${3 * DAY_MS} WHERE region <> 'us'`);
  await mariadb.ask(`UPDATE sluice_counters SET changed_at = changed_at - ${3 * DAY_MS} WHERE region <> 'us'`);
  const again = await start(redis[0]!, "eu-west", first.key);
  expect(await remaining(again, 1)).toEqual([true, 38]);
  await knows(us, 38);
  expect(await metric(again, "sluice_global_aliases")).toBe(2);

  const { out } = await runSluice(["doctor"], environmentOf(redis[0]!, "eu-west"));
  expect(out).toMatch(/^ok {4}region name +"eu-west", before that "default", "eu": those rows count as its own$/m);
  // A second server of this Redis has another name by mistake.
  const mistaken = await start(redis[0]!, "eu-north", first.key);
  expect(await remaining(mistaken, 1)).toEqual([true, 37]);
  await knows(us, 37);
  const warned = await runSluice(["doctor"], environmentOf(redis[0]!, "eu-west"));
  expect(warned.out).toMatch(
    /^warn {2}region name +the Redis of "eu-west" is in use under other names at the same time: "eu-north"$/m,
  );
}, 120_000);

async function metric(server: SluiceServer, name: string): Promise<number> {
  return (await server.metrics()).sum(name) ?? Number.NaN;
}
