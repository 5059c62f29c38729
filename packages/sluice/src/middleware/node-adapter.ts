/** The middleware of Express, Connect and `node:http`: `(request, response, next)`. What is wrong goes to `next`. */
import type { Answer } from "./answer.ts";
import type { RequestSource } from "./keys.ts";
import type { RateLimitOptions } from "./options.ts";
import { type NodeResponseEnd, onNodeEnd } from "./outcome.ts";
import { type Limited, PolicySet, type ResponseTarget, when } from "./policy.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** The part of a request that is read: of `node:http`, with what Express adds. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: { readonly remoteAddress?: string | undefined; readonly destroyed?: boolean };
  readonly ip?: string | undefined;
  readonly app?: { readonly settings?: Readonly<Record<string, unknown>> } | undefined;
}

/** The part of a response that is used. */
export interface NodeResponse extends NodeResponseEnd {
  statusCode: number;
  getHeader(name: string): number | string | string[] | undefined;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

export type NextFunction = (error?: unknown) => void;

/** Answers a denied request. */
export type NodeHandler<Req, Res> = (
  request: Req,
  response: Res,
  next: NextFunction,
  decision: RateLimitDecision,
) => unknown;

export type NodeOptions<Req extends NodeRequest, Res extends NodeResponse> = RateLimitOptions<
  Req,
  NodeHandler<Req, Res>,
  Res
>;

export interface NodeMiddleware<Req, Res> extends Limited<Req> {
  (request: Req, response: Res, next: NextFunction): void;
}

/** A request that a middleware has decided about. */
interface Marked {
  rateLimit?: RateLimitDecision;
}

const NODE_SOURCE: RequestSource<NodeRequest> = {
  header: ({ headers }, name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  // Express computes `ip` from the whole chain, even if it trusts no proxy.
  address: (request) =>
    request.app === undefined || trusts(request) ? (request.ip ?? peerOf(request)) : peerOf(request),
  peer: peerOf,
  trustsProxy: trusts,
  isClosed: ({ socket }) => socket.destroyed === true,
};

const NODE_TARGET: ResponseTarget<NodeResponse> = {
  get: (response, name) => {
    const value = response.getHeader(name);
    return value === undefined ? undefined : String(value);
  },
  set: (response, name, value) => void response.setHeader(name, value),
};

function peerOf({ socket }: NodeRequest): string | undefined {
  return socket.remoteAddress;
}

function trusts({ app }: NodeRequest): boolean {
  return Boolean(app?.settings?.["trust proxy"]);
}

export function nodeMiddleware<Req extends NodeRequest, Res extends NodeResponse>(
  options: NodeOptions<Req, Res>,
): NodeMiddleware<Req, Res> {
  const policies = new PolicySet<Req, NodeHandler<Req, Res>>(options, NODE_SOURCE);
  const { handler } = policies.settings;

  /** True: the request may go on. Otherwise it is answered. */
  const apply = (request: Req, response: Res, next: NextFunction, decision: RateLimitDecision) => {
    const marked = request as Marked;
    policies.writeHeaders(NODE_TARGET, response, decision, marked.rateLimit !== undefined);
    marked.rateLimit = decision;
    if (!policies.isDenied(decision)) {
      if (policies.settings.count !== null)
        onNodeEnd(response, response, (outcome) => policies.settle(decision, outcome));
      return true;
    }
    const answered =
      handler === undefined
        ? when(policies.answerTo(request, decision), (answer) => send(response, answer))
        : handler(request, response, next, decision);
    return when(answered as unknown, () => false);
  };

  const middleware = (request: Req, response: Res, next: NextFunction): void => {
    let mayGoOn: boolean | Promise<boolean>;
    try {
      mayGoOn = when(policies.decide(request), (decision) => apply(request, response, next, decision));
    } catch (error) {
      next(error);
      return;
    }
    // Outside of the `try`: what the next handler throws is not this middleware's.
    if (mayGoOn === true) next();
    else if (mayGoOn !== false) mayGoOn.then((may) => (may ? next() : undefined), next);
  };
  return Object.assign(middleware, policies.limited);
}

function send(response: NodeResponse, { status, headers, body }: Answer): void {
  response.statusCode = status;
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i]!, headers[i + 1]!);
  response.end(body);
}
