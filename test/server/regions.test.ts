/**
 * Two servers of one region and one of another, on a real Redis each and one MariaDB: what is set, made or counted at one of them
 * is known to all, and none of it is lost when they are replaced one by one or the database goes away.
 */
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { kill } from "../rig/process-signals.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { RequestLoad } from "../rig/request-load.ts";
import { SluiceServer, sluice } from "../rig/sluice-server.ts";
import { storedCells } from "../rig/stored-cells.ts";

/** So long that no window ends during a test. */
const DURATION = 30 * 86_400_000;
/** A change is everywhere in about a second; the rest is for a machine that has other things to do. */
const SOON_MS = 15_000;

let folder = "";
let mariadb: MariadbServer;
const redis: RedisServer[] = [];
/** Two of region a, one of region b. */
let servers: SluiceServer[] = [];
const started: SluiceServer[] = [];

function begin(region: "a" | "b", args: readonly string[] = []): SluiceServer {
  const environment = {
    SLUICE_SQL_URL: mariadb.url(),
    SLUICE_REDIS_URL: redis[region === "a" ? 0 : 1]!.url,
    SLUICE_REGION: region,
  };
  const server = SluiceServer.begin(folder, { environment, args });
  started.push(server);
  return server;
}

/** Wherever the others stand, it has the key that one of them printed. */
async function successor(args: readonly string[] = []): Promise<SluiceServer> {
  const server = begin("a", args);
  server.key = servers[0]!.key;
  await server.greeted();
  await poll("readiness", async () => (await server.ready()).status === 200);
  return server;
}

beforeAll(async () => {
  folder = temporaryFolder();
  const [sql, ...stores] = await Promise.all([MariadbServer.start(), RedisServer.start(), RedisServer.start()]);
  mariadb = sql;
  redis.push(...stores);
  servers = [begin("a"), begin("a"), begin("b")];
  await Promise.all(servers.map((server) => server.greeted()));
}, 120_000);
afterAll(async () => {
  for (const server of started) await server.stop("SIGKILL");
  for (const one of redis) await one.stop();
  await mariadb.stop();
  removeFolder(folder);
});

/** Asks all of them until each says so. */
function everywhere(what: string, ask: (server: SluiceServer) => Promise<boolean>): Promise<true> {
  return poll(
    what,
    async () => {
      const answers = await Promise.all(servers.map(ask));
      return answers.every((isSo) => isSo) ? true : undefined;
    },
    SOON_MS,
  );
}

describe("servers of two regions", () => {
  test("that start at once on an empty database make one root key, which opens all of them", async () => {
    const keys = servers.map(({ key }) => key).filter((key) => key !== "");
    expect(keys).toHaveLength(1);
    for (const server of servers) server.key = keys[0]!;
    await everywhere("the key", async (server) => (await server.post("listNamespaces", {})).status === 200);
  });

  test("count together: what each accepted, all deny", async () => {
    const body = { namespace: "api", identifier: "shared", limit: 100, duration: DURATION };
    for (const [i, cost] of [40, 30, 30].entries()) {
      expect((await servers[i]!.post("limit", { ...body, cost })).body.data).toMatchObject({ success: true });
    }
    await everywhere("the count", async (server) => {
      const { status, body: answer } = await server.post("limit", { ...body, cost: 0 });
      return status === 200 && answer.data.remaining === 0;
    });
    for (const server of servers) expect((await server.post("limit", body)).body.data.success).toBe(false);
  });

  test("an override that is set at one of them holds at all, and so does its end", async () => {
    const body = { namespace: "api", identifier: "vip_1", limit: 1, duration: DURATION };
    const override = { namespace: "api", identifier: "vip_*" };
    const set = await servers[2]!.post("setOverride", { ...override, limit: 5_000, duration: DURATION });
    const { overrideId } = set.body.data;
    await everywhere("the override", async (server) => {
      const { data } = (await server.post("limit", { ...body, cost: 0 })).body;
      return data.overrideId === overrideId && data.limit === 5_000;
    });
    expect((await servers[0]!.post("deleteOverride", override)).status).toBe(200);
    await everywhere(
      "its end",
      async (server) => (await server.post("limit", { ...body, cost: 0 })).body.data.limit === 1,
    );
  });

  test("a key that is made at the command line opens all of them, and none once it is revoked", async () => {
    const environment = { SLUICE_SQL_URL: mariadb.url() };
    const made = await sluice(["keys", "create", "--permissions", "ratelimit.*.limit", "--json"], environment);
    const { id, key } = JSON.parse(made.out) as { id: string; key: string };
    const body = { namespace: "api", identifier: "user_1", limit: 100, duration: DURATION };
    await everywhere("the key", async (server) => (await server.post("limit", body, key)).status === 200);
    expect((await servers[0]!.post("listNamespaces", {}, key)).status).toBe(403);
    expect((await sluice(["keys", "revoke", id], environment)).code).toBe(0);
    await everywhere("its end", async (server) => (await server.post("limit", body, key)).status === 401);
  });
});

/** Nothing can read or write the counts of the regions until the function that it returns is called; all other tables go on. */
async function lockCounts(): Promise<() => Promise<void>> {
  const connection = await createConnection(mariadb.url());
  await connection.query("LOCK TABLES sluice_counters WRITE");
  return () => connection.end();
}

