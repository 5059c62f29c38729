/**
 * The brake on failed authentication: requests with unknown keys have a budget per client network. Beyond it they are answered late.
 *
 * Keys are looked up before, so that a valid key is never refused, whatever its neighbours do. Bounds: NETWORKS_MAX budgets of some 200
 * bytes; `delayedMax` late answers at a time, each of which holds its connection for DELAY_MS. A budget is forgotten only when it is
 * whole again; while there is none to forget, all further networks share one.
 */

import { Problem } from "../../contract/problem.ts";
import type { Log } from "../../log/log.ts";
import { networkOf } from "./client-network.ts";

/** Unknown keys at once, and per second after that: more than clients with a revoked key send by mistake before somebody notices. */
const BURST = 100;
const PER_SECOND = 10;
/** Until a budget is whole again. */
const WHOLE_AGAIN_MS = (BURST / PER_SECOND) * 1_000;
const NETWORKS_MAX = 4_096;
const DELAY_MS = 1_000;
const DELAYED_MAX = 100;
/** Of the connections, so that late answers leave most of them to others. */
const DELAYED_SHARE = 1 / 10;
const LOG_EVERY_MS = 10_000;

interface Budget {
  left: number;
  atMs: number;
  /** Since it was made. */
  failures: number;
}

export class AuthenticationBrake {
  readonly #log: Log;
  readonly #delayedMax: number;
  /** By network; the one that has not failed for the longest time is the first. */
  readonly #budgets = new Map<string, Budget>();
  readonly #shared: Budget = { left: BURST, atMs: 0, failures: 0 };
  #delayed = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #failuresSinceLog = 0;

  constructor(log: Log, connectionsMax: number) {
    this.#log = log;
    this.#delayedMax = Math.min(DELAYED_MAX, Math.floor(connectionsMax * DELAYED_SHARE));
  }

  /** Counts a request with an unknown key. Returns the problem to answer late, if its network has used its budget. */
  failed(address: string | undefined, nowMs: number): Problem | undefined {
    const network = networkOf(address);
    const budget = this.#budgetOf(network, nowMs);
    budget.left = Math.min(BURST, budget.left + ((nowMs - budget.atMs) * PER_SECOND) / 1_000);
    budget.atMs = nowMs;
    budget.failures += 1;
    this.#failuresSinceLog += 1;
    if (budget.left >= 1) {
      budget.left -= 1;
      return undefined;
    }
    this.#report(network, budget.failures, nowMs);
    const detail = "Too many requests with unknown keys from this address. Requests with a valid key are not affected.";
    return new Problem("authentication_failures", detail, { retryAfterS: WHOLE_AGAIN_MS / 1_000 });
  }

  /** Answers after the delay; at once if too many answers wait. */
  delay(answer: () => void): void {
    if (this.#delayed >= this.#delayedMax) {
      answer();
      return;
    }
    this.#delayed += 1;
    setTimeout(() => {
      this.#delayed -= 1;
      answer();
    }, DELAY_MS);
  }

  #budgetOf(network: string, nowMs: number): Budget {
    const known = this.#budgets.get(network);
    if (known === undefined && this.#budgets.size >= NETWORKS_MAX && !this.#forgetOne(nowMs)) return this.#shared;
    const budget = known ?? { left: BURST, atMs: nowMs, failures: 0 };
    this.#budgets.delete(network);
    this.#budgets.set(network, budget);
    return budget;
  }

  #forgetOne(nowMs: number): boolean {
    const [network, { atMs }] = this.#budgets.entries().next().value!;
    return nowMs - atMs >= WHOLE_AGAIN_MS && this.#budgets.delete(network);
  }

  /** Never the key: it may be a valid one with a typing error. */
  #report(address: string, failures: number, nowMs: number): void {
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#log.warn("authentication.failing", { address, failures, failuresOfAll: this.#failuresSinceLog });
    this.#loggedAtMs = nowMs;
    this.#failuresSinceLog = 0;
  }
}
