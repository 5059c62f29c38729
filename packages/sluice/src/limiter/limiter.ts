/**
 * The limiter: what a user holds. Takes requests apart, checks them, and asks the engine.
 *
 * Invariant: whatever can be wrong with a request is found before anything is counted.
 */
import { assert } from "../core/assert.ts";
import {
  BATCH_MAX,
  READY_TIMEOUT_DEFAULT_MS,
  READY_TIMEOUT_MAX_MS,
  RESERVE_MAX,
  TAKE_WAIT_MAX_MS,
  TTL_DEFAULT_MS,
  TTL_MAX_MS,
} from "../core/bounds.ts";
import { type Duration, parseDuration } from "../core/duration.ts";
import { SluiceError } from "../core/errors.ts";
import { checkKnown } from "../core/known.ts";
import { UnderWay } from "../core/under-way.ts";
import { type Awaited, type BatchItem, batchItem, decideBatch, isSameCell } from "../engine/batch.ts";
import { charge, chargeAll } from "../engine/charge.ts";
import type { BatchDecision, Charge, ChargesDecision, Decision } from "../engine/decision.ts";
import type { Waited } from "../engine/gate.ts";
import { type Inspection, inspect } from "../engine/inspection.ts";
import { type Key, keyOf } from "../engine/key.ts";
import type { Scope } from "../engine/scope.ts";
import { decide } from "../engine/single.ts";
import { LOOKS_MAX, lastIf } from "../origin/looks.ts";
import type { RegionalHolds, RegionalLayer } from "../origin/regional-layer.ts";
import { reported } from "./near-report.ts";
import { checkInterval, type LimiterOptions, readOptions } from "./options.ts";
import { checkCost, checkLimit, checkRequest, type InspectRequest, type LimitRequest } from "./request.ts";
import type { Reservation, ReserveOptions, Settlement } from "./reservation.ts";
import { Reservations } from "./reservations.ts";
import { type CloseReport, Stack } from "./stack.ts";
import { readStats, type Stats } from "./stats.ts";
import { type Patience, Takes } from "./take.ts";
import { Watch } from "./watch.ts";

/** What a rule fixes for all of its requests. */
export interface RuleOptions {
  /** The tenant; `"default"` if not given. */
  readonly workspace?: string | undefined;
  readonly namespace: string;
  /** An integer from 0 (a ban) to 2^40. */
  readonly limit: number;
  /** The window: milliseconds, or a text such as `"10s"`, `"5m"`, `"1h"`, `"30d"`. From 1 s to 30 d. */
  readonly duration: Duration;
}

/** What may differ between two requests of one rule. */
export type RuleRequest = Pick<LimitRequest, "cost">;

