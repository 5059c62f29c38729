/** Strict mode on a real Redis that is 3 ms away, in real time: a flood of denials by one client, allows of others beside it. */
import { randomUUID } from "node:crypto";
import { Limiter, type Origin } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { STARVED_MAX_MS, watched } from "../rig/starvation.ts";

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

const HEAL_MS = 1_300;
/** What a call takes in calm: ten times the delay that the test adds, and room for Redis. */
const CALM_MS = 50;

/** A connected origin some milliseconds away, how often it was read, and when calls were slow for want of a processor alone. */
async function farOrigin() {
  const redisNear = redisOrigin({ url: redis.url, keyPrefix: `${randomUUID()}:` });
  // A read without a connection fails at once, and the key is not read again for 300 ms.
  await poll("connected", () => redisNear.health?.().isConnected);
  const counted = {
    reads: 0,
    starved: [] as (readonly [number, number])[],
    origin: {
      raise: (raises) => far(() => redisNear.raise(raises)),
      read: (reads) => {
        counted.reads++;
        return far(() => redisNear.read(reads));
      },
      close: () => redisNear.close(),
    } satisfies Origin,
  };
  const far = <T>(call: () => Promise<T>) => watched(() => pause(AWAY_MS).then(call), redis.pid, CALM_MS, onStarved);
  const onStarved = (tookMs: number) => {
    const nowMs = performance.now();
    counted.starved.push([nowMs - tookMs, nowMs]);
  };
  return counted;
}

describe("strict mode on Redis", () => {
  test.each(["single requests", "batches"])(
    "a flood of denials degrades no allow: %s",
    async (kind) => {
      const counted = await farOrigin();
      const limiter = new Limiter({ origin: counted.origin });
      // An hour, so that no window ends within the test.
      const request = (cost: number) =>
        ({ namespace: "api", identifier: "shared", limit: 100_000, duration: "1h", cost }) as const;
      expect(await limiter.limit(request(90_000))).toMatchObject({ success: true });
      let isOver = false;
      let denied = 0;
      const flood = async () => {
        while (!isOver) {
          const { success } = await limiter.limit(request(20_000));
          denied += success ? 0 : 1;
          await pause(0);
        }
      };
      const flooding = flood();
      counted.reads = 0;
      let asked = 0;
      const degradedMs: number[] = [];
      for (let sure = 0; sure < ALLOWS; asked++) {
        const before = denied;
        const answer =
          kind === "batches"
            ? (await limiter.limitMany([request(1), { ...request(1), identifier: `other_${asked}` }])).decisions
            : [await limiter.limit(request(1))];
        for (const one of answer) expect(one.success).toBe(true);
        if (answer.some(({ degraded }) => degraded)) degradedMs.push(performance.now());
        else sure++;
        // At least one denial for each: it may come while this one waits, or before the next.
        while (denied === before) await pause(1);
      }
      isOver = true;
      await flooding;
      expect(denied).toBeGreaterThanOrEqual(ALLOWS);
      // A read that waits for a processor for longer than its timeout fails. The key is not read again for 300 ms, and a breaker that it
      // opened stays open for 1 s. Nothing else may degrade an allow.
      const isStarved = (atMs: number) => counted.starved.some(([from, to]) => atMs >= from && atMs < to + HEAL_MS);
      expect(degradedMs.filter((atMs) => !isStarved(atMs))).toEqual([]);
      expect(counted.reads).toBeLessThanOrEqual(asked);
      expect(await limiter.close()).toEqual({ lost: 0 });
    },
    2 * STARVED_MAX_MS,
  );
});
