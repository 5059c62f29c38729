/**
 * The plugin of Fastify: `app.register(rateLimit, options)`. It limits the routes of the scope it is registered in, and below.
 *
 * A route may have its own limits, `config: { rateLimit: { limit: 5, duration: "1m" } }`, or none, `config: { rateLimit: false }`. Both stand in
 * place of the plugin's.
 */
import type { Limiter } from "../limiter/limiter.ts";
import type { RequestSource } from "./keys.ts";
import { optionError } from "./option-error.ts";
import { POLICY_KNOWN, type PolicyOptions, type RateLimitOptions, type SeveralPolicies } from "./options.ts";
import { type NodeResponseEnd, onNodeEnd } from "./outcome.ts";
import { type Later, PolicySet, type ResponseTarget, when } from "./policy.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** The part of a request that is used. */
export interface FastifyRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly ip: string;
  readonly ips?: string[] | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined; readonly destroyed?: boolean };
  readonly routeOptions: { readonly config?: unknown };
}

export interface FastifyReply {
  readonly raw: NodeResponseEnd;
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  getHeader(name: string): number | string | string[] | undefined;
  send(body: string): unknown;
}

/** Answers a denied request. */
export type FastifyHandler<Req> = (request: Req, reply: FastifyReply, decision: RateLimitDecision) => unknown;

/** When a request is decided: `onRequest` (default) before its body is read, `preHandler` after. */
export type FastifyHook = "onRequest" | "preHandler";

export type FastifyOptions<Req extends FastifyRequest> = RateLimitOptions<Req, FastifyHandler<Req>, FastifyReply> & {
  readonly hook?: FastifyHook | undefined;
};

/** The limits of one route: `config.rateLimit`. The name of its policy is its method and path, if it has none. */
export type FastifyRouteLimit<Req extends FastifyRequest> = PolicyOptions<Req> | SeveralPolicies<Req> | false;

type Done = (error?: Error) => void;
type Hook<Req> = (request: Req, reply: FastifyReply, done: Done) => void;

interface Route {
  readonly method: string | string[];
  readonly url: string;
  config?: Record<PropertyKey, unknown>;
}

/** The part of an instance that is used. */
export interface FastifyApp {
  addHook(name: string, hook: unknown): unknown;
  decorate(name: string, value: unknown): unknown;
  decorateRequest(name: string, value: unknown): unknown;
  hasRequestDecorator(name: string): boolean;
}

const SOURCE: RequestSource<FastifyRequest> = {
  header: ({ headers }, name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  trustsProxy: ({ ips }) => ips !== undefined,
  isClosed: ({ socket }) => socket.destroyed === true,
};

const TARGET: ResponseTarget<FastifyReply> = {
  get: (reply, name) => {
    const value = reply.getHeader(name);
    return value === undefined ? undefined : String(value);
  },
  set: (reply, name, value) => void reply.header(name, value),
};

/** On the config of a route with its own limits: who decides for it. */
const OWN = Symbol("sluice.rateLimit");
/** What Fastify itself reads of the options of `register`. */
const REGISTER_OPTIONS = ["prefix", "logLevel", "logSerializers"];

/** Asynchronous, so that an invalid option rejects `register` and does not end the process. */
export async function fastifyPlugin<Req extends FastifyRequest>(
  app: FastifyApp,
  given: FastifyOptions<Req>,
): Promise<void> {
  const { hook = "onRequest", ...options } = Object.fromEntries(
    Object.entries(given).filter(([name]) => !REGISTER_OPTIONS.includes(name)),
  ) as unknown as FastifyOptions<Req>;
  if (hook !== "onRequest" && hook !== "preHandler") throw optionError("hook", hook);
  const policies = new PolicySet<Req, FastifyHandler<Req>>(
    options as RateLimitOptions<Req, FastifyHandler<Req>>,
    SOURCE,
  );
  let hasOwnRoutes = false;

  /** The policies for this request; null if its route is not limited, or another plugin does it. */
  const policiesFor = (request: Req): PolicySet<Req, FastifyHandler<Req>> | null => {
    if (!hasOwnRoutes) return policies;
    const own = (request.routeOptions.config as Record<PropertyKey, unknown> | undefined)?.[OWN];
    if (own === undefined) return policies;
    const { plugin, limits } = own as RouteLimits<Req>;
    return plugin === policies ? limits : null;
  };

  const limit: Hook<Req> = (request, reply, next) => {
    let mayGoOn: Later<boolean>;
    try {
      const asked = policiesFor(request);
      mayGoOn = asked === null || when(asked.decide(request), (decision) => apply(asked, request, reply, decision));
    } catch (error) {
      next(error as Error);
      return;
    }
    if (mayGoOn === true) next();
    else if (mayGoOn !== false) mayGoOn.then((may) => (may ? next() : undefined), next);
  };

  app.addHook("onRoute", (route: Route) => {
    const own = route.config?.["rateLimit"];
    if (own === undefined || route.config?.[OWN] !== undefined) return;
    hasOwnRoutes = true;
    const limits = own === false ? null : new PolicySet(routeOptions(options, own, route, policies.limiter), SOURCE);
    route.config = { ...route.config, [OWN]: { plugin: policies, limits } };
  });
  if (!app.hasRequestDecorator("rateLimit")) app.decorateRequest("rateLimit", undefined);
  if (!Object.hasOwn(app, "rateLimit")) app.decorate("rateLimit", (request: Req) => policies.check(request));
  app.addHook(hook, limit);
  app.addHook("onClose", () => policies.close());
}

interface RouteLimits<Req> {
  readonly plugin: unknown;
  readonly limits: PolicySet<Req, FastifyHandler<Req>> | null;
}

/** The options of the plugin with the limits of the route in place of its own. The plugin's limiter serves all of its routes. */
function routeOptions<Req extends FastifyRequest>(
  options: object,
  own: unknown,
  { method, url }: Route,
  limiter: Limiter,
): RateLimitOptions<Req, FastifyHandler<Req>> {
  if (typeof own !== "object" || own === null) throw optionError("rateLimit", own);
  const isSeveral = "policies" in own;
  const inherited = Object.entries(options).filter(
    ([name]) => name !== "policies" && !(isSeveral && POLICY_KNOWN.includes(name)),
  );
  const name = isSeveral ? {} : { name: `${String(method)} ${url}` };
  return { ...Object.fromEntries(inherited), ...name, limiter, ...own } as RateLimitOptions<Req, FastifyHandler<Req>>;
}

/** Sets the headers and the decision; true if the request is allowed, otherwise it is answered. */
function apply<Req extends FastifyRequest>(
  policies: PolicySet<Req, FastifyHandler<Req>>,
  request: Req,
  reply: FastifyReply,
  decision: RateLimitDecision,
): Later<boolean> {
  const marked = request as { rateLimit?: RateLimitDecision };
  policies.writeHeaders(TARGET, reply, decision, marked.rateLimit !== undefined);
  marked.rateLimit = decision;
  if (!policies.isDenied(decision)) {
    if (policies.settings.count !== null) onNodeEnd(reply.raw, reply, (outcome) => policies.settle(decision, outcome));
    return true;
  }
  const { handler } = policies.settings;
  if (handler !== undefined) return when(handler(request, reply, decision), () => false);
  return when(policies.answerTo(request, decision), ({ status, headers, body }) => {
    reply.code(status);
    for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]!);
    reply.send(body);
    return false;
  });
}
