/** What the driver promises beyond the port: whom it believes, what it counts, where it connects, what it leaves in Redis. */
import { createServer } from "node:net";
import { createClient, createCluster, createSentinel } from "@redis/client";
import { Redis } from "ioredis";
import type { Origin, Raise, SluiceError } from "sluice";
import { type RedisOptions, redisOrigin } from "sluice/redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../packages/sluice/src/origin/redis/failure.ts";
import { FaultProxy } from "../rig/fault-proxy.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { startCluster, startEncrypted, startWatched } from "../rig/redis-topologies.ts";

const LIFE_MS = 60_000;
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

function raise(key: string, total: number, writer = "w"): Raise {
  return { key, sequence: 7, writer, total, expiresAtMs: Date.now() + LIFE_MS };
}

const read = (key: string, writer = "w") => ({ key, sequence: 7, writer });

describe("redis origin › what it leaves in Redis", () => {
  test("a cell is a hash under a versioned name with a hash tag: components, sum and expiry", async () => {
    const one = await connected({ url: server.url });
    const { expiresAtMs } = raise("", 0);
    await one.raise([
      { ...raise("60000:1:a1:b1:c", 5, "v"), expiresAtMs },
      { ...raise("60000:1:a1:b1:c", 3), expiresAtMs },
    ]);
    const key = "sluice:1:{60000:1:a1:b1:c}:7";
    expect(await server.client.hash(key)).toEqual({ "w:v": "5", "w:w": "3", t: "8", e: String(expiresAtMs) });
    expect(await server.ask("PEXPIRETIME", key)).toBe(expiresAtMs);
  });

  test("no key is ever without an expiry, whatever is raised", async () => {
    const one = await connected({ url: server.url });
    await one.raise([raise("a", 1), raise("b", 0), raise("a", 1), raise("c", 2 ** 40), raise("a", 7, "v")]);
    const keys = (await server.ask("KEYS", "*")) as string[];
    expect(keys.sort()).toEqual(["sluice:1:{a}:7", "sluice:1:{c}:7"]);
    for (const key of keys) expect(await server.ask("PTTL", key)).toBeGreaterThan(0);
  });

  test("a user who may not set expiries writes nothing at all", async () => {
    await server.ask("ACL", "SETUSER", "noexpiry", "on", ">p", "~*", "+@all", "-pexpireat");
    const one = await connected({ url: `redis://noexpiry:p@127.0.0.1:${server.port}` });
    await expect(one.raise([raise("a", 1)])).rejects.toMatchObject({ kind: "permission" });
    expect(await server.ask("DBSIZE")).toBe(0);
  });

  test("long keys are named by their hash, and stay apart", async () => {
    const one = await connected({ url: server.url });
    const [a, b] = [`${"x".repeat(2_000)}a`, `${"x".repeat(2_000)}b`];
    await one.raise([raise(a, 1), raise(b, 2)]);
    expect(await one.read([read(a), read(b)])).toEqual([
      { sum: 1, component: 1 },
      { sum: 2, component: 2 },
    ]);
    for (const key of (await server.ask("KEYS", "*")) as string[]) expect(key.length).toBeLessThan(120);
  });

  test("database and key prefix are honoured", async () => {
    const one = await connected({ url: `${server.url}/3`, keyPrefix: "shop:" });
    await one.raise([raise("a", 1)]);
    expect(await server.ask("DBSIZE")).toBe(0);
    await server.ask("SELECT", 3);
    expect(await server.ask("KEYS", "*")).toEqual(["shop:1:{a}:7"]);
    await server.ask("SELECT", 0);
  });

  test("the user of docs/operating.md has all the rights it needs, and no others", async () => {
    const page = await import("node:fs/promises").then(({ readFile }) => readFile("docs/operating.md", "utf8"));
    const line = /^ACL SETUSER sluice .*$/m.exec(page)?.[0] ?? "";
    expect(line).toContain("-@all");
    await server.ask(...line.split(" "));
    const one = await connected({ url: `redis://sluice:secret@127.0.0.1:${server.port}` });
    await server.ask("SCRIPT", "FLUSH");
    expect(await one.raise([raise("a", 4), raise("a", 5)])).toHaveLength(2);
    expect(await one.read([read("a")])).toEqual([{ sum: 5, component: 5 }]);
    const cell = { ...raise("a", 5), previousTotal: 1, previousExpiresAtMs: Date.now() + LIFE_MS };
    const check = { foreign: 0, previousForeign: 0, leftMs: 0, durationMs: 1_000, call: 1 };
    const [admitted] = await one.admit!([{ ...cell, ...check, requests: [{ limit: 6, cost: 1 }] }]);
    expect(admitted).toMatchObject({ allowed: [true], current: { sum: 6 }, previous: { sum: 1 } });
    expect(one.health?.().failures).toEqual({});
    const other = await connected({ url: `redis://sluice:secret@127.0.0.1:${server.port}`, keyPrefix: "other:" });
    await expect(other.raise([raise("a", 1)])).rejects.toMatchObject({ kind: "permission" });
  });
});

