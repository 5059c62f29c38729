/** Holds on real Redis: expiries, memory, restarts and a Cluster. What every origin must do is in hold-conformance.ts. */
import { randomUUID } from "node:crypto";
import type { Free, Held, Hold, HoldItem, Origin } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slotOf } from "../../packages/sluice/src/origin/redis/route.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { startCluster, type ThreeNodes } from "../rig/redis-topologies.ts";

const DURATION_MS = 30 * 86_400_000;
const isDeep = process.env["CI"] === "true";
const open: Origin[] = [];
const servers: { stop(): Promise<unknown> }[] = [];
let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
  servers.push(server);
});

afterAll(async () => {
  for (const origin of open) await origin.close();
  for (const one of servers) await one.stop();
});

async function connect(options: object = { url: server.url }): Promise<Origin> {
  const origin = redisOrigin({ keyPrefix: `${randomUUID()}:`, ...options } as Parameters<typeof redisOrigin>[0]);
  open.push(origin);
  await poll("connected", () => origin.health?.().isConnected);
  return origin;
}

function itemOf(item: Partial<HoldItem>): HoldItem {
  const none = { total: 0, previousTotal: 0, known: 0, previousKnown: 0, foreign: 0, previousForeign: 0 };
  const { durationMs = DURATION_MS } = item;
  const sequence = Math.floor(Date.now() / durationMs);
  return { key: "1:k", limit: 3, cost: 1, writer: "w", heldInMemory: 0, ...none, sequence, durationMs, ...item };
}

function holdOf(id: string, items: readonly Partial<HoldItem>[], more: Partial<Hold> = {}): Hold {
  const nowMs = Date.now();
  return { id, ttlMs: 60_000, atMs: nowMs, byMs: nowMs + 5_000, holdsMax: 1_000, items: items.map(itemOf), ...more };
}

function freeOf(id: string, verb: Free["verb"], free: Partial<Free> = {}): Free {
  const sequence = Math.floor(Date.now() / DURATION_MS);
  const more = { actual: 0, ttlMs: 60_000, writer: "p.s", known: 0 };
  return { key: "1:k", durationMs: DURATION_MS, sequence, id, verb, ...more, ...free };
}

const codesOf = (held: Held) => (held.code === "done" ? held.items.map((item) => item?.code ?? null) : held.code);

async function codeOf(origin: Origin, id: string, item: Partial<HoldItem> = {}, more: Partial<Hold> = {}) {
  return codesOf(await origin.hold!(holdOf(id, [item], more)));
}

async function free(origin: Origin, ...frees: Free[]) {
  const freed = await origin.free!(frees, Date.now());
  return freed.code === "done" ? freed.items.map((item) => item!) : [];
}

describe("holds on Redis", () => {
  test("every key that a hold, a settlement, a cancel or a renewal leaves has an expiry", async () => {
    const prefix = `${randomUUID()}:`;
    const origin = await connect({ url: server.url, keyPrefix: prefix });
    for (const id of ["a", "b", "c", "d"]) await codeOf(origin, id, { limit: 100, total: 2, previousTotal: 1 });
    await free(
      origin,
      freeOf("a", "settle", { actual: 3 }),
      freeOf("b", "release"),
      freeOf("c", "renew"),
      freeOf("e", "cancel"),
      freeOf("f", "settle", { actual: 1 }),
    );
    const keys = (await server.ask("KEYS", `${prefix}*`)) as string[];
    // Both cells, the holds, and one bucket of ended ones, or two if a bucket has just ended.
    expect([4, 5]).toContain(keys.length);
    for (const key of keys) expect(await server.ask("PTTL", key), key).toBeGreaterThan(0);
    const holds = Number(await server.ask("PTTL", keys.find((key) => key.endsWith(":holds"))!));
    // The latest deadline, an hour, and a minute; deadlines are rounded up to 256 ms.
    expect(holds).toBeLessThanOrEqual(60_000 + 256 + 3_600_000 + 60_000);
  });

  test("the hash of the holds is gone with its last hold", async () => {
    const prefix = `${randomUUID()}:`;
    const origin = await connect({ url: server.url, keyPrefix: prefix });
    await codeOf(origin, "a");
    await free(origin, freeOf("a", "release"));
    expect(await server.ask("KEYS", `${prefix}*:holds`)).toEqual([]);
  });

  test("a Redis that is full refuses holds, and takes settlements and releases", async () => {
    const full = await RedisServer.start();
    servers.push(full);
    const origin = await connect({ url: full.url });
    for (const id of ["a", "b"]) await codeOf(origin, id);
    await full.ask("CONFIG", "SET", "maxmemory", "1");
    await expect(codeOf(origin, "c")).rejects.toMatchObject({ kind: "oom" });
    const ended = await free(origin, freeOf("a", "settle", { actual: 1 }), freeOf("b", "release"));
    expect(ended.map(({ code }) => code)).toEqual(["settled", "released"]);
    await full.ask("CONFIG", "SET", "maxmemory", "0");
    expect(await codeOf(origin, "c", { cost: 2 })).toEqual(["granted"]);
  });

  test("a value of another type in the place of the holds fails the call, and is left alone", async () => {
    const prefix = `${randomUUID()}:`;
    const origin = await connect({ url: server.url, keyPrefix: prefix });
    const name = `${prefix}1:{1:k}:holds`;
    await server.ask("SET", name, "x");
    await expect(codeOf(origin, "a")).rejects.toMatchObject({ kind: "wrongtype" });
    expect(await server.ask("GET", name)).toBe("x");
  });

  test("an emptied Redis continues a caller's known total; one that kept the holds of another life does not", async () => {
    const prefix = `${randomUUID()}:`;
    const own = await RedisServer.start();
    servers.push(own);
    const origin = await connect({ url: own.url, keyPrefix: prefix });
    await codeOf(origin, "a", { limit: 100 });
    expect((await free(origin, freeOf("a", "settle", { actual: 5 })))[0]!.current.component).toBe(5);
    await own.kill();
    await own.begin();
    await poll("connected again", () => origin.health?.().isConnected);
    await codeOf(origin, "b", { limit: 100 });
    const known = { actual: 2, known: 5 };
    expect((await free(origin, freeOf("b", "settle", known)))[0]!.current.component).toBe(7);
    // As a promoted replica has them: a settlement within the known total may belong to a hold that lives again here.
    const key = "1:f";
    await codeOf(origin, "x", { key, limit: 100 });
    await own.ask("HSET", `${prefix}1:{1:f}:holds`, "r", "another-life");
    expect((await free(origin, freeOf("x", "settle", { key, ...known })))[0]!.current.component).toBe(2);
    await codeOf(origin, "y", { key, limit: 100 });
    expect((await free(origin, freeOf("y", "settle", { key, actual: 1, known: 5 })))[0]!.current.component).toBe(3);
  });

  test("random ids on one key: what Redis keeps of the holds is exactly what is held", async () => {
    const prefix = `${randomUUID()}:`;
    const origin = await connect({ url: server.url, keyPrefix: prefix });
    const living = new Map<string, number>();
    let counted = 0;
    for (let i = 0; i < 300; i++) {
      const id = `i${(i * 7919) % 23}`;
      const cost = 1 + (i % 3);
      if (i % 2 === 0) {
        const [code] = (await codeOf(origin, id, { limit: 20, cost })) as string[];
        if (code === "granted") living.set(id, cost);
      } else {
        const [ended] = await free(
          origin,
          freeOf(id, i % 3 === 0 ? "settle" : "release", { actual: i % 9 === 0 ? 1 : 0 }),
        );
        if (ended!.code === "settled") counted += ended!.counted;
        if (ended!.code === "settled" || ended!.code === "released") living.delete(id);
      }
    }
    const cost = [...living.values()].reduce((a, b) => a + b, 0);
    const look = await origin.hold!(holdOf("", [{ writer: "z" }]));
    expect(look).toMatchObject({ items: [{ current: { sum: counted }, holds: { cost } }] });
    const fields = living.size === 0 ? [null, null] : [String(cost), String(living.size)];
    expect(await server.ask("HMGET", `${prefix}1:{1:k}:holds`, "t", "n")).toEqual(fields);
  });
});

