/** rate-limiter-flexible: `consume` of its memory limiter. It says "denied" by rejecting; the async loop catches that. */
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ limit }: Load): Instance<string, RateLimiterRes> {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
  return {
    call: (key) => limiter.consume(key),
    isAllowed: (result) => result.consumedPoints <= limit,
    used: (result) => result.consumedPoints,
    close: () => {}, // Its timers are unreferenced and it has nothing to close.
  };
}
