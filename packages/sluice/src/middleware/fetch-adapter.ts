/**
 * The middleware of everything that takes a `Request` and answers a `Response`: Next, Bun, Deno, Remix, SvelteKit, Astro.
 *
 * A `Request` has no client address, so that every policy needs a key.
 */
import type { Answer } from "./answer.ts";
import type { KeyFunction, RequestSource } from "./keys.ts";
import { optionError } from "./option-error.ts";
import type { PolicyOptions, SharedOptions } from "./options.ts";
import { type Limited, PolicySet, type ResponseTarget } from "./policy.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** A policy with a key: there is no default. */
export type KeyedPolicy<Req> = PolicyOptions<Req> & { readonly key: KeyFunction<Req> };

/** Answers a denied request. */
export type FetchHandler<Req> = (request: Req, decision: RateLimitDecision) => Response | Promise<Response>;

export type FetchOptions<Req extends Request> = SharedOptions<Req, FetchHandler<Req>, Response> &
  (KeyedPolicy<Req> | { readonly policies: readonly KeyedPolicy<Req>[] });

export interface FetchLimit<Req extends Request> extends Limited<Req> {
  /** The answer to a denied request; null if it is allowed. */
  (request: Req): Promise<Response | null>;
  /** The decision on a request that was limited; undefined for any other. */
  decisionOf(request: Req): RateLimitDecision | undefined;
  /** The same handler, limited: it answers with the headers of limits, and is not called for denied requests. */
  wrap<Rest extends readonly unknown[]>(
    handler: (request: Req, ...rest: Rest) => Response | Promise<Response>,
  ): (request: Req, ...rest: Rest) => Promise<Response>;
}

const SOURCE: RequestSource<Request> = {
  header: ({ headers }, name) => headers.get(name) ?? undefined,
  address: () => undefined,
  peer: () => undefined,
  trustsProxy: () => true,
  isClosed: () => false,
};

const HEADERS_TARGET: ResponseTarget<Headers> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  set: (headers, name, value) => headers.set(name, value),
};

export function fetchLimit<Req extends Request>(options: FetchOptions<Req>): FetchLimit<Req> {
  const policies = new PolicySet<Req, FetchHandler<Req>>(options, SOURCE, true);
  const { handler } = policies.settings;

  const decisions = new WeakMap<Req, RateLimitDecision>();

  const decide = async (request: Req): Promise<RateLimitDecision> => {
    const decision = await policies.decide(request);
    decisions.set(request, decision);
    return decision;
  };
  const denial = async (request: Req, decision: RateLimitDecision): Promise<Response> => {
    const response =
      handler === undefined ? responseOf(await policies.answerTo(request, decision)) : await handler(request, decision);
    return withHeaders(policies, response, decision);
  };
  const limit = async (request: Req): Promise<Response | null> => {
    // Nothing here sees the response of an allowed request.
    if (policies.settings.count !== null) throw optionError("countOfFetch", policies.settings.count, "count");
    const decision = await decide(request);
    return policies.isDenied(decision) ? denial(request, decision) : null;
  };
  return Object.assign(limit, policies.limited, {
    decisionOf: (request: Req) => decisions.get(request),
    wrap:
      <Rest extends readonly unknown[]>(inner: (request: Req, ...rest: Rest) => Response | Promise<Response>) =>
      async (request: Req, ...rest: Rest): Promise<Response> => {
        const decision = await decide(request);
        if (policies.isDenied(decision)) return denial(request, decision);
        const outcome = { status: 500, hasThrown: true, isUnanswered: false, response: undefined as unknown };
        try {
          const response = await inner(request, ...rest);
          Object.assign(outcome, { status: response.status, hasThrown: false, response });
          return withHeaders(policies, response, decision);
        } finally {
          policies.settle(decision, outcome);
        }
      },
  });
}

/** The same response with the headers of limits. Some responses, such as those of `fetch`, do not let theirs be changed. */
export function withHeaders<Req, Handler>(
  policies: PolicySet<Req, Handler>,
  response: Response,
  decision: RateLimitDecision,
): Response {
  try {
    policies.writeHeaders(HEADERS_TARGET, response.headers, decision, response.headers.has("RateLimit"));
    return response;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = new Response(response.body, response);
    policies.writeHeaders(HEADERS_TARGET, copy.headers, decision, copy.headers.has("RateLimit"));
    return copy;
  }
}

function responseOf({ status, headers, body }: Answer): Response {
  const response = new Response(body, { status });
  for (let i = 0; i < headers.length; i += 2) response.headers.set(headers[i]!, headers[i + 1]!);
  return response;
}
