/** `sluice/koa`: the middleware of Koa. */
import { type KoaContext, type KoaMiddleware, type KoaOptions, koaMiddleware } from "./middleware/koa-adapter.ts";
import type { RateLimitDecision } from "./middleware/verdict.ts";

export {
  type ByIpOptions,
  bearerToken,
  byCookie,
  byHeader,
  byIp,
  compose,
  type HashOptions,
  type KeyFunction,
  type KeyHelper,
  type RequestSource,
} from "./middleware/keys.ts";
export type { KoaContext, KoaHandler, KoaMiddleware, KoaOptions } from "./middleware/koa-adapter.ts";
export type { MissingKey, PolicyOptions, SeveralPolicies, SharedOptions, Value } from "./middleware/options.ts";
export type { Limited } from "./middleware/policy.ts";
export type { HeaderFormat } from "./middleware/rate-headers.ts";
export type { PolicyDecision, RateLimitDecision, VerdictReason } from "./middleware/verdict.ts";

/** The state of a context that was decided: `new Koa<RateLimitState>()`. */
export interface RateLimitState {
  /** The decision of the last `rateLimit` middleware. */
  rateLimit?: RateLimitDecision;
}

/**
 * Limits requests. Without a `key` it counts by client address, and without a `limiter` in this process's memory.
 *
 * @throws SluiceError if an option is invalid, missing or unknown.
 *
 * @example
 * ```ts
 * import { rateLimit } from "sluice/koa";
 *
 * const limited = rateLimit({ limit: 100, duration: "1m" }); // app.use(limited)
 * ```
 */
export function rateLimit<Ctx extends KoaContext = KoaContext>(options: KoaOptions<Ctx>): KoaMiddleware<Ctx> {
  return koaMiddleware(options);
}
