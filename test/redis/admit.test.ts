/**
 * `admit` on a real Redis beyond the conformance suite: what it leaves there, what it does with a key that is not a cell, how it travels,
 * that it is sent once, and that many clients on one key count exactly its limit.
 */
import { randomUUID } from "node:crypto";
import { createClient, createCluster, createSentinel } from "@redis/client";
import { Redis } from "ioredis";
import type { Admit, Admitted, Origin } from "sluice";
import { type RedisOptions, redisOrigin } from "sluice/redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FaultProxy } from "../rig/fault-proxy.ts";
import { byLength } from "../rig/length.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { startCluster, startWatched } from "../rig/redis-topologies.ts";
import { storedCells } from "../rig/stored-cells.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const LIFE_MS = 3_600_000;
const KEY = "60000:a";
const CELL = `sluice:1:{${KEY}}:7`;
const BEFORE = `sluice:1:{${KEY}}:6`;
let server: RedisServer;
const open: (() => unknown)[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.ask("FLUSHALL"));
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function origin(options: RedisOptions): Origin {
  const made = redisOrigin(options);
  open.push(() => made.close());
  return made;
}

async function connected(options: RedisOptions): Promise<Origin> {
  const made = origin(options);
  await poll("connected", () => made.health?.().isConnected);
  return made;
}

/** A call in short: half of the window is left, the limit is 3 and one request has the cost 1. */
function call({ limit = 3, costs = [1], ...more }: Partial<Admit> & { limit?: number; costs?: number[] } = {}): Admit {
  const expiresAtMs = Date.now() + LIFE_MS;
  return {
    key: KEY,
    sequence: 7,
    writer: "w",
    total: 0,
    previousTotal: 0,
    expiresAtMs,
    previousExpiresAtMs: expiresAtMs - 1,
    foreign: 0,
    previousForeign: 0,
    leftMs: 500,
    durationMs: 1_000,
    requests: costs.map((cost) => ({ limit, cost })),
    call: 1,
    ...more,
  };
}

const admit = async (one: Origin, given?: Parameters<typeof call>[0]): Promise<Admitted> =>
  (await one.admit!([call(given)]))[0]!;

/** The kind of the failure. */
const failure = (calls: Promise<unknown>) => calls.catch((error: { readonly kind: string }) => error.kind);

async function allExpire(of: RedisServer = server): Promise<number> {
  const keys = (await of.ask("KEYS", "*")) as string[];
  for (const key of keys) expect([key, await of.ask("PTTL", key)]).toEqual([key, expect.toSatisfy((ms) => ms > 0)]);
  return keys.length;
}

describe("admit on redis › what it leaves in Redis", () => {
  test("both cells are hashes as a raise makes them: components, sum, and an expiry of their own", async () => {
    const one = await connected({ url: server.url });
    const given = call({ previousTotal: 2, limit: 10, costs: [1, 2] });
    await one.admit!([given]);
    await admit(one, { writer: "v", limit: 10, costs: [4], expiresAtMs: given.expiresAtMs });
    const [e, before] = [String(given.expiresAtMs), String(given.previousExpiresAtMs)];
    expect(await server.client.hash(CELL)).toEqual({ "w:w": "3", "w:v": "4", t: "7", e });
    expect(await server.client.hash(BEFORE)).toEqual({ "w:w": "2", t: "2", e: before });
    expect(await server.ask("PEXPIRETIME", CELL)).toBe(given.expiresAtMs);
    expect(await server.ask("PEXPIRETIME", BEFORE)).toBe(given.previousExpiresAtMs);
  });

  test("a denial writes nothing, and a denied cold key makes no cell", async () => {
    const one = await connected({ url: server.url });
    expect(await admit(one, { limit: 0 })).toMatchObject({ allowed: [false] });
    expect(await server.ask("DBSIZE")).toBe(0);
    await admit(one, { costs: [3] });
    const held = await server.client.hash(CELL);
    expect(await admit(one, { writer: "v" })).toMatchObject({ allowed: [false] });
    expect(await server.client.hash(CELL)).toEqual(held);
  });

  test("a raise that follows finds the cell, and changes nothing if it has the same total", async () => {
    const one = await connected({ url: server.url });
    const { expiresAtMs } = call();
    await admit(one, { costs: [2], expiresAtMs });
    const held = await server.client.hash(CELL);
    expect(await one.raise([{ key: KEY, sequence: 7, writer: "w", total: 2, expiresAtMs }])).toEqual([
      { sum: 2, component: 2 },
    ]);
    expect(await server.client.hash(CELL)).toEqual(held);
  });
});

