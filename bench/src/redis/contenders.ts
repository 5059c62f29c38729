/** Who limits through a Redis: each with a connection of its own, as its documentation sets it up. */
import { createClient } from "@redis/client";
import { RedisStore } from "rate-limit-redis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { Limiter } from "sluice";
import { redisOrigin } from "sluice/redis";

export interface RedisContender {
  readonly name: string;
  /** One decision; rejects where the package itself does. */
  decide(key: string): Promise<unknown>;
  /** Keys with cost that Redis has not been told of yet; absent if each decision tells it. */
  readonly unreplayed?: () => number;
  close(): Promise<void>;
}

const LIMIT = 1_000_000_000;
const WINDOW_MS = 3_600_000;
export const NAMES = ["sluice", "rate-limiter-flexible", "rate-limit-redis"] as const;
export type ContenderName = (typeof NAMES)[number];

export async function createContender(name: ContenderName, url: string): Promise<RedisContender> {
  return name === "sluice" ? sluice(url) : peer(name, url);
}

async function sluice(url: string): Promise<RedisContender> {
  const limiter = new Limiter({ origin: redisOrigin({ url }), closeTimeoutMs: 500 });
  const rule = limiter.rule({ namespace: "bench", limit: LIMIT, duration: WINDOW_MS });
  while (limiter.stats().origin?.store?.isConnected !== true) await new Promise((resolve) => setTimeout(resolve, 5));
  return {
    name: "sluice",
    decide: (key) => rule.limit(key),
    unreplayed: () => limiter.stats().origin?.unreplayed ?? 0,
    close: async () => {
      await limiter.close();
    },
  };
}

async function peer(name: Exclude<ContenderName, "sluice">, url: string): Promise<RedisContender> {
  const client = clientOf(url);
  client.on("error", () => {});
  await client.connect();
  const decide = name === "rate-limiter-flexible" ? flexible(client) : await store(client);
  return { name, decide, close: async () => client.destroy() };
}

const clientOf = (url: string) => createClient({ url });
type Client = ReturnType<typeof clientOf>;

function flexible(client: Client): RedisContender["decide"] {
  const options = { storeClient: client, useRedisPackage: true, keyPrefix: "flexible" };
  const limiter = new RateLimiterRedis({ ...options, points: LIMIT, duration: WINDOW_MS / 1_000 });
  return (key) => limiter.consume(key);
}

async function store(client: Client): Promise<RedisContender["decide"]> {
  const made = new RedisStore({ sendCommand: (...args: string[]) => client.sendCommand(args) as Promise<string> });
  await made.init({ windowMs: WINDOW_MS } as Parameters<typeof made.init>[0]);
  return (key) => made.increment(key);
}
