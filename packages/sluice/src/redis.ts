/** `sluice/redis`: the origin on Redis, on the real clock, timers and randomness. */

import { checkKnown } from "./core/known.ts";
import { SYSTEM } from "./limiter/system.ts";
import type { Origin } from "./origin/origin.ts";
import { REDIS_OPTIONS, type RedisOptions, readRedisOptions } from "./origin/redis/options.ts";
import { RedisOrigin } from "./origin/redis/redis-origin.ts";

export type { RedisFailureKind } from "./origin/redis/failure.ts";
export type { IoredisClient } from "./origin/redis/ioredis-client.ts";
export type {
  RedisAddress,
  RedisClient,
  RedisOptions,
  RedisSentinels,
  RedisTls,
} from "./origin/redis/options.ts";

/**
 * The counter store of a region, on Redis or Valkey. It connects by itself and keeps trying: a Redis that is away does not stop
 * a process from starting.
 *
 * @throws SluiceError if the options are not legal.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { redisOrigin } from "sluice/redis";
 *
 * const limiter = new Limiter({ origin: redisOrigin({ url: "redis://localhost:6379" }) });
 * ```
 */
export function redisOrigin(options: RedisOptions): Origin {
  checkKnown(options, REDIS_OPTIONS);
  return new RedisOrigin(readRedisOptions(options), SYSTEM);
}
