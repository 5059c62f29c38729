/** What a real Redis and a real network do to a process: nothing is counted twice, nothing is believed that is not so. */
import { Limiter, type LimiterEvent, type LimiterOptions, type Origin, type Raise } from "sluice";
import { type RedisOptions, redisOrigin } from "sluice/redis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CommandFault, FaultProxy } from "../rig/fault-proxy.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { startCluster, startWatched } from "../rig/redis-topologies.ts";
import { starvedMs } from "../rig/starvation.ts";
import { storedCells, storedTotal } from "../rig/stored-cells.ts";

const isDeep = process.env["CI"] === "true";
const open: (() => unknown)[] = [];
let server: RedisServer;
let proxy: FaultProxy;

beforeEach(async () => {
  server = await RedisServer.start();
  proxy = await FaultProxy.start(server.port);
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await proxy.stop();
  await server.stop();
});

async function connected(options: RedisOptions): Promise<Origin> {
  const origin = redisOrigin({ commandTimeoutMs: 200, connectTimeoutMs: 200, ...options });
  open.push(() => origin.close());
  await poll("connected", () => origin.health?.().isConnected);
  return origin;
}

function raise(total: number, key = "60000:a"): Raise {
  return { key, sequence: 7, writer: "w", total, expiresAtMs: Date.now() + 60_000 };
}

const read = (key = "60000:a") => ({ key, sequence: 7, writer: "w" });

/** The answers, or the kind of the failure. */
async function outcome(call: Promise<readonly unknown[]>): Promise<unknown> {
  return call.catch((error: { readonly kind: string }) => error.kind);
}

describe("redis origin › a troubled connection", () => {
  test("a reply that is lost leaves the count exact, and so does sending it again", async () => {
    const origin = await connected({ url: proxy.url });
    await origin.raise([raise(1)]);
    proxy.order("lose");
    expect(await outcome(origin.raise([raise(5)]))).toBe("connection");
    expect(await storedTotal(server)).toBe(5);
    await poll("connected again", () => origin.health?.().isConnected);
    expect(await origin.raise([raise(5)])).toEqual([{ sum: 5, component: 5 }]);
    // The driver itself has sent nothing twice: the first, whole and by hash, the lost one, and the one above.
    expect(proxy.commands.get("EVALSHA")).toBe(3);
    expect(proxy.commands.get("EVAL")).toBe(1);
  });

  test("a command that arrives twice counts once", async () => {
    const origin = await connected({ url: proxy.url });
    await origin.raise([raise(1)]);
    proxy.order("duplicate");
    expect(await origin.raise([raise(5)])).toEqual([{ sum: 5, component: 5 }]);
    expect(proxy.struck).toBe(1);
    expect(await storedTotal(server)).toBe(5);
  });

  test.each(["skip", "corrupt", "bend"] satisfies CommandFault[])(
    "after a reply that was spoilt (%s) no answer is ever taken for another's",
    async (fault) => {
      const origin = await connected({ url: proxy.url });
      await origin.raise([raise(1), raise(1_000, "60000:b"), raise(2, "60000:c")]);
      proxy.order(fault, "EVALSHA", 2);
      // Calls in turns of their own, all on their way before the first is answered.
      proxy.hold();
      const calls: Promise<unknown>[] = [];
      for (const key of ["60000:a", "60000:b", "60000:a", "60000:c"]) {
        calls.push(outcome(origin.read([read(key)])));
        await Promise.resolve();
        await Promise.resolve();
      }
      await poll("all on their way", () => (proxy.commands.get("EVALSHA") ?? 0) >= 5);
      proxy.release();
      const truth = [1, 1_000, 1, 2];
      for (const [i, answer] of (await Promise.all(calls)).entries()) {
        const right = [{ sum: truth[i], component: truth[i] }];
        const isUnknown = Array.isArray(answer) && Number.isNaN((answer[0] as { sum: number }).sum);
        if (Array.isArray(answer) && !isUnknown) expect(answer).toEqual(right);
      }
      expect(proxy.struck).toBe(1);
      await poll("right again", async () => {
        const answer = await outcome(origin.read([read("60000:b")]));
        return JSON.stringify(answer) === JSON.stringify([{ sum: 1_000, component: 1_000 }]);
      });
    },
  );

  test("one byte at a time, and with a delay, all is well", async () => {
    proxy.isTrickling = true;
    proxy.delayMs = 5;
    const origin = await connected({ url: proxy.url });
    const raises = Array.from({ length: 100 }, (_, i) => raise(i + 1, `60000:${i}`));
    expect((await origin.raise(raises)).map(({ sum }) => sum)).toEqual(raises.map(({ total }) => total));
  });

  test.each([
    ["isBlackhole", 1],
    ["isHalfOpen", 5],
  ] as const)(
    "on a connection that is dead and does not say so (%s) calls end in time, and another is made",
    async (trouble, stored) => {
      const origin = await connected({ url: proxy.url });
      await origin.raise([raise(1)]);
      proxy[trouble] = true;
      expect(await outcome(origin.raise([raise(5)]))).toBe("timeout");
      expect(await storedTotal(server)).toBe(stored);
      await poll("given up", () => origin.health?.().isConnected === false);
      proxy[trouble] = false;
      await poll("connected again", () => origin.health?.().isConnected);
      expect(await origin.raise([raise(6)])).toEqual([{ sum: 6, component: 6 }]);
    },
  );

  test("while it is not connected, calls fail at once and nothing is kept for later", async () => {
    const origin = await connected({ url: proxy.url });
    proxy.isRefusing = true;
    proxy.reset();
    await poll("lost", () => origin.health?.().isConnected === false);
    expect(await outcome(origin.raise([raise(5)]))).toBe("connection");
    proxy.isRefusing = false;
    await poll("connected again", () => origin.health?.().isConnected);
    expect(await storedTotal(server)).toBe(0);
  });
});

