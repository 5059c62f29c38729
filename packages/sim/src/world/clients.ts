/**
 * The clients of a world: who asks what, where and when.
 *
 * They know nothing of faults: a process that is down is asked in vain, one that is frozen lets its callers wait. Answers go
 * into the history as the caller got them.
 */
import type { BatchDecision, Decision, LimitRequest } from "sluice";
import type { History } from "../model/history.ts";
import type { WorldKey, WorldOptions } from "../model/options.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Life } from "./process.ts";

export interface ClientsOptions {
  readonly options: WorldOptions;
  readonly queue: EventQueue;
  readonly history: History;
  readonly random: SeededRandom;
  /** For what only worlds with features draw. */
  readonly featureRandom: SeededRandom;
  /** The processes of each region, by number; undefined while one is down. */
  readonly lives: readonly (readonly (Life | undefined)[])[];
  /** Workspaces that ask nothing: their requests are drawn and dropped. */
  readonly silent: ReadonlySet<string>;
}

/** Requests of a burst, at the most. */
const BURST_MAX = 60;
/** How much of the floor an adversary uses: just under it. */
const UNDER_FLOOR = 0.95;
/** The floor that an adversary guesses where it follows the number of regions: 0.02 / (2 * (3 - 1)). */
const FLOOR_GUESS = 0.005;

/** A herd comes this long after a window began: the window is on every clock, and nothing of it has been told. */
const HERD_AFTER_MS = 1;

/** In a world whose limits change: what a limit is multiplied by, and how many changes there are per window of the first key. */
const LIMIT_FACTORS = [0.02, 0.1, 0.5, 1, 1, 2, 10] as const;
const CHANGES_PER_WINDOW = 3;
/** In a world of oversized costs: the part of all requests that ask for half of the limit up to twice the limit. */
const OVERSIZED = 0.5;

export class Clients {
  asked = 0;
  answered = 0;
  isAsking = true;
  readonly #options: WorldOptions;
  readonly #queue: EventQueue;
  readonly #history: History;
  readonly #random: SeededRandom;
  readonly #featureRandom: SeededRandom;
  readonly #lives: ClientsOptions["lives"];
  readonly #silent: ReadonlySet<string>;
  #turn = 0;
  /** What an adversary has spent: by region, key and window. */
  readonly #spent = new Map<string, number>();
  /** What the limits are multiplied by now, by key, and when the next one changes. */
  readonly #factors = new Map<WorldKey, number>();
  #changesAtMs = 0;

  constructor({ options, queue, history, random, featureRandom, lives, silent }: ClientsOptions) {
    this.#options = options;
    this.#queue = queue;
    this.#history = history;
    this.#random = random;
    this.#featureRandom = featureRandom;
    this.#lives = lives;
    this.#silent = silent;
  }

  begin(): void {
    this.#next();
  }

