/**
 * The options of a middleware: checked once, when it is made, with an error that names the option.
 *
 * Unknown options are refused: a misspelt one would silently mean the default.
 */
import { type Duration, parseDuration } from "../core/duration.ts";
import { SluiceError } from "../core/errors.ts";
import { checkKnown } from "../core/known.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { checkCost, checkLimit } from "../limiter/request.ts";
import { AddressList } from "./address.ts";
import type { Message } from "./answer.ts";
import { readTrust, type Trust, type TrustProxy } from "./forwarded.ts";
import { byIp, type KeyFunction } from "./keys.ts";
import { optionError } from "./option-error.ts";
import type { CountedOutcomes } from "./outcome.ts";
import { HEADER_FORMATS, type HeaderFormat } from "./rate-headers.ts";
import type { RateLimitDecision } from "./verdict.ts";

/** A value, or a function of the request that answers it, at once or later. */
export type Value<Req, T> = T | ((request: Req) => T | Promise<T>);

/** What happens to a request that has no key: its policy is not asked, or the request is denied. */
export type MissingKey = "skip" | "deny";

/** One limit. */
export interface PolicyOptions<Req> {
  /** Names the limit in headers and denials, and is its namespace: 1 to 64 printable ASCII characters, default `"default"`. */
  readonly name?: string | undefined;
  /** What is counted by: default the client's address, `byIp()`. If it answers undefined, `onMissingKey` decides. */
  readonly key?: KeyFunction<Req> | undefined;
  /** Maximum total cost per window and key: an integer from 0 (a ban) to 2^40. */
  readonly limit: Value<Req, number>;
  /** The window: milliseconds, or a string such as `"10s"`, `"5m"`, `"1h"`, `"30d"`. From 1 s to 30 d. */
  readonly duration: Value<Req, Duration>;
  /** Cost of a request: an integer from 0 to 2^40, default 1. */
  readonly cost?: Value<Req, number> | undefined;
  /** For requests without a key: `"skip"` (default) does not ask this policy, `"deny"` denies. */
  readonly onMissingKey?: Value<Req, MissingKey> | undefined;
}

/** What all policies of a middleware share. */
export interface SharedOptions<Req, Handler, Res = unknown> {
  /**
   * Decides. Default: a limiter for this middleware alone, in memory, with room for 131,072 keys. Pass one to share counts, to use Redis,
   * or for more keys.
   */
  readonly limiter?: Limiter | undefined;
  /** The number of proxies before this server, or their networks. Default: the framework's own setting. */
  readonly trustProxy?: TrustProxy | undefined;
  /** Requests for which this answers true are not limited. */
  readonly skip?: ((request: Req) => boolean | Promise<boolean>) | undefined;
  /** Clients that are not limited: addresses and networks. */
  readonly allowList?: readonly string[] | undefined;
  /** Clients that are always denied, with status 403: addresses and networks. */
  readonly denyList?: readonly string[] | undefined;
  /** Counts and reports, but never denies and sets no headers. */
  readonly shadow?: boolean | undefined;
  /** While a store is unavailable: `"allow"` (default) decides from memory, `"deny"` answers 503. */
  readonly degraded?: "allow" | "deny" | undefined;
  /**
   * Which requests are counted: all of them before they are handled (`"before"`, default), or afterwards only `"failures"` (a status of
   * 400 or above, or a handler that throws), `"successes"`, or those for whose response a function answers true. Those are denied as soon as
   * nothing remains. A request whose client leaves before the answer is counted.
   */
  readonly count?: "before" | "failures" | "successes" | ((response: Res) => boolean) | undefined;
  /** The headers of limits: default `"draft-10"`; `false` for none. */
  readonly headers?: HeaderFormat | false | undefined;
  /** Whether scripts of other origins may read the headers (`Access-Control-Expose-Headers`). */
  readonly exposeHeaders?: boolean | undefined;
  /** The body of a denial: a string, or an object to send as JSON. Default: a problem of RFC 9457. */
  readonly message?: Message | ((request: Req, decision: RateLimitDecision) => Message | Promise<Message>) | undefined;
  /** The status of a denial: 400 to 599, default 429. */
  readonly statusCode?: number | undefined;
  /** Answers denied requests in place of this middleware. The headers of limits are set before it is called. */
  readonly handler?: Handler | undefined;
  /** Called for every denied request, before the answer. */
  readonly onDenied?: ((request: Req, decision: RateLimitDecision) => unknown) | undefined;
  /** Called for every request that was decided while a store was unavailable. */
  readonly onDegraded?: ((request: Req, decision: RateLimitDecision) => unknown) | undefined;
}

