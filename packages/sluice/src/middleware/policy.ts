/**
 * The core of every middleware: asks the policies about a request, and says what to answer. An adapter only translates its framework's
 * request and response.
 *
 * Invariants: all policies count a request, or none does. Whatever answers at once is decided without a promise, so that a request that
 * needs no I/O does not wait for another turn. What a user's function throws reaches the caller; nothing was counted then.
 */
import type { Duration } from "../core/duration.ts";
import { parseDuration } from "../core/duration.ts";
import { SluiceError } from "../core/errors.ts";
import type { Decision } from "../engine/decision.ts";
import { Limiter, type Rule } from "../limiter/limiter.ts";
import { checkCost, checkLimit, type LimitRequest } from "../limiter/request.ts";
import type { CloseReport } from "../limiter/stack.ts";
import { systemWarn } from "../limiter/system.ts";
import { type Answer, answerOf, type Message } from "./answer.ts";
import { claimNames } from "./claimed-names.ts";
import { clientAddress } from "./forwarded.ts";
import { legalIdentifier, type RequestSource } from "./keys.ts";
import { checkMissingKey, type Policy, type RateLimitOptions, readRateLimitOptions, type Settings } from "./options.ts";
import { countLate, isCounted, type Outcome } from "./outcome.ts";
import { exposedFields, rateHeaders } from "./rate-headers.ts";
import { type PolicyDecision, type RateLimitDecision, unasked, verdictOf, verdictOfOne } from "./verdict.ts";

/** A value, or a promise of it where somebody has to wait. */
export type Later<T> = T | Promise<T>;

/** How an adapter sets the headers of its framework's response. */
export interface ResponseTarget<Res> {
  get(response: Res, name: string): string | undefined;
  set(response: Res, name: string, value: string): void;
}

/** What every middleware has beside its call. */
export interface Limited<Req> {
  /** The decision without a response, for upgrades to a websocket and the like. Counts. */
  check(request: Req): Promise<RateLimitDecision>;
  /** Closes the limiter if it is this middleware's own. */
  close(): Promise<CloseReport>;
}

/** A policy that was asked, with its values for one request. */
interface Asked {
  readonly name: string;
  readonly identifier: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly cost: number;
  /** Whether a request that is counted by its outcome is counted already. */
  readonly isCounted?: boolean;
}

/** Keys of a middleware's own limiter: 19 MB at the most, which leaves room for several of them, and in a Worker of 128 MB. */
const OWN_CELLS_MAX = 131_072;
const EXPOSE = "Access-Control-Expose-Headers";
const SKIPPED = unasked(true, "skipped");
const WARNING =
  "A request has an X-Forwarded-For or Forwarded header, but no proxy is trusted, so that all clients behind one proxy share a count. " +
  "Set trustProxy (or the framework's own setting); 0 if there is no proxy.";

export class PolicySet<Req, Handler> {
  readonly limiter: Limiter;
  readonly settings: Settings<Req, Handler>;
  readonly #source: RequestSource<Req>;
  readonly #isOwner: boolean;
  /** The first policy, if it is the only one and nothing but its key depends on the request. */
  readonly #simple: Policy<Req> | null;
  /** Of `#simple`; made with the first request, because it draws random numbers, which Workers forbid before one. */
  #rule: Rule | null = null;
  #hasWarned = false;