describe("admit on redis › a key that is not a cell", () => {
  test.each([
    ["the cell", CELL],
    ["the cell before it", BEFORE],
  ])("another type in place of %s spoils its own answer only, and stays as it is", async (_, name) => {
    const one = await connected({ url: server.url });
    await server.ask("SET", name, "mine");
    const answers = await one.admit!([call({ key: "60000:b" }), call({ previousTotal: 1 }), call({ key: "60000:c" })]);
    expect(answers.map(({ allowed }) => allowed)).toEqual([[true], null, [true]]);
    expect(answers[1]!.current.sum).toBeNaN();
    expect(await server.ask("GET", name)).toBe("mine");
    expect(one.health!().failures).toEqual({ wrongtype: 1 });
  });

  test.each([
    ["t", "abc"],
    ["t", "-5"],
    ["t", "1.5"],
    ["t", "1e300"],
    ["t", "nan"],
    ["t", "2"],
    ["w:w", "x"],
    ["w:w", "-1"],
  ])("junk in a cell (%s = %j) is counted and not written over", async (field, value) => {
    const one = await connected({ url: server.url });
    for (const name of [CELL, BEFORE]) {
      await server.ask("FLUSHALL");
      await server.ask("HSET", name, "t", "5", "w:w", "5", "e", String(Date.now() + LIFE_MS), field, value);
      const held = await server.client.hash(name);
      expect(await admit(one, { total: 9, previousTotal: 9, limit: 100 })).toMatchObject({ allowed: null });
      expect(await server.client.hash(name)).toEqual(held);
    }
    expect(one.health!().failures).toEqual({ junk: 2 });
  });

  test.each([
    ["no field of a cell", ["user", "bob"]],
    ["a sum without an expiry", ["user", "bob", "t", "5"]],
    ["an expiry without a sum", ["user", "bob", "e", "5"]],
  ])("somebody else's hash is left as it is, without an expiry: %s", async (_, fields) => {
    const one = await connected({ url: server.url });
    for (const name of [CELL, BEFORE]) {
      await server.ask("FLUSHALL");
      await server.ask("HSET", name, ...fields);
      const held = await server.client.hash(name);
      const answers = await one.admit!([call({ previousTotal: 1 }), call({ key: "60000:b" })]);
      expect(answers.map(({ allowed }) => allowed)).toEqual([null, [true]]);
      expect(await server.client.hash(name)).toEqual(held);
      expect(await server.ask("PTTL", name)).toBe(-1);
    }
    expect(one.health!().failures).toEqual({ junk: 2 });
  });
});

describe("admit on redis › rights", () => {
  const as = (user: string) => ({ url: server.url.replace("redis://", `redis://${user}:p@`) });
  const user = (name: string, rights: string) =>
    server.ask(
      "ACL",
      "SETUSER",
      name,
      ..."on >p resetkeys ~sluice:* resetchannels -@all".split(" "),
      ...rights.split(" "),
    );

  test("a user who may not set expiries writes nothing at all", async () => {
    await user("noexpiry", "+eval +evalsha +hmget +hset +hlen +ping");
    const one = await connected(as("noexpiry"));
    expect(await failure(one.admit!([call({ previousTotal: 1 })]))).toBe("permission");
    expect(await failure(one.admit!([call()]))).toBe("permission");
    expect(await server.ask("DBSIZE")).toBe(0);
  });

  test("a user who may not ask for the length of a hash is served", async () => {
    await user("older", "+eval +evalsha +hmget +hset +pexpireat +ping");
    const one = await connected(as("older"));
    expect(await admit(one)).toMatchObject({ allowed: [true] });
    expect(one.health!().failures).toEqual({});
  });

  test("a full Redis that refuses writes refuses the call, and still answers one that it denies", async () => {
    const full = await RedisServer.start({ config: [["maxmemory", "2mb"]] });
    open.push(() => full.stop());
    const one = await connected({ url: full.url });
    await admit(one, { costs: [3] });
    await full.ask("CONFIG", "SET", "maxmemory", "1");
    expect(await failure(one.admit!([call({ writer: "v", limit: 4 })]))).toBe("oom");
    expect(await admit(one, { writer: "v" })).toMatchObject({ allowed: [false], current: { sum: 3, component: 0 } });
  });
});

