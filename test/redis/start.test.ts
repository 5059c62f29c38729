/** How a process begins and ends with a real Redis: the first request, several limiters on one origin, what it says went wrong. */
import { Limiter, type LimitRequest } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";

const key: LimitRequest = { namespace: "api", identifier: "user_42", limit: 100, duration: "1h" };
let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.ask("FLUSHALL"));

describe("a process that starts", () => {
  test("waits for its first connection: the first decision rests on what Redis has", async () => {
    const before = new Limiter({ origin: redisOrigin({ url: server.url }) });
    await before.limit({ ...key, cost: 8 });
    await before.close();
    const limiter = new Limiter({ origin: redisOrigin({ url: server.url }) });
    const decision = await limiter.limit({ ...key, cost: 5 });
    expect(decision).toMatchObject({ current: 13, source: "origin", degraded: false });
    expect(limiter.stats().origin?.store).toMatchObject({ failures: {}, lastFailure: null });
    await limiter.close();
  });

  test("is told why there is no connection, however often it asks", async () => {
    await server.ask("ACL", "SETUSER", "known", "on", ">right");
    const told: string[] = [];
    const limiter = new Limiter({
      origin: redisOrigin({ url: `redis://known:wrong@127.0.0.1:${server.port}` }),
      onEvent: (event) => told.push(JSON.stringify(event)),
    });
    await poll("refused", () => limiter.stats().origin?.store?.failures["auth"]);
    for (let i = 0; i < 5; i++) await limiter.limit({ ...key, identifier: `user_${i}` });
    expect(limiter.stats().origin?.store?.lastFailure).toMatchObject({ kind: "auth" });
    expect(JSON.stringify(limiter.stats())).not.toContain("wrong@");
    await limiter.close();
    expect(told[0]).toMatch(/"kind":"connection".*"state":"down".*"failure":"auth","message":"WRONGPASS/);
    expect(told.join()).not.toContain("wrong@");
  });
});

describe("two limiters on one origin", () => {
  test("it stays connected until the last of them closes", async () => {
    const origin = redisOrigin({ url: server.url });
    const a = new Limiter({ origin });
    const b = new Limiter({ origin });
    await a.limit({ ...key, cost: 8 });
    expect(await a.close()).toEqual({ lost: 0 });
    expect(await b.limit({ ...key, cost: 5 })).toMatchObject({ current: 13, degraded: false });
    expect(await b.close()).toEqual({ lost: 0 });
    expect(origin.health?.().isConnected).toBe(false);
  });
});

describe("options that are at odds with the url", () => {
  test.each([
    { field: "tls", options: { url: "rediss://user:secret@127.0.0.1", tls: false } },
    { field: "username", options: { url: "redis://user:secret@127.0.0.1", username: "other" } },
    { field: "password", options: { url: "redis://user:secret@127.0.0.1", password: "other" } },
    { field: "database", options: { url: "redis://127.0.0.1/3", database: 5 } },
  ])("$field is refused, and no password shown", ({ field, options }) => {
    const hidden = expect.not.stringMatching(field === "password" ? /secret|other/ : /secret/);
    const error = { code: "RL_REDIS_OPTION_INVALID", field, message: hidden };
    expect(() => redisOrigin(options)).toThrow(expect.objectContaining(error));
  });

  test("the same said twice is no contradiction", async () => {
    const origin = redisOrigin({ url: server.url, database: 0 });
    await poll("connected", () => origin.health?.().isConnected);
    await origin.close();
  });
});