  /** @throws SluiceError if an option is invalid, or the limiter has the same policy with another limit. */
  constructor(options: RateLimitOptions<Req, Handler, never>, source: RequestSource<Req>, needsKey = false) {
    this.settings = readRateLimitOptions(options, needsKey);
    const { limiter, policies, trust } = this.settings;
    this.#isOwner = limiter === undefined;
    this.limiter = limiter ?? new Limiter({ cellsMax: OWN_CELLS_MAX });
    claimNames(this.limiter, policies);
    this.#source = {
      ...source,
      address: (request) =>
        trust === null
          ? this.#frameworkAddress(source, request)
          : clientAddress(source.peer(request), source.header(request, "x-forwarded-for"), trust),
    };
    const [first] = policies;
    this.#simple = policies.length === 1 && isFixed(first!) && this.settings.count === null ? first! : null;
  }

  /** What every middleware has beside its call. */
  get limited(): Limited<Req> {
    return { check: (request) => this.check(request), close: () => this.close() };
  }

  /** Asks the policies, and counts the request if all of them allow it. */
  decide(request: Req): Later<RateLimitDecision> {
    const { skip, allowList, denyList } = this.settings;
    if (skip === undefined && allowList === null && denyList === null) return this.#ask(request);
    return when(skip?.(request) ?? false, (isSkipped) => {
      if (isSkipped) return SKIPPED;
      const address = allowList === null && denyList === null ? "" : (this.#source.address(request) ?? "");
      if (denyList?.has(address)) return this.#report(request, unasked(false, "address"));
      return allowList?.has(address) ? SKIPPED : this.#ask(request);
    });
  }

  /** The decision without a response, for upgrades to a websocket and the like. Counts. */
  async check(request: Req): Promise<RateLimitDecision> {
    return this.decide(request);
  }

  /** Whether this decision keeps the request from its handler. */
  isDenied({ success }: RateLimitDecision): boolean {
    return !success && !this.settings.isShadow;
  }

  /**
   * Sets the headers of limits. `isLater`: an earlier middleware has set its own for this request, and a list of the newest draft names
   * the policies of both.
   */
  writeHeaders<Res>(target: ResponseTarget<Res>, response: Res, decision: RateLimitDecision, isLater: boolean): void {
    const { headers: format, isShadow, exposesHeaders } = this.settings;
    if (format === null || isShadow || decision.policies.length === 0) return;
    const headers = rateHeaders(decision, format, this.limiter.now());
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      const before = isLater && format === "draft-10" ? target.get(response, name) : undefined;
      target.set(response, name, before === undefined ? headers[i + 1]! : `${before}, ${headers[i + 1]!}`);
    }
    if (!exposesHeaders) return;
    const before = target.get(response, EXPOSE);
    const fields = exposedFields(format);
    if (before?.includes(fields) !== true)
      target.set(response, EXPOSE, before === undefined ? fields : `${before}, ${fields}`);
  }

  /** The answer to a denied request, without the headers of limits. */
  answerTo(request: Req, decision: RateLimitDecision): Later<Answer> {
    const { message, statusCode: status } = this.settings;
    const given: Later<Message | undefined> = typeof message === "function" ? message(request, decision) : message;
    return when(given, (text) => answerOf(decision, { status, message: text }));
  }

  /** Closes the limiter if it is this middleware's own. */
  async close(): Promise<CloseReport> {
    return this.#isOwner ? this.limiter.close() : { lost: 0 };
  }

  #ask(request: Req): Later<RateLimitDecision> {
    const policy = this.#simple;
    if (policy === null) return this.#askAll(request);
    const identifier = policy.key(request, this.#source);
    if (typeof identifier !== "string" || identifier === "") return this.#askFor(request, [identifier]);
    const legal = legalIdentifier(identifier);
    this.#rule ??= this.#ruleOf(policy);
    const decision = this.#rule.decide(legal);
    return decision instanceof Promise
      ? decision.then((late) => this.#report(request, verdictOfOne(decisionOf(policy, legal, late))))
      : this.#report(request, verdictOfOne(decisionOf(policy, legal, decision)));
  }

  #ruleOf({ name, limit, duration }: Policy<Req>): Rule {
    return this.limiter.rule({ namespace: name, limit: limit as number, duration: duration as number });
  }

  #askAll(request: Req): Later<RateLimitDecision> {
    return this.#askFor(
      request,
      this.settings.policies.map(({ key }) => key(request, this.#source)),
    );
  }

  /** Asks every policy that has a key. Its other values are wanted only then: a limit by plan may need the user of the key. */
  #askFor(request: Req, keys: readonly unknown[]): Later<RateLimitDecision> {
    return whenAll(keys, (identifiers) => {
      const missing = this.settings.policies.map(({ onMissingKey }, i) =>
        isMissing(identifiers[i]) ? resolve(onMissingKey, request) : "skip",
      );
      return whenAll(missing, (actions) => {
        for (const action of actions) checkMissingKey(action);
        if (actions.includes("deny")) return this.#report(request, unasked(false, "key"));
        const asked = this.settings.policies.flatMap((policy, i) =>
          isMissing(identifiers[i]) ? [] : [askedOf(policy, request, identifiers[i])],
        );
        return whenAll(asked, (all) =>
          this.settings.count === null ? this.#decideAll(request, all) : this.#peekAll(request, all),
        );
      });
    });
  }

  /** The check of requests that are counted by their outcome: denied as soon as nothing remains of one of the limits. */
  #peekAll(request: Req, all: readonly Asked[]): Later<RateLimitDecision> {
    if (all.length === 0) return SKIPPED;
    const peeks = all.map((one) => ({ ...itemOf(one), cost: 0 }));
    return when(this.limiter.decideMany(peeks), ({ decisions }) => {
      if (decisions.every(({ success, remaining }) => success && remaining > 0)) {
        return this.#report(request, verdictOf(all.map((one, i) => ({ ...partOf(one), decision: decisions[i]! }))));
      }
      // Asked for a cost of 1, the limiter says when there will be room. If there is by now, that is this request's count.
      return this.#decideAll(
        request,
        all.map((one) => ({ ...one, cost: 1, isCounted: true })),
      );
    });
  }

  /** After the work: counts a request that was allowed, if its outcome is one that counts. */
  settle({ policies }: RateLimitDecision, outcome: Outcome): void {
    const { count } = this.settings;
    const open = policies.filter(({ isCounted: isDone }) => isDone !== true);
    if (count === null || open.length === 0) return;
    countLate(() => {
      if (!isCounted(count, outcome)) return;
      this.limiter.chargeMany(open.map((one) => itemOf({ ...one, limit: one.decision.limit })));
    });
  }

  #decideAll(request: Req, all: readonly Asked[]): Later<RateLimitDecision> {
    if (all.length === 0) return SKIPPED;
    const items = all.map(itemOf);
    // One request is decided as such: an origin counts it in one round trip.
    const [only] = items;
    const answer: Later<readonly Decision[]> =
      items.length === 1
        ? when(this.limiter.decide(only!), (decision) => [decision])
        : when(this.limiter.decideMany(items), ({ decisions }) => decisions);
    return when(answer, (decisions) =>
      this.#report(request, verdictOf(all.map((one, i) => ({ ...partOf(one), decision: decisions[i]! })))),
    );
  }

  /** Calls the hooks. One that answers a promise is waited for, so that its failure reaches the framework. */
  #report(request: Req, verdict: RateLimitDecision): Later<RateLimitDecision> {
    if (verdict.success && !verdict.degraded) return verdict;
    const { onDegraded, onDenied, deniesDegraded } = this.settings;
    const isRefused = verdict.degraded && verdict.success && deniesDegraded;
    const final: RateLimitDecision = isRefused ? { ...verdict, success: false, reason: "degraded" } : verdict;
    const hooks = [
      final.degraded ? onDegraded?.(request, final) : undefined,
      final.success ? undefined : onDenied?.(request, final),
    ];
    return whenAll(hooks, () => final);
  }

  #frameworkAddress(source: RequestSource<Req>, request: Req): string | undefined {
    if (!this.#hasWarned && !source.trustsProxy(request)) {
      const isForwarded =
        source.header(request, "x-forwarded-for") !== undefined || source.header(request, "forwarded") !== undefined;
      if (isForwarded) {
        this.#hasWarned = true;
        systemWarn(WARNING, "SLUICE_UNTRUSTED_PROXY");
      }
    }
    return source.address(request);
  }
}