/** Several limits: a request is counted by all of them, or by none. */
export interface SeveralPolicies<Req> {
  /** 1 to 100 policies with different names. */
  readonly policies: readonly PolicyOptions<Req>[];
}

export type RateLimitOptions<Req, Handler, Res = unknown> = SharedOptions<Req, Handler, Res> &
  (PolicyOptions<Req> | SeveralPolicies<Req>);

/** A policy with every default filled in, and checked. */
export interface Policy<Req> {
  readonly name: string;
  readonly key: KeyFunction<Req>;
  readonly limit: Value<Req, number>;
  /** Milliseconds, unless it is a function. */
  readonly duration: number | ((request: Req) => Duration | Promise<Duration>);
  readonly cost: Value<Req, number>;
  readonly onMissingKey: Value<Req, MissingKey>;
}

/** The options with every default filled in, and checked. */
export interface Settings<Req, Handler> extends Pick<SharedOptions<Req, Handler>, "limiter" | "skip" | "message"> {
  readonly policies: readonly Policy<Req>[];
  /** Null: requests are counted before they are handled. */
  readonly count: CountedOutcomes | null;
  readonly trust: Trust | null;
  readonly allowList: AddressList | null;
  readonly denyList: AddressList | null;
  readonly isShadow: boolean;
  readonly deniesDegraded: boolean;
  readonly headers: HeaderFormat | null;
  readonly exposesHeaders: boolean;
  readonly statusCode: number | undefined;
  readonly handler: Handler | undefined;
  readonly onDenied: SharedOptions<Req, Handler>["onDenied"];
  readonly onDegraded: SharedOptions<Req, Handler>["onDegraded"];
}

/** Far more than anybody reads in a header. */
const POLICIES_MAX = 100;
const NAME_DEFAULT = "default";
const NAME = /^[\x20-\x7e]{1,64}$/;
export const POLICY_KNOWN: readonly string[] = ["name", "key", "limit", "duration", "cost", "onMissingKey"];
const SHARED_KNOWN = [
  "limiter",
  "trustProxy",
  "skip",
  "allowList",
  "denyList",
  "shadow",
  "degraded",
  "count",
  "headers",
  "exposeHeaders",
  "message",
  "statusCode",
  "handler",
  "onDenied",
  "onDegraded",
];
const FUNCTIONS = ["skip", "handler", "onDenied", "onDegraded"] as const;
const SWITCHES = ["shadow", "exposeHeaders"] as const;

/**
 * @param needsKey whether requests have no client address, so that there is no default key.
 * @throws SluiceError if an option is invalid, unknown, or missing.
 */
export function readRateLimitOptions<Req, Handler>(
  options: RateLimitOptions<Req, Handler, never>,
  needsKey: boolean,
): Settings<Req, Handler> {
  const isSeveral = typeof options === "object" && options !== null && "policies" in options;
  if (isSeveral) checkNothingBeside(options);
  checkKnown(options, isSeveral ? [...SHARED_KNOWN, "policies"] : [...SHARED_KNOWN, ...POLICY_KNOWN]);
  checkShared(options);
  const { trustProxy, allowList, denyList, headers = "draft-10" } = options;
  const { limiter, skip, message, statusCode, handler, onDenied, onDegraded } = options;
  return {
    policies: isSeveral
      ? severalPolicies(options.policies, needsKey)
      : [policyOf(options as PolicyOptions<Req>, needsKey)],
    count: countOf(options.count),
    trust: trustProxy === undefined ? null : readTrust(trustProxy),
    allowList: listOf(allowList, "allowList"),
    denyList: listOf(denyList, "denyList"),
    isShadow: options.shadow === true,
    deniesDegraded: options.degraded === "deny",
    headers: headers === false ? null : headers,
    exposesHeaders: options.exposeHeaders === true,
    limiter,
    skip,
    message,
    statusCode,
    handler,
    onDenied,
    onDegraded,
  };
}

