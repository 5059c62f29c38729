/**
 * sliding-window-rate-limiter: `reserve` of its memory limiter. It keeps a time per hit, walks all of a key's on every
 * call and sets a timer per key.
 */
import { MemorySlidingWindowRateLimiter, type ReserveResult } from "sliding-window-rate-limiter";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ limit }: Load): Instance<string, ReserveResult> {
  const limiter = new MemorySlidingWindowRateLimiter({ interval: WINDOW_MS });
  return {
    call: (key) => limiter.reserve(key, limit),
    isAllowed: (result) => result.token !== undefined,
    used: (result) => result.usage,
    close: () => limiter.destroy(),
  };
}
