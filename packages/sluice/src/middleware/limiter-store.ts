/**
 * The store that express-rate-limit and hono-rate-limiter ask for their counts, on a limiter.
 *
 * Its `increment` counts every hit, refused ones too, and passes no limit: it is a charge of 1, with the limit of `init`. Counts only grow, so
 * that there is no `decrement` and no reset of one key: what needs them is refused when the middleware is made.
 */
import type { DurationMs } from "../core/brands.ts";
import { parseDuration } from "../core/duration.ts";
import { checkKnown } from "../core/known.ts";
import { checkPart } from "../core/part.ts";
import { Limiter } from "../limiter/limiter.ts";
import { checkLimit } from "../limiter/request.ts";
import { legalIdentifier } from "./keys.ts";
import { optionError } from "./option-error.ts";

export interface StoreOptions {
  /** Counts. Default: a limiter for this store alone, in memory. */
  readonly limiter?: Limiter | undefined;
  /** The limit, if that of the middleware is a function. It is what keys near it are kept in memory and sent ahead by. */
  readonly limit?: number | undefined;
  /** Stores of one limiter, namespace and window share a count; default `"express-rate-limit"`. */
  readonly namespace?: string | undefined;
}

/** What a middleware passes to `init`: the part that is read. */
interface StoreInit {
  readonly windowMs: number;
  readonly limit: unknown;
  readonly skipFailedRequests?: unknown;
  readonly skipSuccessfulRequests?: unknown;
}

interface ClientHits {
  readonly totalHits: number;
  // biome-ignore lint/style/noRestrictedGlobals: a type.
  readonly resetTime: Date;
}

/** The interface of both packages. */
export interface RateLimitStore {
  /** Whether no other process shares these counts. */
  readonly localKeys: boolean;
  init(options: StoreInit): void;
  get(key: string): Promise<ClientHits>;
  increment(key: string): Promise<ClientHits>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
}

/** As a middleware's own limiter has. */
const OWN_CELLS_MAX = 131_072;

export function limiterStore(options: StoreOptions): RateLimitStore {
  checkKnown(options, ["limiter", "limit", "namespace"]);
  const {
    limiter = new Limiter({ cellsMax: OWN_CELLS_MAX }),
    limit: given,
    namespace = "express-rate-limit",
  } = options;
  if (typeof (limiter as Partial<Limiter> | null)?.charge !== "function") throw optionError("limiter", limiter);
  if (given !== undefined) checkLimit(given);
  checkPart(namespace, "namespace");
  let limit = given ?? 0;
  let duration = 0 as DurationMs;
  const keyOf = (key: string) => ({ namespace, identifier: legalIdentifier(key), limit, duration });
  const refuse = async (key: string): Promise<void> => {
    throw optionError("resetKey", key, "resetKey and decrement");
  };
  return {
    localKeys: options.limiter === undefined,
    init(middleware) {
      for (const name of ["skipFailedRequests", "skipSuccessfulRequests"] as const) {
        if (middleware[name] === true) throw optionError("skipRequests", true, name);
      }
      duration = parseDuration(middleware.windowMs, "windowMs");
      if (given !== undefined) return;
      if (typeof middleware.limit === "function") throw optionError("storeLimit", middleware.limit, "limit");
      checkLimit(middleware.limit);
      limit = middleware.limit;
    },
    async get(key) {
      const { current, reset } = await limiter.limit({ ...keyOf(key), cost: 0 });
      return { totalHits: current, resetTime: dateOf(reset) };
    },
    async increment(key) {
      const { current, reset } = limiter.charge(keyOf(key));
      return { totalHits: current, resetTime: dateOf(reset) };
    },
    decrement: refuse,
    resetKey: refuse,
  };
}

// biome-ignore lint/style/noRestrictedGlobals: a type.
function dateOf(ms: number): Date {
  // biome-ignore lint/style/noRestrictedGlobals: a moment of the limiter's clock as the middleware wants it; no clock is read.
  return new Date(ms);
}