describe("redis origin › how it asks", () => {
  test("cells that are asked about in one turn travel together, 64 a command", async () => {
    const one = await connected({ url: server.url });
    await one.read([read("a")]);
    const before = one.health!().commands;
    await Promise.all(Array.from({ length: 640 }, (_, i) => one.read([read(`k${i}`)])));
    expect(one.health!().commands - before).toBe(10);
  });

  test("a script that the server lost is sent whole, once it is missed", async () => {
    const one = await connected({ url: server.url });
    await one.raise([raise("a", 1)]);
    await server.ask("SCRIPT", "FLUSH");
    const { scriptLoads } = one.health!();
    expect(await one.raise([raise("a", 2)])).toEqual([{ sum: 2, component: 2 }]);
    expect(await one.raise([raise("a", 3)])).toEqual([{ sum: 3, component: 3 }]);
    expect(one.health!().scriptLoads).toBe(scriptLoads + 1);
  });
});

describe("redis origin › whom it believes", () => {
  test("a key of another type spoils its own answer only, and stays as it is", async () => {
    const one = await connected({ url: server.url });
    await server.ask("SET", "sluice:1:{text}:7", "mine");
    for (const answers of [
      await one.raise([raise("a", 1), raise("text", 2), raise("b", 3)]),
      await one.read([read("a"), read("text"), read("b")]),
    ]) {
      expect(answers.map(({ sum }) => sum)).toEqual([1, Number.NaN, 3]);
    }
    expect(await server.ask("GET", "sluice:1:{text}:7")).toBe("mine");
    expect(one.health!().failures).toEqual({ wrongtype: 2 });
  });

  test.each([
    ["t", "abc"],
    ["t", "-5"],
    ["t", "1.5"],
    ["t", "1e300"],
    ["t", "99999999999999999999"],
    ["t", "nan"],
    ["t", "2"],
    ["w:w", "x"],
    ["w:w", "-1"],
    ["w:w", ""],
  ])("junk in a cell (%s = %j) is counted and ignored, and not written over", async (field, value) => {
    const one = await connected({ url: server.url });
    const key = "sluice:1:{a}:7";
    await server.ask("HSET", key, "t", "5", "w:w", "5", "e", String(Date.now() + LIFE_MS), field, value);
    const before = await server.client.hash(key);
    expect((await one.raise([raise("a", 9)]))[0]!.sum).toBeNaN();
    expect((await one.read([read("a")]))[0]!.sum).toBeNaN();
    expect(await server.client.hash(key)).toEqual(before);
    expect(one.health!().failures).toEqual({ junk: 2 });
  });
});

describe("redis origin › a hash that is not a cell", () => {
  const KEY = "sluice:1:{a}:7";

  test.each([
    ["no field of a cell", ["user", "bob"]],
    ["a sum without an expiry", ["user", "bob", "t", "5"]],
    ["an expiry without a sum", ["user", "bob", "e", "5"]],
  ])("is left as it is, without an expiry, and counted: %s", async (_, fields) => {
    const one = await connected({ url: server.url });
    await server.ask("HSET", KEY, ...fields);
    const before = await server.client.hash(KEY);
    // Its neighbour in the same command is counted.
    const [foreign, cell] = await one.raise([raise("a", 9), raise("b", 9)]);
    expect(foreign!.sum).toBeNaN();
    expect(cell!.sum).toBe(9);
    expect(await server.client.hash(KEY)).toEqual(before);
    expect(await server.ask("PTTL", KEY)).toBe(-1);
    expect(one.health!().failures).toEqual({ junk: 1 });
  });

  test("is not recognised by a user who may not ask for its length, and cells are counted", async () => {
    const rights = "on >secret resetkeys ~sluice:* resetchannels -@all +eval +evalsha +hmget +hset +pexpireat +ping";
    await server.ask("ACL", "SETUSER", "older", ...rights.split(" "));
    const one = await connected({ url: server.url.replace("redis://", "redis://older:secret@") });
    expect((await one.raise([raise("a", 9)]))[0]).toEqual({ sum: 9, component: 9 });
    expect(one.health!().failures).toEqual({});
    await server.ask("ACL", "DELUSER", "older");
  });
});

