/**
 * limiter: a token bucket for one key. It keeps no table, so a `Map` of limiters stands in for what its users write;
 * `tryRemoveTokens` is its synchronous form.
 */
import { RateLimiter } from "limiter";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ limit }: Load): Instance<string, boolean> {
  const limiters = new Map<string, RateLimiter>();
  return {
    call: (key) => {
      let limiter = limiters.get(key);
      if (limiter === undefined) {
        limiter = new RateLimiter({ tokensPerInterval: limit, interval: WINDOW_MS });
        limiters.set(key, limiter);
      }
      return limiter.tryRemoveTokens(1);
    },
    isAllowed: (isRemoved) => isRemoved,
    used: (_isRemoved, key) => limiters.get(key)?.tokensThisInterval ?? 0,
    close: () => limiters.clear(),
  };
}