/** How long a take may wait. */
export interface TakeOptions {
  /** 0 to 5,184,000,000 ms (60 d). Left out: as long as it takes. */
  readonly maxWaitMs?: number | undefined;
  /** Ends the wait: the promise is rejected with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A take of a rule. */
export type RuleTake = RuleRequest & TakeOptions;

/** How long `ready` waits. */
export interface ReadyOptions {
  /** 0 to 60,000 ms, default 5000. */
  readonly timeoutMs?: number | undefined;
}

/** A limit that is asked about many identifiers: everything but the identifier is checked and hashed once. */
export interface Rule {
  /**
   * Like `Limiter.limit`.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const rule = new Limiter().rule({ namespace: "api", limit: 100, duration: "1m" });
   * const { success } = await rule.limit("user_1", { cost: 5 });
   * ```
   */
  limit(identifier: string, request?: RuleRequest): Promise<Decision>;
  /**
   * Like `Limiter.decide`: a decision if memory suffices, else a promise.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const rule = new Limiter().rule({ namespace: "api", limit: 100, duration: "1m" });
   * const answer = rule.decide("user_1");
   * const { success } = answer instanceof Promise ? await answer : answer;
   * ```
   */
  decide(identifier: string, request?: RuleRequest): Decision | Promise<Decision>;
  /**
   * Like `Limiter.charge`.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const rule = new Limiter().rule({ namespace: "tokens", limit: 10_000, duration: "1m" });
   * const { success, over } = rule.charge("user_1", { cost: 1_234 });
   * ```
   */
  charge(identifier: string, request?: RuleRequest): Charge;
  /**
   * Like `Limiter.take`.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const rule = new Limiter().rule({ namespace: "upstream", limit: 10, duration: "1s" });
   * const { success } = await rule.take("api.example.com", { cost: 1, maxWaitMs: 5_000 });
   * ```
   */
  take(identifier: string, request?: RuleTake): Promise<Decision>;
  /**
   * Like `Limiter.reserve`, of this one limit.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const inFlight = new Limiter().rule({ namespace: "in-flight", limit: 10, duration: "1m" });
   * const held = await inFlight.reserve("user_1", { ttl: "30s", autoRenew: true });
   * if (held.success) await held.release();
   * ```
   */
  reserve(identifier: string, request?: RuleRequest & ReserveOptions): Promise<Reservation>;
  /**
   * Like `Limiter.inspect`, with the limit of the rule.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const rule = new Limiter().rule({ namespace: "api", limit: 100, duration: "1m" });
   * const { remaining } = rule.inspect("user_1");
   * ```
   */
  inspect(identifier: string): Inspection;
}

const RULE_KNOWN: readonly (keyof RuleOptions)[] = ["workspace", "namespace", "limit", "duration"];

const TAKE_KNOWN: readonly (keyof TakeOptions)[] = ["maxWaitMs", "signal"];

const READY_KNOWN: readonly (keyof ReadyOptions)[] = ["timeoutMs"];

export class Limiter {
  readonly #stack: Stack;
  readonly #reservations: Reservations;
  /** Exists where somebody listens. */
  readonly #watch: Watch | null;
  /** Requests that wait in line. */
  readonly #takes: Takes;
  /** Requests that wait for the origin. */
  readonly #waiting = new UnderWay();
  /** Settles when a close that is under way is done; undefined while open. */
  #closing: Promise<CloseReport> | undefined;

  /**
   * @throws SluiceError if an option is invalid, or contradicts another one.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter({ cellsMax: 100_000 });
   * ```
   */
  constructor(options: LimiterOptions = {}) {
    const settings = readOptions(options);
    const { onEvent, clock, timers } = settings;
    this.#stack = new Stack(settings);
    this.#takes = new Takes(this.#stack.engine, { clock, timers, decide: (item) => this.#decideItem(item) });
    this.#reservations = new Reservations(this.#stack, settings);
    this.#watch = onEvent === null ? null : new Watch(this.#stack, onEvent, clock, timers);
  }

  /**
   * Decides one request, and counts its cost if it is allowed. A denial is a value: the promise is rejected for misuse
   * only, with a SluiceError.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const { success, retryAfterMs } = await limiter.limit({ namespace: "api", identifier: "user_1", limit: 100, duration: "1m" });
   * if (!success) console.log(`try again in ${retryAfterMs} ms`);
   * ```
   */
  async limit(request: LimitRequest): Promise<Decision> {
    return this.decide(request);
  }

  /**
   * `limit` without a promise where none is needed: a decision if memory suffices, a promise if the origin must be read.
   *
   * @throws SluiceError if the request is invalid, or the limiter is closed. Nothing was counted.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const answer = limiter.decide({ namespace: "api", identifier: "user_1", limit: 100, duration: "1m" });
   * const decision = answer instanceof Promise ? await answer : answer;
   * ```
   */
  decide(request: LimitRequest): Decision | Promise<Decision> {
    this.#checkOpen();
    checkRequest(request);
    // Every field is read once and first: a getter that asks this limiter again must not change the scope below.
    const { workspace, namespace, identifier, duration, limit, cost = 1 } = request;
    checkLimit(limit);
    checkCost(cost);
    return this.#decide(this.#stack.engine.scopes.find(workspace, namespace, duration), identifier, limit, cost);
  }

  /**
   * Decides 1 to 1000 requests together: all are counted, or none. Rejected for misuse only.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const user = { namespace: "api", identifier: "user_1", limit: 100, duration: "1m" } as const;
   * const { success, decisions } = await limiter.limitMany([user, { ...user, identifier: "all", limit: 1_000 }]);
   * ```
   */
  async limitMany(requests: readonly LimitRequest[]): Promise<BatchDecision> {
    return this.decideMany(requests);
  }