describe("admit on redis › how it travels", () => {
  test("keys of one turn travel together, 32 per command, whoever asked for them", async () => {
    const one = await connected({ url: server.url });
    await admit(one);
    const before = one.health!().commands;
    await Promise.all(Array.from({ length: 320 }, (_, i) => admit(one, { key: `60000:${i}` })));
    expect(one.health!().commands - before).toBe(10);
  });

  test("a script that the server lost is sent whole, and counts once", async () => {
    const one = await connected({ url: server.url });
    await admit(one);
    await server.ask("SCRIPT", "FLUSH");
    const { scriptLoads } = one.health!();
    expect(await admit(one, { total: 1 })).toMatchObject({ allowed: [true], current: { sum: 2, component: 2 } });
    expect(one.health!().scriptLoads).toBe(scriptLoads + 1);
  });

  test("a call whose reply is lost is not sent again, and the same call afterwards is repeated", async () => {
    const proxy = await FaultProxy.start(server.port);
    open.push(() => proxy.stop());
    const one = await connected({ url: proxy.url });
    await admit(one, { key: "60000:warm" });
    const before = proxy.commands.get("EVALSHA") ?? 0;
    proxy.order("lose");
    expect(await failure(one.admit!([call()]))).toBe("connection");
    await poll("connected again", () => one.health!().isConnected);
    expect(await server.ask("HGET", CELL, "t")).toBe("1");
    expect(await admit(one)).toMatchObject({ allowed: null, current: { sum: 1, component: 1 } });
    expect(proxy.commands.get("EVALSHA")).toBe(before + 2);
  });

  test("a call that arrives twice counts once", async () => {
    const proxy = await FaultProxy.start(server.port);
    open.push(() => proxy.stop());
    const one = await connected({ url: proxy.url });
    await admit(one, { key: "60000:warm" });
    proxy.order("duplicate");
    expect(await admit(one)).toMatchObject({ allowed: [true], current: { sum: 1, component: 1 } });
    expect(await server.ask("HGET", CELL, "t")).toBe("1");
  });

  test.each(["skip", "corrupt", "bend"] as const)(
    "an answer that was spoilt (%s) is never taken for another's",
    async (fault) => {
      const proxy = await FaultProxy.start(server.port);
      open.push(() => proxy.stop());
      const one = await connected({ url: proxy.url, commandTimeoutMs: 200 });
      await admit(one, { key: "60000:warm" });
      proxy.order(fault);
      proxy.hold();
      const first = one.admit!([call({ limit: 0 })]);
      const answers = [first, new Promise<void>((resolve) => setImmediate(resolve)).then(() => one.admit!([call()]))];
      await poll("both are on their way", () => (proxy.commands.get("EVALSHA") ?? 0) >= 3);
      proxy.release();
      const [denied, allowed] = await Promise.all(answers.map((answer) => failure(answer)));
      for (const [answer, right] of [
        [denied, [false]],
        [allowed, [true]],
      ] as const) {
        if (Array.isArray(answer) && answer[0].allowed !== null) expect(answer[0].allowed).toEqual(right);
      }
      expect(proxy.struck).toBe(1);
    },
  );
});