function countOf(count: unknown = "before"): CountedOutcomes | null {
  if (count === "failures" || count === "successes" || typeof count === "function") return count as CountedOutcomes;
  if (count !== "before") throw optionError("count", count);
  return null;
}

function checkShared<Req, Handler>(options: SharedOptions<Req, Handler, never>): void {
  const { limiter, degraded = "allow", headers = "draft-10", message = "", statusCode = 429 } = options;
  if (limiter !== undefined && typeof (limiter as Partial<Limiter> | null)?.decideMany !== "function") {
    throw optionError("limiter", limiter);
  }
  if (degraded !== "allow" && degraded !== "deny") throw optionError("degraded", degraded);
  if (headers !== false && !HEADER_FORMATS.includes(headers)) throw optionError("headers", headers);
  const kinds = ["string", "object", "function"];
  if (!kinds.includes(typeof message) || message === null) throw optionError("message", message);
  const isStatus = Number.isInteger(statusCode) && statusCode >= 400 && statusCode <= 599;
  if (!isStatus) throw optionError("statusCode", statusCode);
  for (const name of FUNCTIONS) {
    const given = options[name];
    if (given !== undefined && typeof given !== "function") throw optionError(name, given);
  }
  for (const name of SWITCHES) {
    const given = options[name];
    if (given !== undefined && typeof given !== "boolean") throw optionError(name, given);
  }
}

function checkNothingBeside(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (POLICY_KNOWN.includes(name)) throw optionError("besidePolicies", value, name);
  }
}

function severalPolicies<Req>(policies: readonly PolicyOptions<Req>[], needsKey: boolean): readonly Policy<Req>[] {
  if (!Array.isArray(policies) || policies.length === 0 || policies.length > POLICIES_MAX) {
    throw optionError("policies", policies);
  }
  const names = new Set<string>();
  return policies.map((options: PolicyOptions<Req>, i) => {
    const field = `policies[${i}]`;
    checkKnown(options, POLICY_KNOWN, field);
    try {
      const policy = policyOf(options, needsKey);
      if (names.has(policy.name)) throw new SluiceError("RL_POLICY_NAME_TAKEN", "name", policy.name);
      names.add(policy.name);
      return policy;
    } catch (error) {
      throw error instanceof SluiceError ? error.within(field) : error;
    }
  });
}

function policyOf<Req>(options: PolicyOptions<Req>, needsKey: boolean): Policy<Req> {
  const { name = NAME_DEFAULT, key, limit, duration, cost = 1, onMissingKey = "skip" } = options;
  if (typeof name !== "string" || !NAME.test(name)) throw optionError("name", name);
  if (key === undefined && needsKey) throw new SluiceError("RL_KEY_REQUIRED", "key", key);
  if (key !== undefined && typeof key !== "function") throw optionError("key", key);
  if (typeof limit !== "function") checkLimit(limit);
  if (typeof cost !== "function") checkCost(cost);
  if (typeof onMissingKey !== "function") checkMissingKey(onMissingKey);
  return {
    name,
    key: key ?? byIp(),
    limit,
    duration: typeof duration === "function" ? duration : parseDuration(duration),
    cost,
    onMissingKey,
  };
}

export function checkMissingKey(value: unknown): asserts value is MissingKey {
  if (value !== "skip" && value !== "deny") throw optionError("onMissingKey", value);
}

function listOf(entries: readonly string[] | undefined, field: "allowList" | "denyList"): AddressList | null {
  if (entries === undefined) return null;
  if (!Array.isArray(entries)) throw optionError(field, entries);
  return new AddressList(entries, field);
}