describe("redis origin › failures by kind", () => {
  test.each([
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "wrongtype"],
    ["LOADING Redis is loading the dataset in memory", "loading"],
    ["READONLY You can't write against a read only replica.", "readonly"],
    ["MOVED 3999 127.0.0.1:6381", "cluster"],
    ["CLUSTERDOWN The cluster is down", "cluster"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "oom"],
    ["ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed", "oom"],
    ["WRONGPASS invalid username-password pair or user is disabled.", "auth"],
    ["NOAUTH Authentication required.", "auth"],
    ["NOPERM this user has no permissions to run the 'hset' command", "permission"],
    ["ERR The user executing the script can't run this command or subcommand", "permission"],
    ["ERR unknown command 'HELLO', with args beginning with: '3'", "version"],
    ["BUSY Redis is busy running a script.", "busy"],
    ["MISCONF Redis is configured to save RDB snapshots", "busy"],
    ["ERR max number of clients reached", "connection"],
    ["connect ECONNREFUSED 127.0.0.1:1", "connection"],
    ["Socket closed unexpectedly", "connection"],
    ["The queue is full", "overload"],
    ["self-signed certificate", "tls"],
    ["constructor toString", "other"],
  ])("%s", (message, kind) => {
    expect(failureOf(new Error(message)).kind).toBe(kind);
  });

  test("a full Redis that refuses writes still answers reads", async () => {
    const full = await RedisServer.start({ config: [["maxmemory", "2mb"]] });
    open.push(() => full.stop());
    const one = await connected({ url: full.url });
    await one.raise([raise("a", 5)]);
    await full.ask("CONFIG", "SET", "maxmemory", "1");
    await expect(one.raise([raise("a", 6)])).rejects.toMatchObject({ kind: "oom" });
    expect(await one.read([read("a")])).toEqual([{ sum: 5, component: 5 }]);
    await full.ask("CONFIG", "SET", "maxmemory", "0");
    expect(await one.raise([raise("a", 6)])).toEqual([{ sum: 6, component: 6 }]);
  });

  test.each([
    ["a wrong password", () => ({ url: `redis://somebody:wrong@127.0.0.1:${server.port}` }), "auth"],
    ["a user who does not exist", () => ({ url: `redis://nobody:x@127.0.0.1:${server.port}` }), "auth"],
    ["nobody there", () => ({ host: "127.0.0.1", port: 1 }), "connection"],
    ["no such host", () => ({ host: "nowhere.invalid" }), "connection"],
  ])("%s is told as an event and tried again, and calls fail at once", async (_, options, kind) => {
    await server.ask("ACL", "SETUSER", "somebody", "on", ">right", "~*", "+@all");
    const one = origin(options());
    const heard: unknown[] = [];
    one.listen?.((event) => heard.push(event));
    await poll("told twice", () => heard.length >= 2);
    expect(heard[0]).toMatchObject({ kind: "disconnected", failure: kind });
    await expect(one.read([read("a")])).rejects.toMatchObject({ kind: "connection" });
    expect(one.health!()).toMatchObject({ isConnected: false, connects: 0 });
  });

  test("a server that is too old is told as such", async () => {
    const old = createServer((socket) => {
      socket.on("data", () => socket.write("-ERR unknown command 'HELLO'\r\n"));
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => old.listen(0, "127.0.0.1", resolve));
    open.push(() => old.close());
    const one = origin({ host: "127.0.0.1", port: (old.address() as { port: number }).port });
    await poll("told", () => one.health!().failures["version"] !== undefined);
    expect(one.health!().lastFailure?.message).toContain("unknown command");
  });

  test("something that is no Redis, and never answers, is given up in time", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    open.push(() => silent.close());
    const one = origin({ host: "127.0.0.1", port: (silent.address() as { port: number }).port, connectTimeoutMs: 50 });
    await poll("told", () => (one.health!().failures["timeout"] ?? 0) >= 2);
  });
});