describe("admit on redis › the life of its connections", () => {
  test("it is the same while a connection lasts, and another after each reconnect", async () => {
    const proxy = await FaultProxy.start(server.port);
    open.push(() => proxy.stop());
    const one = await connected({ url: proxy.url });
    const lives = new Set<number | undefined>();
    for (let i = 0; i < 3; i++) {
      const life = one.life!();
      await admit(one, { total: i });
      expect(one.life!()).toBe(life);
      expect(lives.has(life)).toBe(false);
      lives.add(life);
      const { connects } = one.health!();
      proxy.reset();
      await poll("connected again", () => one.health!().isConnected && one.health!().connects > connects);
    }
    expect([...lives].every((life) => typeof life === "number")).toBe(true);
  });

  test("it is not known behind a proxy that keeps connections, nor of a client that was passed in", async () => {
    expect((await connected({ url: server.url, proxy: true })).life!()).toBeUndefined();
    const client = new Redis(server.port, "127.0.0.1", { autoResendUnfulfilledCommands: false });
    open.push(() => client.disconnect());
    expect((await connected({ client })).life!()).toBeUndefined();
  });

  test("in a Cluster it changes when a slot moves, and the call that found it moved is executed once", async () => {
    const cluster = await startCluster();
    open.push(() => cluster.stop());
    const one = await connected({ cluster: [{ host: "127.0.0.1", port: cluster.nodes[0]!.port }] });
    const keys = Array.from({ length: 60 }, (_, i) => `60000:${i}`);
    const admits = (total: number) => one.admit!(keys.map((key) => call({ key, total, limit: 100 })));
    expect((await admits(0)).map(({ allowed }) => allowed)).toEqual(keys.map(() => [true]));
    const life = one.life!();
    expect(typeof life).toBe("number");
    await admits(1);
    expect(one.life!()).toBe(life);
    // The slots of the first node that have a key move to the last one.
    const [from, to] = [cluster.nodes[0]!, cluster.nodes[2]!];
    const [fromId, toId] = [String(await from.ask("CLUSTER", "MYID")), String(await to.ask("CLUSTER", "MYID"))];
    const names = (await from.ask("KEYS", "sluice:1:{60000:*")) as string[];
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const slot = Number(await from.ask("CLUSTER", "KEYSLOT", name));
      await to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
      await from.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
      const moved = (await from.ask("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
      for (const key of moved) await from.ask("MIGRATE", "127.0.0.1", to.port, key, 0, 5_000);
      for (const node of [to, from]) await node.ask("CLUSTER", "SETSLOT", slot, "NODE", toId);
    }
    const answers = await admits(2);
    expect(answers.map(({ allowed, current }) => [allowed, current.sum])).toEqual(keys.map(() => [[true], 3]));
    expect(one.life!()).not.toBe(life);
    for (const node of cluster.nodes) await allExpire(node);
  });
});

describe("admit on redis › clients that somebody else owns", () => {
  test("a client of ioredis, of @redis/client and of a Cluster serve; a Sentinel client, which sends again, does not", async () => {
    const [cluster, watched] = await Promise.all([startCluster(), startWatched()]);
    const io = new Redis(server.port, "127.0.0.1", { autoResendUnfulfilledCommands: false });
    const single = createClient({ url: server.url, disableOfflineQueue: true });
    const many = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) });
    const sentinelRootNodes = [{ host: "127.0.0.1", port: watched.sentinel.port }];
    const sentinel = createSentinel({ name: watched.name, sentinelRootNodes });
    open.push(
      () => cluster.stop(),
      () => watched.stop(),
      () => io.disconnect(),
    );
    for (const client of [single, many, sentinel]) {
      client.on("error", () => {});
      await client.connect();
      open.push(() => client.destroy());
    }
    for (const client of [io, single, many]) {
      await server.ask("FLUSHALL");
      const one = await connected({ client });
      const keys = ["60000:a", "60000:b", "60000:c", "60000:d", "60000:e"];
      const answers = await one.admit!(keys.map((key, i) => call({ key, costs: [i, 1].map((cost) => cost || 1) })));
      expect(answers.map(({ allowed }) => allowed)).toEqual([
        [true, true],
        [true, true],
        [true, true],
        [true, false],
        [false, true],
      ]);
    }
    expect((await connected({ client: sentinel })).admit).toBeUndefined();
  });
});

