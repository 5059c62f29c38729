/**
 * hono-rate-limiter: `increment` of its memory store. It returns at once; the middleware awaits it all the same. Timed
 * without that await: the store is not to pay for its caller.
 */
import { type ClientRateLimitInfo, type HonoConfigType, MemoryStore } from "hono-rate-limiter";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ limit }: Load): Instance<string, ClientRateLimitInfo> {
  const store = new MemoryStore();
  // The store reads the window from the middleware's options, and nothing else of them.
  store.init({ windowMs: WINDOW_MS } as HonoConfigType);
  return {
    call: (key) => store.increment(key),
    isAllowed: (client) => client.totalHits <= limit,
    used: (client) => client.totalHits,
    close: () => store.shutdown(),
  };
}