describe("redis origin › options", () => {
  const CHOICE = "an object with exactly one of url, host, path, sentinel, cluster and client";
  const URL_RULE = 'a URL that begins with "redis://" or "rediss://" and names a host';
  const CLIENT_RULE =
    "a client of @redis/client or redis, or of ioredis with autoResendUnfulfilledCommands: false; a Cluster client of ioredis is not supported";

  test.each([
    [{}, "options", CHOICE, '"none"'],
    [{ url: "redis://a", host: "b" }, "options", CHOICE, '"url and host"'],
    [{ url: "localhost:6379" }, "url", URL_RULE, '"localhost://…"'],
    [{ url: "" }, "url", URL_RULE, '"not a URL"'],
    [{ url: "redis://" }, "url", URL_RULE, '"redis://…"'],
    [{ host: "" }, "host", "a non-empty string", '""'],
    [{ host: "a", port: 70_000 }, "port", "an integer from 1 to 65535", "70000"],
    [{ path: "" }, "path", "the path of a Unix socket, a non-empty string", '""'],
    [{ cluster: [] }, "cluster", "a non-empty array of { host, port }", "an array of 0"],
    [{ cluster: [{ host: "a" }, {}] }, "cluster[1]", "an object { host, port } with a non-empty host", "undefined"],
    [
      { sentinel: { name: "", nodes: [{ host: "a" }] } },
      "sentinel.name",
      "the name of the master, a string of 1 to 512 characters of well-formed Unicode",
      '""',
    ],
    [{ sentinel: { name: "a" } }, "sentinel.nodes", "a non-empty array of { host, port }", "undefined"],
    [{ client: {} }, "client", CLIENT_RULE, "an object"],
  ])("the address %j is refused with the rule of %s alone", (options, field, rule, shown) => {
    const message = `${field} must be ${rule}; got ${shown} (RL_REDIS_ADDRESS_INVALID)`;
    expect(() => redisOrigin(options as RedisOptions)).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "RL_REDIS_ADDRESS_INVALID", field, message }),
    );
  });

  const TIMEOUT = "a number of milliseconds from 10 to 60000";
  const TLS = "true, false or an object of TLS options";

  test.each([
    [{ host: "a", username: 5 }, "username", "a string", "5"],
    [{ host: "a", password: 5 }, "password", "a string", '"number"'],
    [{ url: "redis://a/x" }, "database", "an integer from 0 to 65535", "NaN"],
    [{ host: "a", database: -1 }, "database", "an integer from 0 to 65535", "-1"],
    [{ cluster: [{ host: "a" }], database: 1 }, "database", "0 with the option cluster", "1"],
    [{ url: "redis://a/1", database: 2 }, "database", "the same as in the url", "2"],
    [{ url: "redis://u@a", username: "v" }, "username", "the same as in the url", '"v"'],
    [{ url: "redis://:p@a", password: "q" }, "password", "the same as in the url", '"string"'],
    [
      { url: "rediss://a", tls: false },
      "tls",
      'true or an object of TLS options, because the url begins with "rediss://"',
      "false",
    ],
    [{ host: "a", tls: "yes" }, "tls", TLS, '"yes"'],
    [{ host: "a", connectTimeoutMs: 60_001 }, "connectTimeoutMs", TIMEOUT, "60001"],
    [{ host: "a", commandTimeoutMs: 0 }, "commandTimeoutMs", TIMEOUT, "0"],
  ])("%j is refused with the rule of %s alone", (options, field, rule, shown) => {
    const message = `${field} must be ${rule}; got ${shown} (RL_REDIS_OPTION_INVALID)`;
    expect(() => redisOrigin(options as RedisOptions)).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "RL_REDIS_OPTION_INVALID", field, message }),
    );
  });

  test.each([
    [{ host: "a", keyPrefix: "{x}" }, "RL_REDIS_PREFIX_INVALID", "keyPrefix"],
    [{ host: "a", keyPrefix: "\ud800" }, "RL_REDIS_PREFIX_INVALID", "keyPrefix"],
    [{ host: "a", usrname: "x" }, "RL_OPTIONS_INVALID", "options"],
  ])("%j is refused with %s, which names %s", (options, code, field) => {
    expect(() => redisOrigin(options as RedisOptions)).toThrowError(
      expect.objectContaining({ name: "SluiceError", code, field }),
    );
  });

  test("no message ever shows a password", () => {
    for (const url of ["http://u:hunter2@h", "redis//u:hunter2@h", "redis://u:hunter2@"]) {
      try {
        redisOrigin({ url });
        expect.unreachable();
      } catch (error) {
        expect((error as SluiceError).message).not.toContain("hunter2");
      }
    }
  });
});