describe("a server that has just become ready", () => {
  test("denies what is used up in another region", async () => {
    // Seen: it allowed a whole limit more, because its first import came a second later.
    const body = { namespace: "api", identifier: "used-up", limit: 100, duration: DURATION };
    expect((await servers[2]!.post("limit", { ...body, cost: 100 })).body.data.success).toBe(true);
    await everywhere(
      "the count",
      async (server) => (await server.post("limit", { ...body, cost: 0 })).body.data.remaining === 0,
    );
    for (const args of [[], ["--workers", "2"]]) {
      const newcomer = await successor(args);
      expect((await newcomer.post("limit", { ...body, cost: 100 })).body.data.success).toBe(false);
      expect((await newcomer.stop()).code).toBe(0);
    }
  });

  test("has waited for the counts of the other regions, but not for ever", async () => {
    const unlock = await lockCounts();
    const newcomer = begin("a");
    newcomer.key = servers[0]!.key;
    await newcomer.greeted();
    expect(await newcomer.ready()).toMatchObject({
      status: 503,
      body: {
        ready: false,
        layers: { global: { status: "degraded", reason: expect.stringMatching(/^waiting for the first import/) } },
      },
    });
    const { body } = await poll(
      "readiness",
      async () => {
        const answer = await newcomer.ready();
        return answer.status === 200 ? answer : undefined;
      },
      SOON_MS,
    );
    expect(body).toMatchObject({ layers: { global: { status: "away", reason: expect.stringMatching(/^no import/) } } });
    await unlock();
    await poll(
      "the first import",
      async () => {
        const { layers } = (await newcomer.ready()).body as { layers: { global: { status: string } } };
        return layers.global.status === "ok";
      },
      SOON_MS,
    );
    expect((await newcomer.stop()).code).toBe(0);
  });

  test("stays ready while it replaces a worker, which listens after its first import", async () => {
    const server = await successor(["--workers", "2"]);
    const started = () => server.log("worker.started").filter(({ worker }) => worker === 1);
    const unlock = await lockCounts();
    await kill(Number(started()[0]!["workerPid"]));
    await poll("its death", () => server.log("worker.died").length > 0);
    const statuses = new Set<number>();
    // Half of the time that it waits at most: it must be born, and must not listen.
    const endMs = performance.now() + 2_500;
    await poll("half of its wait", async () => {
      statuses.add((await server.ready()).status);
      return performance.now() > endMs;
    });
    expect([...statuses]).toEqual([200]);
    expect(started()).toHaveLength(1);
    await unlock();
    await poll("its replacement", () => started().length === 2, SOON_MS);
    expect((await server.ready()).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });
});

describe("a rolling restart under load", () => {
  test("loses no accepted request, and answers no 5xx", async () => {
    const load = new RequestLoad({
      clients: 4,
      operation: "limit",
      bodyOf: () => ({ namespace: "api", identifier: "rolling-restart", limit: 1_000_000_000, duration: DURATION }),
    });
    load.targets = servers.slice(0, 2);
    for (const old of [...load.targets]) {
      await load.more(30);
      const next = await successor();
      load.targets = [...load.targets, next];
      await load.more(30);
      // Clients learn of it by what they meet.
      expect((await old.stop()).code).toBe(0);
      load.targets = load.targets.filter((one) => one !== old);
      await load.more(30);
    }
    await load.stop();
    const { statuses, unanswered } = load;
    for (const server of load.targets) expect((await server.stop()).code).toBe(0);
    expect([...statuses.keys()]).toEqual([200]);
    const cells = (await storedCells(redis[0]!)).filter(({ name }) => name.includes("rolling-restart"));
    const total = cells.reduce((sum, cell) => sum + cell.sum, 0);
    // Of a request that was cut off, the client cannot know.
    const accepted = statuses.get(200)!;
    expect(total).toBeGreaterThanOrEqual(accepted);
    expect(total).toBeLessThanOrEqual(accepted + unanswered);
    servers = [await successor(), servers[2]!];
  }, 120_000);
});

describe("a database that goes away", () => {
  test("what is known goes on, what is new waits; a server that starts meanwhile is not ready until it is back; one that stops, ends", async () => {
    const [server] = servers as [SluiceServer];
    const body = { namespace: "api", identifier: "user_1", limit: 1_000, duration: DURATION };
    expect((await server.post("limit", body)).status).toBe(200);
    await mariadb.process.kill();
    expect((await server.post("limit", body)).status).toBe(200);
    expect((await server.post("limit", { ...body, namespace: "new" })).status).toBe(503);
    expect((await server.ready()).status).toBe(200);

    const newcomer = begin("a");
    newcomer.key = server.key;
    await newcomer.listening();
    expect((await newcomer.post("limit", body)).status).toBe(503);
    expect(await newcomer.ready()).toMatchObject({
      status: 503,
      body: { ready: false, layers: { admin: { status: "away" } } },
    });
    await mariadb.process.begin();
    await poll("readiness", async () => (await newcomer.ready()).status === 200, SOON_MS);
    expect((await newcomer.post("limit", body)).status).toBe(200);
    await poll(
      "a new namespace",
      async () => (await server.post("limit", { ...body, namespace: "new" })).status === 200,
    );

    await mariadb.process.freeze();
    const { code, tookMs } = await newcomer.stop();
    await mariadb.process.thaw();
    expect(code).toBe(0);
    // 4 s for the last publish, 1 s for the admin store, 1 s for what is left, and what a busy machine adds.
    expect(tookMs).toBeLessThan(20_000);
  });
});
