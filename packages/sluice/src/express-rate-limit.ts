/** `sluice/express-rate-limit`: a store for express-rate-limit and hono-rate-limiter, which then count with Sluice. */
import { limiterStore, type RateLimitStore, type StoreOptions } from "./middleware/limiter-store.ts";

export type { RateLimitStore, StoreOptions } from "./middleware/limiter-store.ts";

/**
 * A store that counts with a limiter: `rateLimit({ windowMs, limit, store: sluiceStore({ limiter }) })`. Refused hits are counted, too, as that
 * package expects it.
 *
 * @throws SluiceError if an option is invalid; and when the middleware is made, if it asks for what a count that only grows cannot do.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { sluiceStore } from "sluice/express-rate-limit";
 *
 * const store = sluiceStore({ limiter: new Limiter() }); // app.use(rateLimit({ windowMs: 60_000, limit: 100, store }))
 * ```
 */
export function sluiceStore(options: StoreOptions = {}): RateLimitStore {
  return limiterStore(options);
}