describe("redis origin › clients that somebody else owns", () => {
  test("a single client serves, and is left open", async () => {
    const client = createClient({ url: server.url, disableOfflineQueue: true });
    client.on("error", () => {});
    const one = origin({ client });
    await expect(one.read([read("a")])).rejects.toMatchObject({ kind: "connection" });
    await client.connect();
    open.push(() => client.destroy());
    expect(await one.raise([raise("a", 5)])).toEqual([{ sum: 5, component: 5 }]);
    await one.close();
    expect(await client.ping()).toBe("PONG");
  });

  test("a client of ioredis serves, fails at once while it is not connected, sends nothing twice, and is left open", async () => {
    const proxy = await FaultProxy.start(server.port);
    const client = new Redis(proxy.port, "127.0.0.1", { autoResendUnfulfilledCommands: false, lazyConnect: true });
    open.push(
      () => proxy.stop(),
      () => client.disconnect(),
    );
    client.on("error", () => {});
    const one = origin({ client, commandTimeoutMs: 200 });
    await expect(one.read([read("a")])).rejects.toMatchObject({ kind: "connection" });
    await client.connect();
    expect(await one.raise([raise("a", 1)])).toEqual([{ sum: 1, component: 1 }]);
    const before = proxy.commands.get("EVALSHA") ?? 0;
    proxy.order("lose");
    // It does not tell of a command that went down with its connection.
    await expect(one.raise([raise("a", 5)])).rejects.toMatchObject({ kind: "timeout" });
    await poll("connected again", () => one.health!().isConnected);
    expect(await one.raise([raise("a", 5)])).toEqual([{ sum: 5, component: 5 }]);
    expect(proxy.commands.get("EVALSHA")).toBe(before + 2);
    await one.close();
    expect(await client.ping()).toBe("PONG");
  });

  test("a client of ioredis that would re-send, or is a Cluster's, is refused", () => {
    const error = expect.objectContaining({ code: "RL_REDIS_ADDRESS_INVALID", field: "client" });
    const client = new Redis({ lazyConnect: true });
    expect(() => redisOrigin({ client })).toThrow(error);
    const cluster = { call: client.call, status: "ready", isCluster: true, options: {} };
    expect(() => redisOrigin({ client: cluster as never })).toThrow(error);
  });

  test("a Cluster client and a Sentinel client serve", async () => {
    const [cluster, watched] = await Promise.all([startCluster(), startWatched()]);
    open.push(
      () => cluster.stop(),
      () => watched.stop(),
    );
    const nodes = cluster.nodes.map(({ url }) => ({ url }));
    const clients = [
      createCluster({ rootNodes: nodes }),
      createSentinel({ name: watched.name, sentinelRootNodes: [{ host: "127.0.0.1", port: watched.sentinel.port }] }),
    ];
    for (const client of clients) {
      client.on("error", () => {});
      await client.connect();
      open.push(() => client.destroy());
      const one = origin({ client });
      const keys = ["a", "b", "c", "d", "e"];
      await one.raise(keys.map((key, i) => raise(key, i + 1)));
      expect((await one.read(keys.map((key) => read(key)))).map(({ sum }) => sum)).toEqual([1, 2, 3, 4, 5]);
    }
  });

  test("TLS serves, and a certificate that nobody vouches for is refused", async () => {
    const { port, ca, stop } = await startEncrypted();
    open.push(stop);
    const one = await connected({ url: `rediss://127.0.0.1:${port}`, tls: { ca } });
    expect(await one.raise([raise("a", 5)])).toEqual([{ sum: 5, component: 5 }]);
    const other = origin({ url: `rediss://127.0.0.1:${port}` });
    await poll("refused", () => other.health!().failures["tls"] !== undefined);
  });
});
