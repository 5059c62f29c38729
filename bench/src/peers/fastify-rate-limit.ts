/**
 * @fastify/rate-limit: `incr` of its local store, by its deep path, for the package exports only the plugin. The store
 * calls back at once, and the plugin wraps that into a promise per request. Timed without the promise, and with one
 * callback for all calls: the store is not to pay for its caller.
 *
 * Its cache holds 5,000 keys unless told otherwise, and a key that fell out starts again at one. Here it holds them all.
 */
import LocalStore, { type LocalHits } from "@fastify/rate-limit/store/LocalStore.js";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

export function create({ keysMax, limit }: Load): Instance<string, LocalHits> {
  const store = new LocalStore(false, false, keysMax);
  let answer: LocalHits = { current: 0, ttl: 0 };
  const done = (_error: Error | null, hits: LocalHits): void => {
    answer = hits;
  };
  return {
    call: (key) => {
      store.incr(key, done, WINDOW_MS, limit);
      return answer;
    },
    isAllowed: (hits) => hits.current <= limit,
    used: (hits) => hits.current,
    close: () => {},
  };
}
