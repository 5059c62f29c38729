/** `sluice/express`: the middleware of Express, Connect and `node:http`. */
import {
  type NodeMiddleware,
  type NodeOptions,
  type NodeRequest,
  type NodeResponse,
  nodeMiddleware,
} from "./middleware/node-adapter.ts";
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
export type {
  NextFunction,
  NodeHandler,
  NodeMiddleware,
  NodeOptions,
  NodeRequest,
  NodeResponse,
} from "./middleware/node-adapter.ts";
export type { MissingKey, PolicyOptions, SeveralPolicies, SharedOptions, Value } from "./middleware/options.ts";
export type { Limited } from "./middleware/policy.ts";
export type { HeaderFormat } from "./middleware/rate-headers.ts";
export type { PolicyDecision, RateLimitDecision, VerdictReason } from "./middleware/verdict.ts";

declare global {
  // biome-ignore lint/style/noNamespace: the types of Express are extended by this global namespace.
  namespace Express {
    interface Request {
      /** The decision of the last `rateLimit` middleware. */
      rateLimit?: RateLimitDecision;
    }
  }
}

/**
 * Limits requests. Without a `key` it counts by client address, and without a `limiter` in this process's memory.
 *
 * @throws SluiceError if an option is invalid, missing or unknown.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { rateLimit } from "sluice/express";
 *
 * const limited = rateLimit({ limit: 100, duration: "1m" }); // with Express: app.use(limited)
 * createServer((request, response) => limited(request, response, () => response.end("hello")));
 * ```
 */
export function rateLimit<Req extends NodeRequest = NodeRequest, Res extends NodeResponse = NodeResponse>(
  options: NodeOptions<Req, Res>,
): NodeMiddleware<Req, Res> {
  return nodeMiddleware(options);
}