function isFixed<Req>({ limit, duration, cost }: Policy<Req>): boolean {
  return typeof limit === "number" && typeof duration === "number" && cost === 1;
}

function decisionOf<Req>(policy: Policy<Req>, identifier: string, decision: Decision): PolicyDecision {
  return { name: policy.name, identifier, durationMs: policy.duration as number, cost: 1, decision };
}

/** As the limiter takes it. */
function itemOf({ name, durationMs, identifier, limit, cost }: Asked): LimitRequest {
  return { namespace: name, duration: durationMs, identifier, limit, cost };
}

/** As a decision shows it. */
function partOf({ name, identifier, durationMs, cost, isCounted: isDone }: Asked): Omit<PolicyDecision, "decision"> {
  return { name, identifier, durationMs, cost, ...(isDone === true ? { isCounted: true } : {}) };
}

function isMissing(identifier: unknown): boolean {
  return identifier === undefined || identifier === null || identifier === "";
}

/** The values of a policy for this request, each checked. */
function askedOf<Req>(policy: Policy<Req>, request: Req, identifier: unknown): Later<Asked> {
  if (typeof identifier !== "string") throw new SluiceError("RL_IDENTIFIER_INVALID", `${policy.name}.key`, identifier);
  const values = [
    resolve(policy.limit, request),
    resolve<Req, Duration>(policy.duration, request),
    resolve(policy.cost, request),
  ];
  return whenAll<unknown, Asked>(values, ([limit, duration, cost]) => {
    checkLimit(limit);
    checkCost(cost);
    const durationMs = parseDuration(duration);
    return { name: policy.name, identifier: legalIdentifier(identifier), limit, durationMs, cost };
  });
}

function resolve<Req, T>(value: T | ((request: Req) => Later<T>), request: Req): Later<T> {
  return typeof value === "function" ? (value as (request: Req) => Later<T>)(request) : value;
}

/** Promises of other realms and libraries too. */
function isLater<T>(value: Later<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/** Goes on with a value: at once if it is not a promise. */
export function when<T, Result>(value: Later<T>, use: (value: T) => Later<Result>): Later<Result> {
  return isLater(value) ? value.then(use) : use(value);
}

function whenAll<T, Result>(values: readonly Later<T>[], use: (values: readonly T[]) => Later<Result>): Later<Result> {
  return values.some(isLater) ? Promise.all(values).then(use) : use(values as readonly T[]);
}