  /**
   * `limitMany` without a promise where none is needed.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const user = { namespace: "api", identifier: "user_1", limit: 100, duration: "1m" } as const;
   * const answer = limiter.decideMany([user, { ...user, identifier: "all", limit: 1_000 }]);
   * const { success } = answer instanceof Promise ? await answer : answer;
   * ```
   */
  decideMany(requests: readonly LimitRequest[]): BatchDecision | Promise<BatchDecision> {
    this.#checkOpen();
    const items = this.#items(requests);
    const answer = decideBatch(this.#stack.engine, items, []);
    this.#stack.wake();
    return isDecision(answer) ? answer : this.#waiting.add(this.#readAndDecideMany(items, answer));
  }

  /**
   * Counts a cost that is known after the work: tokens, bytes, seconds, failed logins. It is counted whether it fits or not, in memory
   * and at once; the answer says whether the key is still within its limit, as far as this process knows. The fields are those of
   * `limit`: a charge and a request with the same key count together.
   *
   * @throws SluiceError if the request is invalid, or the limiter is closed. Nothing was counted.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const tokens = { namespace: "tokens", identifier: "user_1", limit: 10_000, duration: "1m" } as const;
   * const { success, over } = limiter.charge({ ...tokens, cost: 1_234 });
   * if (!success) console.log(`${over} tokens beyond the limit`);
   * ```
   */
  charge(request: LimitRequest): Charge {
    this.#checkOpen();
    checkRequest(request);
    const { workspace, namespace, identifier, duration, limit, cost = 1 } = request;
    checkLimit(limit);
    checkCost(cost);
    return this.#charge(this.#stack.engine.scopes.find(workspace, namespace, duration), identifier, limit, cost);
  }

  /**
   * Charges 1 to 1000 requests: every one is counted, whether it fits or not.
   *
   * @throws SluiceError if a request is invalid, or the limiter is closed. Nothing was counted.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const user = { namespace: "tokens", identifier: "user_1", limit: 10_000, duration: "1m", cost: 1_234 } as const;
   * const { success, decisions } = limiter.chargeMany([user, { ...user, duration: "1d", limit: 100_000 }]);
   * ```
   */
  chargeMany(requests: readonly LimitRequest[]): ChargesDecision {
    this.#checkOpen();
    const answer = chargeAll(this.#stack.engine, this.#items(requests));
    this.#stack.wake();
    return answer;
  }

  /**
   * Waits until the cost fits, and counts it: for outgoing calls, jobs and scripts. First come, first served per key within this process.
   *
   * Resolves with the decision. It is denied with the reason `timeout` if it does not fit within `maxWaitMs` (at once if that is
   * known), `cost` if it can never fit, and `waiters` if 1,000 takes of the key, or 10,000 in all, wait already. Rejected for misuse,
   * with the reason of `signal` if that aborts, and with `RL_CLOSED` if the limiter closes. A waiting take keeps the process alive.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const upstream = { namespace: "upstream", identifier: "api.example.com", limit: 10, duration: "1s" } as const;
   * const { success } = await limiter.take(upstream, { maxWaitMs: 5_000, signal: AbortSignal.timeout(10_000) });
   * ```
   */
  async take(request: LimitRequest, options: TakeOptions = {}): Promise<Decision> {
    this.#checkOpen();
    checkKnown(options, TAKE_KNOWN);
    const patience = patienceOf(options);
    return this.#takes.take(this.#item(request), patience);
  }

  /**
   * A rule: one limit for many identifiers.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const perUser = limiter.rule({ namespace: "api", limit: 100, duration: "1m" });
   * const { success } = await perUser.limit("user_1");
   * ```
   */
  rule(options: RuleOptions): Rule {
    this.#checkOpen();
    checkKnown(options, RULE_KNOWN, "rule");
    const { limit } = options;
    checkLimit(limit);
    const scope = this.#stack.engine.scopes.create(options.workspace, options.namespace, options.duration);
    const ask = (identifier: string, request?: RuleRequest): Decision | Promise<Decision> => {
      this.#checkOpen();
      const cost = request === undefined ? 1 : costOf(request);
      return this.#decide(scope, identifier, limit, cost);
    };
    const count = (identifier: string, request?: RuleRequest): Charge => {
      this.#checkOpen();
      const cost = request === undefined ? 1 : costOf(request);
      return this.#charge(scope, identifier, limit, cost);
    };
    return {
      decide: ask,
      limit: async (identifier, request) => ask(identifier, request),
      charge: count,
      take: async (identifier, request = {}) => {
        this.#checkOpen();
        if (typeof request !== "object" || request === null) {
          throw new SluiceError("RL_REQUEST_INVALID", "request", request);
        }
        checkKnown(request, ["cost", ...TAKE_KNOWN], "request");
        const { cost = 1 } = request;
        checkCost(cost);
        const item = batchItem(this.#stack.engine, scope, identifier, limit, cost);
        return this.#takes.take(item, patienceOf(request));
      },
      reserve: async (identifier, request = {}) => {
        const { cost = 1, ttl, autoRenew } = request;
        checkKnown(request, ["cost", "ttl", "autoRenew"], "request");
        checkCost(cost);
        this.#checkOpen();
        if (cost === 0) throw new SluiceError("RL_COST_INVALID", "cost", cost, RESERVED_COST);
        const item = { ...this.#stack.engine.hashed(scope, identifier), limit, cost };
        const terms = { ...termsOf({ ttl, autoRenew }), isList: false };
        return this.#waiting.add(this.#reservations.reserve<number>([item], terms));
      },
      inspect: (identifier) => inspect(this.#stack.engine, scope, identifier, limit),
    };
  }

  /**
   * Holds an estimated cost while work runs: of one limit, or of 1 to 16 limits, all of them or none. With an origin that keeps holds (Redis, memory,
   * the parent of workers) it is shared by the processes of the region. Always resolves with a {@link Reservation}; a denial is a value. Rejected for
   * misuse only.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const user = { namespace: "requests", identifier: "user_1", limit: 60, duration: "1m" } as const;
   * const held = await limiter.reserve([user, { ...user, namespace: "tokens", limit: 10_000, cost: 800 }], { ttl: "2m" });
   * if (held.success) await held.settle([1, 1_234]);
   * ```
   */
  reserve(request: LimitRequest, options?: ReserveOptions): Promise<Reservation>;
  reserve(requests: readonly LimitRequest[], options?: ReserveOptions): Promise<Reservation<readonly number[]>>;
  async reserve(
    given: LimitRequest | readonly LimitRequest[],
    options: ReserveOptions = {},
  ): Promise<Reservation | Reservation<readonly number[]>> {
    this.#checkOpen();
    const isList = Array.isArray(given);
    const requests = (isList ? given : [given]) as readonly LimitRequest[];
    if (requests.length === 0 || requests.length > RESERVE_MAX) {
      throw new SluiceError("RL_RESERVE_INVALID", "requests", given);
    }
    const items = isList ? this.#items(requests) : [this.#item(requests[0])];
    items.forEach(({ cost }, i) => {
      if (cost === 0)
        throw new SluiceError("RL_COST_INVALID", isList ? `requests[${i}].cost` : "cost", cost, RESERVED_COST);
    });
    const terms = { ...termsOf(options), isList };
    if (isList) return this.#waiting.add(this.#reservations.reserve<readonly number[]>(items, terms));
    return this.#waiting.add(this.#reservations.reserve<number>(items, terms));
  }

  /**
   * Counts what the work of a reservation really cost, and frees it, by its token (`Reservation.id`): in any process of the region. Repeating it counts once.
   * Rejected if the id is not known, was released, or was settled with another amount; nothing is counted then.
   *
   * @example
   * ```ts
   * import { Limiter, memoryOrigin } from "sluice";
   *
   * const origin = memoryOrigin();
   * const [api, worker] = [new Limiter({ origin }), new Limiter({ origin })];
   * const { id } = await api.reserve({ namespace: "tokens", identifier: "user_1", limit: 10_000, duration: "1m", cost: 800 });
   * const { counted } = await worker.settle(id, 1_234);
   * ```
   */
  settle(id: string, actual: number): Promise<Settlement>;
  settle(id: string, actuals: readonly number[]): Promise<Settlement<readonly number[]>>;
  async settle(id: string, actual: number | readonly number[]): Promise<Settlement | Settlement<readonly number[]>> {
    this.#checkOpen();
    return this.#waiting.add(this.#reservations.settleToken(id, actual)) as Promise<Settlement>;
  }

  /**
   * Frees a reservation by its token, and counts nothing.
   *
   * @example
   * ```ts
   * import { Limiter, memoryOrigin } from "sluice";
   *
   * const limiter = new Limiter({ origin: memoryOrigin() });
   * const { id } = await limiter.reserve({ namespace: "jobs", identifier: "user_1", limit: 10, duration: "1m" });
   * await limiter.release(id);
   * ```
   */
  async release(id: string): Promise<void> {
    this.#checkOpen();
    return this.#waiting.add(this.#reservations.releaseToken(id));
  }

  /**
   * Moves the deadline of a reservation to `ttl` from now, by its token. Resolves with the new deadline in Unix milliseconds, or 0 if the origin is
   * unavailable. Rejected if the reservation is over: it never lives again.
   *
   * @example
   * ```ts
   * import { Limiter, memoryOrigin } from "sluice";
   *
   * const limiter = new Limiter({ origin: memoryOrigin() });
   * const { id } = await limiter.reserve({ namespace: "jobs", identifier: "user_1", limit: 10, duration: "1m" }, { ttl: "30s" });
   * const expiresAt = await limiter.renew(id, { ttl: "30s" });
   * ```
   */
  async renew(id: string, options: Pick<ReserveOptions, "ttl"> = {}): Promise<number> {
    this.#checkOpen();
    checkKnown(options, ["ttl"]);
    return this.#waiting.add(this.#reservations.renewToken(id, ttlOf(options.ttl)));
  }

  /**
   * Explains a key: both cells, their weight, the effective count, what would be allowed now. Counts nothing.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const { effective, remaining } = limiter.inspect({ namespace: "api", identifier: "user_1", limit: 100, duration: "1m" });
   * ```
   */
  inspect(request: InspectRequest): Inspection {
    checkRequest(request);
    const { workspace, namespace, identifier, duration, limit } = request;
    if (limit !== undefined) checkLimit(limit);
    return inspect(
      this.#stack.engine,
      this.#stack.engine.scopes.find(workspace, namespace, duration),
      identifier,
      limit,
    );
  }

  /**
   * The time by which this limiter decides: Unix milliseconds, as `reset` has them. With the real clock it is the time of day, except for
   * some seconds after that was set back.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const { reset } = await limiter.limit({ namespace: "api", identifier: "user_1", limit: 100, duration: "1m" });
   * const secondsLeft = Math.ceil((reset - limiter.now()) / 1_000);
   * ```
   */
  now(): number {
    return this.#stack.engine.clock.nowMs();
  }

  /**
   * Resolves `true` once this process has read what the other regions have counted, and `false` if that has not happened within
   * `timeoutMs` or before `close()`. Until then, allows in windows that the regions share are `degraded`. Without a global layer it
   * resolves `true` at once. An outage never rejects it; invalid options do, with a SluiceError.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * if (!(await limiter.ready({ timeoutMs: 2_000 }))) console.log("the other regions have not been read yet");
   * ```
   */
  async ready(options: ReadyOptions = {}): Promise<boolean> {
    checkKnown(options, READY_KNOWN);
    const { timeoutMs = READY_TIMEOUT_DEFAULT_MS } = options;
    checkInterval(timeoutMs, "timeoutMs", 0, READY_TIMEOUT_MAX_MS);
    return this.#stack.ready(timeoutMs);
  }

  /**
   * Counters since the start, and gauges of now.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const { decisions } = limiter.stats();
   * console.log(decisions.allowed, decisions.denied.limit);
   * ```
   */
  stats(): Stats {
    return readStats(this.#stack, this.#reservations);
  }

  /**
   * Stops: later requests are refused with `RL_CLOSED`. What is not yet replayed or published is sent to the
   * stores first, for up to `closeTimeoutMs`; the report says what was lost. Closing again gives the same report.
   *
   * @example
   * ```ts
   * import { Limiter } from "sluice";
   *
   * const limiter = new Limiter();
   * const { lost } = await limiter.close();
   * if (lost > 0) console.log(`${lost} units of accepted cost were not saved`);
   * ```
   */
  close(): Promise<CloseReport> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #decide(scope: Scope, identifier: string, limit: number, cost: number): Decision | Promise<Decision> {
    const decision = decide(this.#stack.engine, scope, identifier, limit, cost, null);
    this.#stack.wake();
    return decision ?? this.#waiting.add(this.#askAndDecide(scope, identifier, limit, cost));
  }

  #decideItem({ key, limit, cost }: BatchItem): Decision | Promise<Decision> {
    const { workspace, namespace, identifier, durationMs } = key;
    return this.#decide(this.#stack.engine.scopes.find(workspace, namespace, durationMs), identifier, limit, cost);
  }

  #charge(scope: Scope, identifier: string, limit: number, cost: number): Charge {
    const answer = charge(this.#stack.engine, scope, identifier, limit, cost);
    this.#stack.wake();
    return answer;
  }

  /** Whoever waits when the limiter closes is still answered, and what it counts is replayed with the rest. */
  async #close(): Promise<CloseReport> {
    const letGo = this.#stack.stayAlive();
    this.#takes.close();
    await this.#waiting.settled();
    const unsettled = await this.#reservations.close(this.#stack.closeTimeoutMs);
    const { lost } = await this.#stack.close();
    const report = { lost: lost + unsettled };
    this.#watch?.close(report.lost);
    letGo();
    return report;
  }

  /** The origin decides, if it can and there is something to count; otherwise it is read, and memory decides. */
  #askAndDecide(scope: Scope, identifier: string, limit: number, cost: number): Promise<Decision> {
    const { admission, holds } = this.#regional;
    const { held } = this.#stack.engine;
    if (holds !== null && held !== null) {
      const hashed = this.#stack.engine.hashed(scope, identifier);
      if (held.find(hashed) !== undefined) return this.#lookAndDecide(holds, hashed.key, limit, cost);
    }
    const admitted =
      admission === null || cost === 0
        ? null
        : admission.decide(this.#stack.engine.hashed(scope, identifier), limit, cost);
    return admitted ?? this.#readAndDecide(keyOf(scope, identifier), limit, cost);
  }

  /** Looks at both cells and the holds of a key, and decides by that. */
  async #lookAndDecide({ looks }: RegionalHolds, key: Key, limit: number, cost: number): Promise<Decision> {
    const { decision, waited } = await looks.decide(key, limit, cost);
    const { nearLimit } = this.#regional;
    if (nearLimit === null) return decision;
    const [answer] = await reported(nearLimit, this.#stack.engine.tally, [{ key, cost }], [decision], [waited]);
    return answer!;
  }

  /** Reads the origin once, then decides. */
  async #readAndDecide(key: Key, limit: number, cost: number): Promise<Decision> {
    const { workspace, namespace, durationMs, identifier } = key;
    // Without room for its key, a request reads although the origin could admit it. A slot that the read took would count beside a call.
    const mayAdmit = this.#regional.admission !== null && cost > 0;
    const read = await this.#regional.read(key, cost > 0 && !mayAdmit);
    const { engine } = this.#stack;
    const scope = engine.scopes.find(workspace, namespace, durationMs);
    const admitted = mayAdmit
      ? this.#regional.admission.decide(engine.hashed(scope, identifier), limit, cost, read.arrivedMs)
      : null;
    if (admitted !== null) return admitted;
    const decision = decide(engine, scope, identifier, limit, cost, read);
    if (decision === null) {
      const { holds } = this.#regional;
      assert(holds !== null, "a request that has waited is decided, unless the read told of holds");
      return this.#lookAndDecide(holds, key, limit, cost);
    }
    const { nearLimit } = this.#regional;
    if (nearLimit === null) return decision;
    const [answer] = await reported(nearLimit, engine.tally, [{ key, cost }], [decision], [read]);
    return answer!;
  }

  /** Reads the items that need it in one round, then decides. */
  async #readAndDecideMany(items: readonly BatchItem[], awaited: Awaited, rounds = 1): Promise<BatchDecision> {
    const wanted = items.filter((_, i) => awaited[i] === null);
    const keys = wanted.map((item) => ({
      key: item.key,
      mayClaim: items.some((one) => one.cost > 0 && isSameCell(one, item)),
    }));
    const reads = [...(await this.#readOrLook(keys, rounds >= LOOKS_MAX))];
    const waited = awaited.map((known) => known ?? reads.shift()!);
    const answer = decideBatch(this.#stack.engine, items, waited);
    // An item does not fit beside holds that its read told of, or only because of what was accepted since its look.
    if (!isDecision(answer)) return this.#readAndDecideMany(items, answer, rounds + 1);
    const { nearLimit } = this.#regional;
    if (nearLimit === null || !answer.success) return answer;
    const { tally } = this.#stack.engine;
    return { success: true, decisions: await reported(nearLimit, tally, items, answer.decisions, waited) };
  }

  /** Reads keys in one round; keys with known holds are looked at. */
  async #readOrLook(
    keys: readonly { readonly key: Key; readonly mayClaim: boolean }[],
    isLast: boolean,
  ): Promise<readonly Waited[]> {
    const { engine } = this.#stack;
    const { holds } = this.#regional;
    const isHeld = ({ key }: { readonly key: Key }) =>
      holds !== null && engine.held !== null && engine.held.find(engine.hashedKey(key)) !== undefined;
    const plain = keys.filter((one) => !isHeld(one));
    const looked = keys.filter(isHeld).map(({ key, mayClaim }) => holds!.looks.look(key, mayClaim));
    const [reads, looks] = await Promise.all([
      plain.length === 0 ? [] : this.#regional.readMany(plain),
      Promise.all(looked),
    ]);
    const [nextRead, nextLook] = [reads[Symbol.iterator](), looks[Symbol.iterator]()];
    const wasHeld = new Set(keys.filter((one) => !plain.includes(one)));
    return keys.map((one) => lastIf(isLast, (wasHeld.has(one) ? nextLook : nextRead).next().value!));
  }

  get #regional(): RegionalLayer {
    const { regional } = this.#stack;
    assert(regional !== null, "only a regional layer asks for reads");
    return regional;
  }

  /** Every item is checked before any is counted. */
  #items(requests: readonly LimitRequest[]): readonly BatchItem[] {
    if (!Array.isArray(requests) || requests.length === 0 || requests.length > BATCH_MAX) {
      throw new SluiceError("RL_BATCH_INVALID", "requests", requests);
    }
    const items: BatchItem[] = [];
    for (let i = 0; i < requests.length; i++) {
      try {
        items.push(this.#item(requests[i]));
      } catch (error) {
        throw error instanceof SluiceError ? error.within(`requests[${i}]`) : error;
      }
    }
    return items;
  }

  #item(request: LimitRequest | undefined): BatchItem {
    checkRequest(request);
    const { workspace, namespace, identifier, duration, limit, cost = 1 } = request;
    checkLimit(limit);
    checkCost(cost);
    const engine = this.#stack.engine;
    return batchItem(engine, engine.scopes.find(workspace, namespace, duration), identifier, limit, cost);
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new SluiceError("RL_CLOSED", "limiter", "closed");
  }
}

const RESERVED_COST = { rule: "an integer from 1 to 1099511627776 (2^40): a reservation holds something" };

function termsOf(options: ReserveOptions): { readonly ttlMs: number; readonly autoRenew: boolean } {
  checkKnown(options, ["ttl", "autoRenew"]);
  const { ttl, autoRenew = false } = options;
  if (typeof autoRenew !== "boolean") throw new SluiceError("RL_OPTIONS_INVALID", "autoRenew", autoRenew);
  return { ttlMs: ttlOf(ttl), autoRenew };
}

function ttlOf(ttl: Duration | undefined): number {
  if (ttl === undefined) return TTL_DEFAULT_MS;
  let ttlMs: number;
  try {
    ttlMs = parseDuration(ttl, "ttl");
  } catch {
    throw new SluiceError("RL_TTL_INVALID", "ttl", ttl);
  }
  if (ttlMs > TTL_MAX_MS) throw new SluiceError("RL_TTL_INVALID", "ttl", ttl);
  return ttlMs;
}

/** The cost of a rule's request. Only where none is named is there time to look for a misspelt one. */
function costOf(request: RuleRequest): number {
  if (request === null || typeof request !== "object") throw new SluiceError("RL_REQUEST_INVALID", "request", request);
  const { cost } = request;
  if (cost === undefined) {
    checkKnown(request, ["cost"], "request");
    return 1;
  }
  checkCost(cost);
  return cost;
}

function patienceOf({ maxWaitMs, signal }: TakeOptions): Patience {
  if (maxWaitMs !== undefined) checkInterval(maxWaitMs, "maxWaitMs", 0, TAKE_WAIT_MAX_MS);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new SluiceError("RL_SIGNAL_INVALID", "signal", signal);
  }
  return { maxWaitMs: maxWaitMs ?? Number.POSITIVE_INFINITY, signal };
}

function isDecision(answer: BatchDecision | Awaited): answer is BatchDecision {
  return !Array.isArray(answer);
}
