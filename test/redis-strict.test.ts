/** Strict mode on a real Redis that is 3 ms away, in real time: a flood of denials by one client, allows of others beside it. */
import { randomUUID } from "node:crypto";
import { Limiter, type Origin } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RedisServer } from "./rig/redis-server.ts";

const AWAY_MS = 3;
const ALLOWS = 60;

let redis: RedisServer;

beforeAll(async () => {
  redis = await RedisServer.start();
});

afterAll(async () => {
  await redis.stop();
});

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** An origin some milliseconds away, and how often it was read. */
function farOrigin(): { readonly origin: Origin; reads: number } {
  const near = redisOrigin({ url: redis.url, keyPrefix: `${randomUUID()}:` });
  const counted = {
    reads: 0,
    origin: {
      raise: async (raises) => {
        await pause(AWAY_MS);
        return near.raise(raises);
      },
      read: async (reads) => {
        counted.reads++;
        await pause(AWAY_MS);
        return near.read(reads);
      },
      close: () => near.close(),
    } satisfies Origin,
  };
  return counted;
}

describe("strict mode on Redis", () => {
  test.each(["single requests", "batches"])("a flood of denials degrades no allow: %s", async (kind) => {
    const counted = farOrigin();
    const limiter = new Limiter({ origin: counted.origin });
    // An hour, so that no window ends within the test.
    const request = (cost: number) =>
      ({ namespace: "api", identifier: "shared", limit: 10_000, duration: "1h", cost }) as const;
    expect(await limiter.limit(request(9_000))).toMatchObject({ success: true });
    let isOver = false;
    let denied = 0;
    const flood = async () => {
      while (!isOver) {
        const { success } = await limiter.limit(request(2_000));
        denied += success ? 0 : 1;
        await pause(0);
      }
    };
    const flooding = flood();
    counted.reads = 0;
    let degraded = 0;
    for (let i = 0; i < ALLOWS; i++) {
      const before = denied;
      const answer =
        kind === "batches"
          ? (await limiter.limitMany([request(1), { ...request(1), identifier: `other_${i}` }])).decisions
          : [await limiter.limit(request(1))];
      for (const one of answer) {
        expect(one.success).toBe(true);
        degraded += one.degraded ? 1 : 0;
      }
      // At least one denial for each: it may come while this one waits, or before the next.
      while (denied === before) await pause(1);
    }
    isOver = true;
    await flooding;
    expect(denied).toBeGreaterThanOrEqual(ALLOWS);
    expect(degraded).toBe(0);
    expect(counted.reads).toBeLessThanOrEqual(ALLOWS);
    expect(await limiter.close()).toEqual({ lost: 0 });
  });
});