  #next(): void {
    if (!this.isAsking) return;
    const { shape, perSecond } = this.#options.traffic;
    if (shape === "herd") {
      this.#nextHerd();
      return;
    }
    const isBurst = shape === "bursty";
    const count = isBurst ? this.#random.between(1, BURST_MAX) : 1;
    const waitMs = this.#random.wait((count * 1_000) / perSecond);
    this.#queue.after(waitMs, () => {
      if (!this.isAsking) return;
      const region = this.#region();
      const index = this.#random.between(0, this.#options.processes - 1);
      for (let i = 0; i < count; i++) this.#ask(region, index);
      this.#next();
    });
  }

  /** Clients that all know when a window begins: what one window is asked for comes in its first instant, everywhere. */
  #nextHerd(): void {
    const { regions, processes, keys, traffic } = this.#options;
    const { durationMs } = keys[0]!;
    const count = Math.ceil((traffic.perSecond * durationMs) / 1_000);
    const askOnce = (i: number) => {
      if (!this.isAsking) return;
      this.#ask(i % regions, Math.floor(i / regions) % processes);
      this.#queue.after(0, () => (i + 1 < count ? askOnce(i + 1) : this.#next()));
    };
    const startMs = Math.ceil(this.#queue.nowMs / durationMs) * durationMs + HERD_AFTER_MS;
    this.#queue.at(startMs, () => askOnce(0));
  }

  #region(): number {
    const { regions, traffic } = this.#options;
    if (traffic.shape === "even") return this.#turn++ % regions;
    if (traffic.shape === "one-region" && !this.#random.chance(0.05)) return 0;
    return this.#random.between(0, regions - 1);
  }

  /** One request of the usual kind to one process. */
  askProcess(region: number, index: number): void {
    this.#ask(region, index);
  }

  #ask(region: number, index: number): void {
    const life = this.#lives[region]?.[index];
    if (life === undefined || life.state !== "running") return;
    const { batches, shape } = this.#options.traffic;
    const isBatch = this.#random.chance(batches);
    const requests = Array.from({ length: isBatch ? this.#random.between(1, 4) : 1 }, () => this.#request());
    if (shape === "under-floor" && !this.#isUnderFloor(region, requests)) return;
    this.askLife(life, requests, isBatch);
  }

  /** Asks one life, whatever it is doing: a frozen one is asked when it thaws. */
  askLife(life: Life, requests: readonly LimitRequest[], isBatch: boolean): void {
    if (requests.some(({ workspace }) => this.#silent.has(workspace ?? ""))) return;
    const askedAtMs = this.#queue.nowMs;
    this.asked++;
    life.waiting++;
    life.deliver(() => {
      if (life.state !== "running") {
        life.waiting--;
        return;
      }
      const before = life.messages;
      const answer = isBatch ? life.limiter.decideMany(requests) : life.limiter.decide(requests[0]!);
      if (answer instanceof Promise) {
        answer.then(
          (late) => this.#answered(life, requests, late, askedAtMs, 0),
          (error: unknown) => {
            throw new Error("a request was rejected", { cause: error });
          },
        );
      } else {
        this.#answered(life, requests, answer, askedAtMs, life.messages - before);
      }
    });
  }

  #request(): LimitRequest {
    const { keys, traffic } = this.#options;
    const key = this.#random.pick(keys);
    const cost = this.#random.chance(traffic.peeks) ? 0 : this.#random.between(1, traffic.costMax);
    const limit = this.#limitOf(key);
    return requestOf({ ...key, limit }, cost > 0 ? this.#costOf(limit, cost) : 0);
  }

  /** The key's limit as operators have set it now: it falls and rises in the middle of windows. */
  #limitOf(key: WorldKey): number {
    const { keys, features } = this.#options;
    if (features?.includes("limits-changed") !== true) return key.limit;
    const everyMs = keys[0]!.durationMs / CHANGES_PER_WINDOW;
    if (this.#changesAtMs === 0) this.#changesAtMs = this.#queue.nowMs + everyMs;
    for (; this.#changesAtMs <= this.#queue.nowMs; this.#changesAtMs += this.#featureRandom.wait(everyMs)) {
      this.#factors.set(this.#featureRandom.pick(keys), this.#featureRandom.pick(LIMIT_FACTORS));
    }
    return Math.max(1, Math.round(key.limit * (this.#factors.get(key) ?? 1)));
  }

  #costOf(limit: number, cost: number): number {
    const isOversized = this.#options.features?.includes("oversized-costs") === true;
    if (!isOversized || !this.#featureRandom.chance(OVERSIZED)) return cost;
    return this.#featureRandom.between(Math.ceil(limit / 2), 2 * limit);
  }

  #isUnderFloor(region: number, requests: readonly LimitRequest[]): boolean {
    const floor = this.#options.floor ?? FLOOR_GUESS;
    for (const { workspace, namespace, identifier, duration, limit, cost = 1 } of requests) {
      const window = Math.floor(this.#queue.nowMs / Number(duration));
      const name = `${region}/${window}/${workspace}/${namespace}/${identifier}/${duration}`;
      const spent = (this.#spent.get(name) ?? 0) + cost;
      if (spent > Math.max(1, floor * limit * UNDER_FLOOR)) return false;
      this.#spent.set(name, spent);
    }
    return true;
  }

  #answered(
    life: Life,
    requests: readonly LimitRequest[],
    answer: Decision | BatchDecision,
    askedAtMs: number,
    sent: number,
  ): void {
    if (life.state === "dead") return;
    life.waiting--;
    this.answered++;
    const decisions = "decisions" in answer ? answer.decisions : [answer];
    decisions.forEach(({ success, limit, remaining, reset, current, reason, degraded, retryAfterMs }, i) => {
      const { cost = 1, duration } = requests[i]!;
      this.#history.record(this.#queue.nowMs, life.name, {
        kind: "answer",
        success,
        limit,
        cost,
        durationMs: Number(duration),
        remaining,
        reset,
        current,
        reason,
        degraded,
        retryAfterMs,
        waitedMs: this.#queue.nowMs - askedAtMs,
        sent,
      });
    });
  }
}

export function requestOf(
  { workspace, namespace, identifier, durationMs, limit }: WorldKey,
  cost: number,
): LimitRequest {
  return { workspace, namespace, identifier, duration: durationMs, limit, cost };
}