/** A limiter on real time, and a way to ask it. */
function limiterOn(options: RedisOptions, more: LimiterOptions = {}) {
  const events: LimiterEvent[] = [];
  const onEvent = (event: LimiterEvent) => events.push(event);
  const limiter = new Limiter({ origin: redisOrigin({ connectTimeoutMs: 500, ...options }), onEvent, ...more });
  open.push(() => limiter.close());
  const ask = (identifier: string) => limiter.limit({ namespace: "api", identifier, limit: 1_000_000, duration: "1h" });
  const allowed = () => limiter.stats().decisions.allowed;
  const stored = () => limiter.stats().origin!;
  return { limiter, ask, allowed, stored, events };
}

const FLUSH_MS = 50;

/** Asks about many identifiers until told to stop; counts what was allowed. */
function load(ask: (identifier: string) => Promise<unknown>, identifiers: number) {
  let isOn = true;
  const run = async () => {
    for (let i = 0; isOn; i++) {
      await ask(`user_${i % identifiers}`);
      if (i % 16 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const running = run();
  return async () => {
    isOn = false;
    await running;
  };
}

describe("limiter on redis › Redis accepts no writes", () => {
  /**
   * Redis answers reads, so the breaker stays closed as long as there are more reads than flushes. Single requests are counted by Redis and fail
   * there; batches read, and each of two servers gave a whole limit away without saying that it was a guess.
   */
  test("a read-only replica: allows of single requests and of batches are degraded, until it accepts writes again", async () => {
    const { limiter, ask, stored } = limiterOn({ url: server.url });
    await poll("Redis answers in time", async () => !(await ask("before")).degraded);
    await poll("stored", () => stored().unreplayed === 0);
    await server.ask("REPLICAOF", "127.0.0.1", "1");
    let asked = 0;
    const batch = async () => {
      const rule = { namespace: "api", limit: 1_000_000, duration: "1s" } as const;
      const { decisions } = await limiter.limitMany([{ ...rule, identifier: `batch_${asked++}` }]);
      return decisions[0]!;
    };
    await poll("a batch says so", async () => (await batch()).degraded);
    // Six hundred milliseconds of a window of one second have passed without a write: no batch after this one may say otherwise.
    for (let i = 0; i < 200; i++) expect(await batch()).toMatchObject({ success: true, degraded: true });
    expect(await ask("single")).toMatchObject({ success: true, degraded: true });
    await server.ask("REPLICAOF", "NO", "ONE");
    await poll("writes are accepted", async () => !(await batch()).degraded);
  });
});

describe("limiter on redis › Redis forgets", () => {
  /** Waits until everything allowed is stored, and says how long it took. */
  async function whole(one: ReturnType<typeof limiterOn>, of: RedisServer = server): Promise<number> {
    const beganMs = performance.now();
    await poll("all is stored", async () => (await storedTotal(of)) === one.allowed());
    return performance.now() - beganMs;
  }

  test("killed and started empty: all of it is back within two flush intervals of reconnecting", async () => {
    const one = limiterOn({ url: server.url });
    await Promise.all(Array.from({ length: 500 }, (_, i) => one.ask(`user_${i}`)));
    await whole(one);
    // Before the first heartbeat nothing is confirmed, and nothing can be lost.
    await poll("confirmed", () => one.stored().unreplayed === 0);
    await server.kill();
    await one.ask("user_0");
    await server.begin();
    await poll("connected", () => one.stored().store?.isConnected);
    await poll("the breaker is closed", () => one.stored().breaker === "closed");
    // Two flushes, 500 ms for a slow disk, and what this process and Redis waited for a processor.
    const starved = () => starvedMs("thread-self") + starvedMs(server.pid);
    const starvedBeforeMs = starved();
    const tookMs = await whole(one);
    expect(tookMs).toBeLessThan(2 * FLUSH_MS + 500 + starved() - starvedBeforeMs);
    // Redis has it before its answer has arrived here.
    await poll("confirmed", () => one.stored().unreplayed === 0);
    expect(one.stored()).toMatchObject({ losses: 1, unreplayed: 0 });
    // One event for the outage, and one for its end as soon as it ended: none waits for the ten seconds of a bound.
    const states = () => one.events.flatMap((event) => (event.kind === "connection" ? [event.state] : []));
    await poll("up is told", () => states().at(-1) === "up");
    expect(states()).toEqual(["up", "down", "up"]);
    await one.limiter.close();
    const told = one.events.map(({ atMs, omitted, ...what }) => what);
    expect(told).toContainEqual({ kind: "lost", layer: "origin", keys: 500 });
    const connections = told.filter(({ kind }) => kind === "connection");
    expect(connections[0]).toMatchObject({ state: "up", address: `127.0.0.1:${server.port}` });
    expect(connections[1]).toMatchObject({ state: "down", failure: "connection" });
    expect(connections.at(-1)).toMatchObject({ state: "up" });
    expect(told.at(-1)).toEqual({ kind: "closed", lost: 0 });
  });

  test("FLUSHALL under load: all of it is back", async () => {
    const one = limiterOn({ url: server.url });
    const stop = load(one.ask, 200);
    for (let i = 0; i < 3; i++) {
      const flushes = one.stored().raises;
      await poll("three flushes under load", () => one.stored().raises >= flushes + 3);
      await server.ask("FLUSHALL");
    }
    await stop();
    await whole(one);
    expect(one.stored().losses).toBeGreaterThanOrEqual(3);
  });

  test("evicted under maxmemory: a cell comes back with the next call about it", async () => {
    const one = limiterOn({ url: server.url });
    await Promise.all(Array.from({ length: 200 }, (_, i) => one.ask(`user_${i}`)));
    await whole(one);
    await server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
    await server.ask("CONFIG", "SET", "maxmemory", "1");
    await server.ask("SET", "filler", "x").catch(() => {});
    await poll("evicted", async () => (await storedCells(server)).length < 200);
    await server.ask("CONFIG", "SET", "maxmemory", "0");
    await Promise.all(Array.from({ length: 200 }, (_, i) => one.ask(`user_${i}`)));
    await whole(one);
  });

  test("a heartbeat expires after every cell that it covers, so volatile-ttl evicts the cells first", async () => {
    const one = limiterOn({ url: server.url });
    await one.limiter.limit({ namespace: "api", identifier: "user", limit: 10, duration: "7d" });
    await one.ask("user");
    // Only a flush confirms a cell, and every flush has a heartbeat.
    await poll("confirmed", () => one.stored().unreplayed === 0);
    const [heartbeat] = (await server.ask("KEYS", "sluice:1:{heartbeat:*")) as string[];
    const expiryOf = async (name: string) => Number(await server.ask("PEXPIRETIME", name));
    const cells = await storedCells(server);
    expect(cells).toHaveLength(2);
    const expiries = await Promise.all(cells.map(({ name }) => expiryOf(name)));
    expect(await expiryOf(heartbeat!)).toBeGreaterThan(Math.max(...expiries));
  });

  test("a full Redis refuses writes: requests are answered, and all arrives when there is room", async () => {
    const one = limiterOn({ url: server.url });
    await one.ask("user_0");
    await whole(one);
    await server.ask("CONFIG", "SET", "maxmemory", "1");
    for (let i = 0; i < 200; i++) expect((await one.ask(`user_${i}`)).success).toBe(true);
    await poll("refused", () => (one.stored().store?.failures["oom"] ?? 0) > 0);
    expect(one.stored().oldestUnreplayedMs).toBeGreaterThan(0);
    await server.ask("CONFIG", "SET", "maxmemory", "0");
    await whole(one);
  });

  test("a reconnect in the middle of a flush, again and again: the count is exact", async () => {
    const one = limiterOn({ url: proxy.url });
    await poll("connected", () => one.stored().store?.isConnected);
    const stop = load(one.ask, 300);
    const faults: CommandFault[] = ["lose", "duplicate", "skip", "corrupt", "lose"];
    for (const [i, fault] of faults.entries()) {
      proxy.order(fault, "EVALSHA", 3);
      await poll(`${fault} struck`, () => proxy.struck > i);
    }
    await stop();
    await whole(one);
  });

  test("one node of a Cluster is flushed: its cells come back too; one is away: the others' cells go through", async () => {
    const cluster = await startCluster();
    open.push(() => cluster.stop());
    const one = limiterOn({ cluster: [{ host: "127.0.0.1", port: cluster.nodes[0]!.port }] });
    await poll("connected", () => one.stored().store?.isConnected);
    await Promise.all(Array.from({ length: 300 }, (_, i) => one.ask(`user_${i}`)));
    const total = async () => {
      const totals = await Promise.all(cluster.nodes.map((node) => storedTotal(node)));
      return totals.reduce((a, b) => a + b, 0);
    };
    await poll("all is stored", async () => (await total()) === 300);
    for (const node of cluster.nodes) {
      // A heartbeat must have been confirmed on every node before its loss can show.
      const beats = one.stored().raises;
      await poll("two more flushes", () => one.stored().raises >= beats + 2);
      await node.ask("FLUSHALL");
      await poll("all is stored again", async () => (await total()) === 300);
    }
    const [near, far, away] = cluster.nodes as [RedisServer, RedisServer, RedisServer];
    // Otherwise the others refuse as well, as soon as they have noticed.
    for (const node of [near, far]) await node.ask("CONFIG", "SET", "cluster-require-full-coverage", "no");
    const there = (await storedTotal(near)) + (await storedTotal(far));
    await away.kill();
    await Promise.all(Array.from({ length: 300 }, (_, i) => one.ask(`user_${i}`)));
    await poll(
      "the others have theirs",
      async () => (await storedTotal(near)) + (await storedTotal(far)) === 2 * there,
    );
    expect(one.stored()).toMatchObject({ breaker: "closed", unreplayed: 300 - there });
    // Forgotten while another is away: nobody's heartbeat is whole then.
    await near.ask("FLUSHALL");
    await away.begin();
    await poll("all is stored, twice as much", async () => (await total()) === 600, 20_000);
    await poll("nothing waits", () => one.stored().unreplayed === 0);
  });
});

/** What takes long to set up: with CI=true only. */
if (isDeep) {
  describe("limiter on redis › several servers", () => {
    test("slots that move to another node are followed", async () => {
      const cluster = await startCluster();
      open.push(() => cluster.stop());
      const [from, to] = [cluster.nodes[0]!, cluster.nodes[2]!];
      const origin = await connected({ cluster: [{ host: "127.0.0.1", port: from.port }] });
      const keys = Array.from({ length: 200 }, (_, i) => `60000:${i}`);
      await origin.raise(keys.map((key, i) => raise(i + 1, key)));
      const id = String(await to.ask("CLUSTER", "MYID"));
      for (const node of cluster.nodes) await node.ask("CLUSTER", "SETSLOT", 0, "NODE", id).catch(() => {});
      for (let slot = 1; slot < 200; slot++) {
        await to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await from.ask("CLUSTER", "MYID")));
        await from.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", id);
        const moved = (await from.ask("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
        // In between: what is not there any more is asked for with ASK.
        for (const key of moved) await from.ask("MIGRATE", "127.0.0.1", to.port, key, 0, 5_000);
        if (slot % 2 === 0) for (const node of [to, from]) await node.ask("CLUSTER", "SETSLOT", slot, "NODE", id);
      }
      const answers = await origin.raise(keys.map((key, i) => raise(i + 2, key)));
      expect(answers.map(({ sum }) => sum)).toEqual(keys.map((_, i) => i + 2));
    });

    test("a replica that lags is promoted: what it lacks is raised again", async () => {
      const watched = await startWatched();
      open.push(() => watched.stop());
      const nodes = [{ host: "127.0.0.1", port: watched.sentinel.port }];
      const one = limiterOn({ sentinel: { name: watched.name, nodes }, commandTimeoutMs: 300 });
      await poll("connected", () => one.stored().store?.isConnected);
      await Promise.all(Array.from({ length: 100 }, (_, i) => one.ask(`user_${i}`)));
      await poll("the replica has it", async () => (await storedTotal(watched.replica)) === one.allowed());
      await watched.lag();
      await Promise.all(Array.from({ length: 100 }, (_, i) => one.ask(`user_${i}`)));
      await poll("the master has it", async () => (await storedTotal(watched.master)) === one.allowed());
      await watched.master.kill();
      await poll(
        "the replica is promoted and has all",
        async () => (await storedTotal(watched.replica)) === one.allowed(),
        25_000,
      );
      expect(one.stored().losses).toBeGreaterThanOrEqual(1);
    });
  });
}