describe("holds in a Cluster", () => {
  let cluster: ThreeNodes;
  let origin: Origin;

  beforeAll(async () => {
    if (!isDeep) return;
    cluster = await startCluster();
    servers.push(cluster);
    origin = await connect({ cluster: cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })) });
  }, 60_000);

  test.runIf(isDeep)("a list over several slots is asked in their order, and stops at the first refusal", async () => {
    const prefix = "";
    const keys = ["1:a", "1:b", "1:c"].sort((a, b) => slotOf(`${prefix}1:{${a}}:1`) - slotOf(`${prefix}1:{${b}}:1`));
    const [first, second, third] = keys as [string, string, string];
    await codeOf(origin, "x", { key: second, cost: 3 });
    const items = [third, first, second].map((key) => ({ key }));
    const codes = codesOf(await origin.hold!(holdOf("y", items)));
    // The grant of the first slot is the caller's to cancel; the third slot was not asked.
    expect(codes).toEqual(["fits", "granted", "reserved"]);
    await free(origin, freeOf("y", "cancel", { key: first }));
    for (const [key, cost] of [
      [first, 0],
      [second, 3],
      [third, 0],
    ] as const) {
      expect(await origin.hold!(holdOf("", [{ key }]))).toMatchObject({ items: [{ holds: { cost } }] });
    }
  });

  test.runIf(isDeep)("of two lists that compete only with each other, one is granted", async () => {
    for (let i = 0; i < 20; i++) {
      const keys = [`1:p${i}`, `1:q${i}`];
      const ask = (id: string, order: readonly string[]) =>
        origin.hold!(
          holdOf(
            id,
            order.map((key) => ({ key, limit: 1 })),
          ),
        );
      const answers = await Promise.all([ask(`a${i}`, keys), ask(`b${i}`, [...keys].reverse())]);
      const granted = answers.filter((held) => (codesOf(held) as string[]).every((code) => code === "granted"));
      expect(granted).toHaveLength(1);
    }
  });

  test.runIf(isDeep)("frees and looks over several slots go out together and are answered in order", async () => {
    const keys = ["1:r", "1:s", "1:t"];
    await origin.hold!(
      holdOf(
        "z",
        keys.map((key) => ({ key })),
      ),
    );
    const ended = await free(origin, ...keys.map((key, i) => freeOf("z", "settle", { key, actual: i })));
    expect(ended.map(({ code, counted }) => [code, counted])).toEqual(keys.map((_, i) => ["settled", i]));
    const looks = await origin.hold!(
      holdOf(
        "",
        keys.map((key) => ({ key })),
      ),
    );
    expect(looks).toMatchObject({ items: keys.map((_, i) => ({ code: "looked", current: { sum: i } })) });
  });
});