describe("admit on redis › eight clients on one key", () => {
  const CLIENTS = 8;
  const LIMIT = 40;
  const CALLS = 60;
  const WINDOWS = byLength({ fast: 4, short: 8, ci: 40, lab: 400 });
  const SEED = 7;

  /** One process with a total of its own: what it accepted, and how often its calls were denied. */
  class Caller {
    readonly writer = randomUUID();
    readonly #one: Origin;
    readonly #random: SeededRandom;
    accepted = 0;
    denied = 0;
    repeated = 0;

    constructor(one: Origin, seed: number) {
      this.#one = one;
      this.#random = new SeededRandom(seed);
    }

    async run(sequence: number, isLossy: boolean): Promise<void> {
      this.accepted = 0;
      for (let i = 0; i < CALLS; i++) {
        const costs = Array.from({ length: 1 + this.#random.below(3) }, () => 1 + this.#random.below(2));
        const given = call({
          key: "60000:hot",
          sequence,
          writer: this.writer,
          total: this.accepted,
          limit: LIMIT,
          costs,
          leftMs: 0,
        });
        const isLost = isLossy && this.#random.chance(0.2);
        const [answer] = await this.#one.admit!([given]);
        // A copy of the call, which the network was late with.
        if (this.#random.chance(0.1)) this.#expectRepeated(given, answer!, (await this.#one.admit!([given]))[0]!);
        const isAccepted = (index: number) => isLost || answer!.allowed?.[index] === true;
        for (const [index, cost] of costs.entries()) {
          if (isAccepted(index)) this.accepted += cost;
          else this.denied++;
        }
      }
    }

    #expectRepeated({ total }: Admit, first: Admitted, again: Admitted): void {
      expect(again.current.component).toBe(first.current.component);
      if (again.current.component === total) return;
      this.repeated++;
      expect(again.allowed).toBeNull();
    }
  }

  test("together they count exactly the limit in every window, and each component is what its client accepted", async () => {
    const prefix = `${randomUUID()}:`;
    const origins = await Promise.all(
      Array.from({ length: CLIENTS }, () => connected({ url: server.url, keyPrefix: prefix })),
    );
    const callers = origins.map((one, i) => new Caller(one, SEED + i));
    for (let sequence = 1; sequence <= WINDOWS; sequence++) {
      const isLossy = sequence % 4 === 3;
      await Promise.all(callers.map((caller) => caller.run(2 * sequence, isLossy)));
      const held = async () => {
        const cells = await storedCells(server, prefix);
        return cells.find(({ name }) => name.endsWith(`:${2 * sequence}`))!;
      };
      const { sum, components } = await held();
      expect(sum).toBe(Object.values(components).reduce((a, b) => a + b, 0));
      for (const { writer, accepted } of callers) {
        const component = components[writer] ?? 0;
        if (isLossy) expect(component).toBeLessThanOrEqual(accepted);
        else expect(component).toBe(accepted);
      }
      if (!isLossy) {
        expect(sum).toBe(LIMIT);
        continue;
      }
      // A lost reply is an allow: a replay brings what the origin did not count.
      const { expiresAtMs } = call();
      const raises = callers.map(({ writer, accepted }) => ({
        key: "60000:hot",
        sequence: 2 * sequence,
        writer,
        total: accepted,
        expiresAtMs,
      }));
      await origins[0]!.raise(raises);
      const replayed = await held();
      for (const { writer, accepted } of callers) expect(replayed.components[writer] ?? 0).toBe(accepted);
    }
    expect(callers.some(({ denied }) => denied > 0)).toBe(true);
    expect(callers.some(({ repeated }) => repeated > 0)).toBe(true);
    expect(await allExpire()).toBe(WINDOWS);
  }, 120_000);
});
