/** `sluice/hono`: the middleware of Hono. */
import { type HonoContext, type HonoMiddleware, type HonoOptions, honoMiddleware } from "./middleware/hono-adapter.ts";
import type { RateLimitDecision } from "./middleware/verdict.ts";

export type { HonoContext, HonoHandler, HonoMiddleware, HonoOptions } from "./middleware/hono-adapter.ts";
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
export type { MissingKey, PolicyOptions, SeveralPolicies, SharedOptions, Value } from "./middleware/options.ts";
export type { Limited } from "./middleware/policy.ts";
export type { HeaderFormat } from "./middleware/rate-headers.ts";
export type { PolicyDecision, RateLimitDecision, VerdictReason } from "./middleware/verdict.ts";

/** The variables of a context that was decided: `new Hono<{ Variables: RateLimitVariables }>()`. */
export interface RateLimitVariables {
  /** The decision of the last `rateLimit` middleware. */
  rateLimit: RateLimitDecision;
}

/**
 * Limits requests. Without a `key` it counts by client address, on runtimes that have one, and without a `limiter` in this process's memory.
 *
 * @throws SluiceError if an option is invalid, missing or unknown.
 *
 * @example
 * ```ts
 * import { rateLimit } from "sluice/hono";
 *
 * const limited = rateLimit({ limit: 100, duration: "1m" }); // app.use(limited)
 * ```
 */
export function rateLimit<Ctx extends HonoContext = HonoContext>(options: HonoOptions<Ctx>): HonoMiddleware<Ctx> {
  return honoMiddleware(options);
}
