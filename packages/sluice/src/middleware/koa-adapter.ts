/** The middleware of Koa: `(ctx, next)`. What is wrong is thrown, for Koa's own handling of errors. */
import type { RequestSource } from "./keys.ts";
import type { RateLimitOptions } from "./options.ts";
import { type NodeResponseEnd, onNodeEnd } from "./outcome.ts";
import { type Later, type Limited, PolicySet, type ResponseTarget, when } from "./policy.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** The part of a context that is used. */
export interface KoaContext {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly ip: string;
  readonly req: { readonly socket: { readonly remoteAddress?: string | undefined; readonly destroyed?: boolean } };
  readonly res: NodeResponseEnd;
  readonly app: { readonly proxy?: boolean };
  readonly response: { get(name: string): string | string[] | number | undefined };
  state: Record<PropertyKey, unknown>;
  status: number;
  body: unknown;
  set(name: string, value: string): unknown;
}

/** Answers a denied request. */
export type KoaHandler<Ctx> = (ctx: Ctx, decision: RateLimitDecision) => unknown;

export type KoaOptions<Ctx extends KoaContext> = RateLimitOptions<Ctx, KoaHandler<Ctx>, Ctx>;

export interface KoaMiddleware<Ctx> extends Limited<Ctx> {
  (ctx: Ctx, next: () => Promise<unknown>): unknown;
}

const SOURCE: RequestSource<KoaContext> = {
  header: ({ headers }, name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  address: ({ ip }) => ip,
  peer: ({ req }) => req.socket.remoteAddress,
  trustsProxy: ({ app }) => app.proxy === true,
  isClosed: ({ req }) => req.socket.destroyed === true,
};

const TARGET: ResponseTarget<KoaContext> = {
  get: ({ response }, name) => {
    const value = response.get(name);
    return value === undefined || value === "" ? undefined : String(value);
  },
  set: (ctx, name, value) => void ctx.set(name, value),
};

export function koaMiddleware<Ctx extends KoaContext>(options: KoaOptions<Ctx>): KoaMiddleware<Ctx> {
  const policies = new PolicySet<Ctx, KoaHandler<Ctx>>(options, SOURCE);
  const { handler } = policies.settings;

  const apply = (ctx: Ctx, next: () => Promise<unknown>, decision: RateLimitDecision): Later<unknown> => {
    const { state } = ctx;
    policies.writeHeaders(TARGET, ctx, decision, state["rateLimit"] !== undefined);
    state["rateLimit"] = decision;
    if (!policies.isDenied(decision)) {
      if (policies.settings.count !== null) onNodeEnd(ctx.res, ctx, (outcome) => policies.settle(decision, outcome));
      return next();
    }
    if (handler !== undefined) return handler(ctx, decision);
    return when(policies.answerTo(ctx, decision), ({ status, headers, body }) => {
      ctx.status = status;
      for (let i = 0; i < headers.length; i += 2) ctx.set(headers[i]!, headers[i + 1]!);
      ctx.body = body;
    });
  };

  // Koa waits for whatever a middleware returns, and turns what it throws into a rejection.
  const middleware = (ctx: Ctx, next: () => Promise<unknown>): unknown =>
    when(policies.decide(ctx), (decision) => apply(ctx, next, decision));
  return Object.assign(middleware, policies.limited);
}
