/**
 * What `reserve` resolves with: a decision, and the verbs that end what was held.
 *
 * A denial is a value: nothing is held then, `release` and disposal do nothing, and the other verbs reject. What the verbs do is in
 * reservations.ts.
 */
import type { Duration } from "../core/duration.ts";
import { SluiceError } from "../core/errors.ts";
import type { BatchDecision, Decision } from "../engine/decision.ts";
import type { Lease } from "./lease.ts";

/** How long a reservation lives. */
export interface ReserveOptions {
  /** From 1 s to 1 h, as milliseconds or a string such as `"30s"`; default 5 min. A hold that nobody settles within it is over. */
  readonly ttl?: Duration | undefined;
  /** Renew it while this process lives: a short `ttl` then makes holds safe against crashes. Default false. */
  readonly autoRenew?: boolean | undefined;
}

/** What a settlement did. */
export interface Settlement<Counted = number> {
  /** What was counted: a number, or one number per limit of a list. */
  readonly counted: Counted;
  /** The hold had expired before. It was counted anyway. */
  readonly late: boolean;
  /** It had been settled before with the same amount, and was not counted again. */
  readonly repeated: boolean;
  /** The origin has not answered yet. The settlement is repeated in the background, for up to 9 minutes. */
  readonly pending: boolean;
  /** It was counted by this process, or is pending, because the origin was not available. */
  readonly degraded: boolean;
}

/** What ends, renews and enlarges a reservation: reservations.ts. */
export interface LeaseVerbs {
  tokenOf(lease: Lease): string;
  settle(lease: Lease, amounts: number | readonly number[]): Promise<Settlement<number | readonly number[]>>;
  release(lease: Lease): Promise<void>;
  renew(lease: Lease): Promise<number>;
  extend(lease: Lease, costs: number | readonly number[]): Promise<BatchDecision>;
}

/**
 * A reservation, or its denial. The fields of a decision are those of the first limit that refused, or else of the first limit.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 *
 * const limiter = new Limiter();
 * const held = await limiter.reserve({ namespace: "tokens", identifier: "user_1", limit: 10_000, duration: "1m", cost: 800 });
 * if (held.success) await held.settle(1_234);
 * ```
 */
export class Reservation<Amount = number> implements Decision {
  readonly success: boolean;
  readonly limit: Decision["limit"];
  readonly remaining: Decision["remaining"];
  readonly reset: Decision["reset"];
  readonly current: Decision["current"];
  readonly reason: Decision["reason"];
  readonly source: Decision["source"];
  readonly degraded: Decision["degraded"];
  readonly retryAfterMs: Decision["retryAfterMs"];
  /** One per limit, in the order of the requests. */
  readonly decisions: readonly Decision[];
  readonly #lease: Lease | null;
  readonly #reservations: LeaseVerbs;

  /** Made by `Limiter.reserve`. */
  constructor(reservations: LeaseVerbs, lease: Lease | null, decisions: readonly Decision[]) {
    this.#reservations = reservations;
    this.#lease = lease;
    this.decisions = decisions;
    const { limit, remaining, reset, current, reason, source, degraded, retryAfterMs } =
      decisions.find(({ success }) => !success) ?? decisions[0]!;
    this.success = lease !== null;
    this.limit = limit;
    this.remaining = remaining;
    this.reset = reset;
    this.current = current;
    this.reason = reason;
    this.source = source;
    this.degraded = degraded;
    this.retryAfterMs = retryAfterMs;
  }

  /** The token: with it, any process of the region settles, releases or renews. Empty if `success` is false. */
  get id(): string {
    return this.#lease === null ? "" : this.#reservations.tokenOf(this.#lease);
  }

  /** Unix milliseconds by this process's clock; 0 if `success` is false. */
  get expiresAt(): number {
    return this.#lease?.deadlineMs ?? 0;
  }

  /** Aborted when an automatic renewal finds that the hold is over: a paused process may have missed its deadline. */
  get signal(): AbortSignal {
    return this.#held().signal;
  }

  /** Counts what the work really cost, more or less than was reserved, and frees the hold. Without an amount: what was reserved. */
  async settle(actual?: Amount): Promise<Settlement<Amount>> {
    const lease = this.#held();
    const reserved = lease.isList ? lease.costs : lease.costs[0];
    const amounts = actual === undefined ? reserved : actual;
    return (await this.#reservations.settle(lease, amounts as number | readonly number[])) as Settlement<Amount>;
  }

  /** Frees the hold and counts nothing. */
  async release(): Promise<void> {
    if (this.#lease !== null) await this.#reservations.release(this.#lease);
  }

  /** Moves the deadline to `ttl` from now. Resolves with `expiresAt`, which stays as it was while the origin is unavailable. */
  async renew(): Promise<number> {
    return this.#reservations.renew(this.#held());
  }

  /** Asks for more: all of it is held, or nothing of it. */
  async extend(cost: Amount): Promise<BatchDecision> {
    return this.#reservations.extend(this.#held(), cost as number | readonly number[]);
  }

  /** Releases what was not settled. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#lease !== null && this.#lease.ended === null) await this.#reservations.release(this.#lease);
  }

  #held(): Lease {
    if (this.#lease === null) throw new SluiceError("RL_RESERVATION_DENIED", "reservation", this.reason);
    return this.#lease;
  }
}
