/** The middleware of Hono: `(c, next)`, on every runtime. What is wrong is thrown, for `app.onError`. */
import { withHeaders } from "./fetch-adapter.ts";
import type { RequestSource } from "./keys.ts";
import type { RateLimitOptions } from "./options.ts";
import { type Later, type Limited, PolicySet, type ResponseTarget, when } from "./policy.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** The part of a context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request; header(name: string): string | undefined };
  readonly env: unknown;
  res: Response;
  readonly error: Error | undefined;
  get(name: "rateLimit"): unknown;
  set(name: "rateLimit", value: unknown): void;
  header(name: string, value: string): void;
  body(body: string, status: never): Response;
}

/** Answers a denied request. */
export type HonoHandler<Ctx> = (c: Ctx, decision: RateLimitDecision) => Response | Promise<Response>;

export type HonoOptions<Ctx extends HonoContext> = RateLimitOptions<Ctx, HonoHandler<Ctx>, Response>;

export interface HonoMiddleware<Ctx> extends Limited<Ctx> {
  (c: Ctx, next: () => Promise<void>): Promise<Response | undefined>;
}

/** What `env` is by runtime: `@hono/node-server` passes the request of Node, Bun its server, and Deno where the request is from. */
interface RuntimeEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string; readonly destroyed?: boolean } };
  readonly requestIP?: (request: Request) => { readonly address: string } | null;
  readonly server?: { readonly requestIP?: (request: Request) => { readonly address: string } | null };
  readonly remoteAddr?: { readonly hostname?: string };
}

const SOURCE: RequestSource<HonoContext> = {
  header: ({ req }, name) => req.header(name),
  address: peerOf,
  peer: peerOf,
  trustsProxy: () => false,
  isClosed: ({ env }) => (env as RuntimeEnv | undefined)?.incoming?.socket?.destroyed === true,
};

const TARGET: ResponseTarget<HonoContext> = {
  get: ({ res }, name) => res.headers.get(name) ?? undefined,
  set: (c, name, value) => c.header(name, value),
};

function peerOf({ env, req }: HonoContext): string | undefined {
  const runtime = env as RuntimeEnv | undefined;
  if (runtime === undefined || runtime === null) return undefined;
  if (runtime.incoming !== undefined) return runtime.incoming.socket?.remoteAddress;
  const bun = runtime.server ?? runtime;
  if (typeof bun.requestIP === "function") return bun.requestIP(req.raw)?.address;
  return runtime.remoteAddr?.hostname;
}

export function honoMiddleware<Ctx extends HonoContext>(options: HonoOptions<Ctx>): HonoMiddleware<Ctx> {
  const policies = new PolicySet<Ctx, HonoHandler<Ctx>>(options, SOURCE);
  const { handler } = policies.settings;

  /** A response that was made without the context lacks the headers that are set on the context. */
  const field = policies.settings.headers === "legacy" ? "X-RateLimit-Limit" : "RateLimit-Policy";
  const lacksHeaders = ({ headers }: Response): boolean => !headers.has(field);

  const apply = (c: Ctx, next: () => Promise<void>, decision: RateLimitDecision): Later<Response | undefined> => {
    const isLater = c.get("rateLimit") !== undefined;
    c.set("rateLimit", decision);
    policies.writeHeaders(TARGET, c, decision, isLater);
    if (!policies.isDenied(decision)) {
      return next().then(() => {
        const { status } = c.res;
        policies.settle(decision, { status, hasThrown: c.error !== undefined, isUnanswered: false, response: c.res });
        if (lacksHeaders(c.res)) c.res = withHeaders(policies, c.res, decision);
        return undefined;
      });
    }
    if (handler !== undefined) {
      return when(handler(c, decision), (own) => (lacksHeaders(own) ? withHeaders(policies, own, decision) : own));
    }
    return when(policies.answerTo(c, decision), ({ status, headers, body }) => {
      for (let i = 0; i < headers.length; i += 2) c.header(headers[i]!, headers[i + 1]!);
      return c.body(body, status as never);
    });
  };

  const middleware = async (c: Ctx, next: () => Promise<void>): Promise<Response | undefined> =>
    when(policies.decide(c), (decision) => apply(c, next, decision));
  return Object.assign(middleware, policies.limited);
}
