/** `sluice/fastify`: the plugin of Fastify. */
import {
  type FastifyApp,
  type FastifyOptions,
  type FastifyRequest,
  fastifyPlugin,
} from "./middleware/fastify-adapter.ts";

export type {
  FastifyApp,
  FastifyHandler,
  FastifyHook,
  FastifyOptions,
  FastifyReply,
  FastifyRequest,
  FastifyRouteLimit,
} from "./middleware/fastify-adapter.ts";
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

/** A plugin whose hooks apply to the scope that it is registered in. */
export type RateLimitPlugin = <Req extends FastifyRequest = FastifyRequest>(
  app: FastifyApp,
  options: FastifyOptions<Req>,
) => Promise<void>;

/**
 * Limits the requests of the scope that it is registered in, and below. Without a `key` it counts by client address, and without a
 * `limiter` in this process's memory.
 *
 * @throws SluiceError, by rejecting `register`, if an option is invalid, missing or unknown.
 *
 * @example
 * ```ts
 * import { rateLimit } from "sluice/fastify";
 *
 * const plugin = rateLimit; // await app.register(rateLimit, { limit: 100, duration: "1m" })
 * ```
 */
export const rateLimit: RateLimitPlugin = Object.assign(
  <Req extends FastifyRequest>(app: FastifyApp, options: FastifyOptions<Req>) => fastifyPlugin(app, options),
  { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "sluice" },
);

// biome-ignore lint/style/noDefaultExport: Fastify loads plugins by their default export.
export default rateLimit;
