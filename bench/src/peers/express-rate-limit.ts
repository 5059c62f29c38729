/** express-rate-limit: `increment` of its memory store, which is async; its middleware awaits it and compares. */
import { type ClientRateLimitInfo, MemoryStore, type Options } from "express-rate-limit";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ limit }: Load): Instance<string, ClientRateLimitInfo> {
  const store = new MemoryStore();
  // The store reads the window from the middleware's options, and nothing else of them.
  store.init({ windowMs: WINDOW_MS } as Options);
  return {
    call: (key) => store.increment(key),
    isAllowed: (client) => client.totalHits <= limit,
    used: (client) => client.totalHits,
    close: () => store.shutdown(),
  };
}
