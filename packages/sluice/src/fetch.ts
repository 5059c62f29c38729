/** `sluice/fetch`: limits whatever takes a `Request` and answers a `Response`: Next, Bun, Deno, Remix, SvelteKit, Astro. */
import { type FetchLimit, type FetchOptions, fetchLimit } from "./middleware/fetch-adapter.ts";

export type { FetchHandler, FetchLimit, FetchOptions, KeyedPolicy } from "./middleware/fetch-adapter.ts";
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

/**
 * Limits requests: the answer is null for an allowed request, and a response for a denied one. A `Request` has no client address, so
 * that every policy needs a `key`.
 *
 * @throws SluiceError if an option is invalid, missing or unknown.
 *
 * @example
 * ```ts
 * import { byHeader, rateLimit } from "sluice/fetch";
 *
 * const limited = rateLimit({ key: byHeader("x-api-key", { hash: true }), limit: 100, duration: "1m" });
 *
 * async function handle(request: Request): Promise<Response> {
 *   return (await limited(request)) ?? new Response("hello");
 * }
 *
 * const GET = limited.wrap(() => new Response("hello")); // the same, with the headers of limits on every response
 * ```
 */
export function rateLimit<Req extends Request = Request>(options: FetchOptions<Req>): FetchLimit<Req> {
  return fetchLimit(options);
}
