/**
 * A small world whose every message waits for fast-check's scheduler: processes of one region, an origin whose requests
 * and replies are delivered in any order, and a ledger of the truth that nothing in the world can see.
 *
 * One window, long and half over: the truth of a key is one number, and no share of another window hides a mistake.
 */
import type { Scheduler } from "fast-check";
import {
  type Decision,
  type DecisionEvent,
  Limiter,
  memoryOrigin,
  type Origin,
  type OriginCount,
  type Raise,
  type Read,
  type TraceEvent,
} from "sluice";
import { ManualTime } from "../support/manual-time.ts";
import { keyText } from "../support/processes.ts";
import { SeededRandom } from "../support/seeded-random.ts";

export type Fault = "none" | "refused" | "deaf";

export type Action =
  | { readonly kind: "limit"; readonly by: number; readonly key: string; readonly cost: number; readonly limit: number }
  | { readonly kind: "batch"; readonly by: number; readonly items: readonly Item[] }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "close"; readonly by: number };

interface Item {
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
}

const HOUR_MS = 3_600_000;
const FRESH_MS = 5_000;
export const KEYS: readonly string[] = ["a", "b"];

/** What a process has heard of a key, by the moments at which the calls began. */
interface Heard {
  anyBeganMs: number;
  readBeganMs: number;
  /** The moments at which the process denied it, in order. */
  readonly deniedMs: number[];
}

interface Member {
  readonly limiter: Limiter;
  readonly heard: Map<string, Heard>;
  lost: number | undefined;
}

export class InterleavedWorld {
  readonly time: ManualTime = new ManualTime();
  readonly members: readonly Member[];
  /** What went wrong. Collected, because an exception inside a limiter's own callbacks would be swallowed. */
  readonly wrongs: string[] = [];
  /** Until set, messages travel at once and nothing fails. */
  isWild = false;
  unsettled = 0;
  /** What the caller was told last, and whether it was degraded. */
  isAccepted = true;
  degraded = 0;
  /** Accepted cost by key, as the callers were told. */
  readonly told: Map<string, number> = new Map();
  readonly #truth = new Map<string, number>();
  readonly #store: Origin;
  readonly #scheduler: Scheduler;
  readonly #faults: readonly Fault[];
  /** Whether the origin is like that of workers of one parent. */
  readonly #isNear: boolean;
  #calls = 0;

  constructor(
    scheduler: Scheduler,
    processes: number,
    faults: readonly Fault[],
    isTraced: boolean,
    isNear: boolean = false,
  ) {
    this.#scheduler = scheduler;
    this.#faults = faults;
    this.#isNear = isNear;
    this.time.pass(HOUR_MS / 2);
    this.#store = memoryOrigin({ clock: this.time.clock });
    this.members = Array.from({ length: processes }, (_, i) => this.#start(i, isTraced));
  }

  #start(i: number, isTraced: boolean): Member {
    const heard = new Map(
      KEYS.map((key) => [keyText(key, HOUR_MS), { anyBeganMs: -1, readBeganMs: -1, deniedMs: [] }]),
    );
    const { clock, timers } = this.time;
    const trace = isTraced ? { trace: (event: TraceEvent) => this.#hear(heard, event) } : {};
    const random = new SeededRandom(i + 1);
    const origin: Origin = {
      ...(this.#isNear ? { isNear: true } : {}),
      raise: (raises) => this.#travel("raise", () => this.#store.raise(raises), heard, raises),
      read: (reads) => this.#travel("read", () => this.#store.read(reads), heard, reads),
      close: async () => {},
    };
    const limiter = new Limiter({ cellsMax: 4, origin, clock, timers, random, closeTimeoutMs: 1_000, ...trace });
    return { limiter, heard, lost: undefined };
  }

  async #travel(
    label: "raise" | "read",
    run: () => Promise<readonly OriginCount[]>,
    heard: Map<string, Heard>,
    cells: readonly (Raise | Read)[],
  ): Promise<readonly OriginCount[]> {
    const beganMs = this.time.monoMs;
    // A refresh may ask by a raise, which is answered the same; a flush carries the heartbeat.
    const isRefresh = !cells.some(({ key }) => key.startsWith("heartbeat"));
    const fault = this.isWild ? (this.#faults[this.#calls++ % this.#faults.length] ?? "none") : "none";
    if (this.isWild) await this.#scheduler.schedule(Promise.resolve(), `${label}: request`);
    if (fault === "refused") throw new Error("refused");
    const answer = await run();
    if (this.isWild) await this.#scheduler.schedule(Promise.resolve(), `${label}: reply`);
    if (fault === "deaf") throw new Error("no reply");
    for (const { key } of cells) {
      const known = heard.get(key);
      if (known === undefined) continue;
      known.anyBeganMs = Math.max(known.anyBeganMs, beganMs);
      if (isRefresh) known.readBeganMs = Math.max(known.readBeganMs, beganMs);
    }
    return answer;
  }

  /** Every decision, at the very moment it is made. */
  #hear(heards: Map<string, Heard>, event: TraceEvent): void {
    if (event.kind !== "decision") return;
    const { key, isCounted, cost, batch, effective } = event;
    const truth = this.#truth.get(key) ?? 0;
    if (batch === 0 && effective - cost > truth) this.wrongs.push(`view ${effective - cost} above the truth ${truth}`);
    if (!event.success && batch === 0 && truth + cost <= event.limit) this.wrongs.push("a false denial");
    if (isCounted) this.#truth.set(key, truth + cost);
    const heard = heards.get(key);
    if (heard !== undefined) this.#checkYoung(heard, event);
  }

  /** The invariant "Strict, fresh", to the millisecond of the clock. */
  #checkYoung(heard: Heard, event: DecisionEvent): void {
    const { success, degraded, reason, monoMs, arrivedMs } = event;
    if (reason === "limit") heard.deniedMs.push(monoMs);
    if (!success || degraded || reason !== "allowed") return;
    if (heard.anyBeganMs <= arrivedMs - FRESH_MS) {
      this.wrongs.push(`allowed on data that was ${arrivedMs - heard.anyBeganMs} ms old when the request arrived`);
    }
    // A denial at the very millisecond of the arrival may have come after it.
    const deniedMs = heard.deniedMs.findLast((atMs) => atMs < arrivedMs) ?? -1;
    const isStrict = deniedMs >= 0 && arrivedMs < deniedMs + HOUR_MS;
    if (isStrict && heard.readBeganMs < deniedMs) {
      this.wrongs.push("a strict allow without a read since the last denial before its arrival");
    }
  }

  /** Resolves when the action is answered. */
  async act(action: Action): Promise<void> {
    if (action.kind === "advance") {
      this.time.advanceAtOnce(action.ms);
      return;
    }
    const member = this.members[action.by % this.members.length]!;
    const { limiter } = member;
    if (action.kind === "close") {
      await this.close(member);
    } else if (action.kind === "limit") {
      const { key, cost, limit } = action;
      const asked = limiter.limit({ namespace: "api", identifier: key, duration: HOUR_MS, cost, limit });
      await this.#await(asked.then((decision) => this.#tell(decision.success, [action], [decision])));
    } else {
      const requests = action.items.map(({ key, cost, limit }) => ({
        namespace: "api",
        identifier: key,
        duration: HOUR_MS,
        cost,
        limit,
      }));
      const asked = limiter.limitMany(requests);
      await this.#await(asked.then(({ success, decisions }) => this.#tell(success, action.items, decisions)));
    }
  }

  close(member: Member): Promise<void> {
    const closing = member.limiter.close().then(({ lost }) => {
      member.lost = lost;
    });
    return this.#await(closing);
  }

  /** Delivers everything, with time passing whenever nothing else moves, until all promises have settled. */
  async finish(): Promise<void> {
    for (let i = 0; i < 40; i++) {
      await this.#scheduler.waitIdle();
      if (this.unsettled === 0) return;
      this.time.advanceAtOnce(350);
    }
    this.wrongs.push(`${this.unsettled} promises never settled`);
  }

  /** What holds in the end, when every process is closed: nothing counted twice, nothing hidden. */
  async checkEnd(): Promise<void> {
    const lost = this.members.reduce((sum, member) => sum + (member.lost ?? 0), 0);
    let short = 0;
    for (const key of KEYS) {
      const name = keyText(key, HOUR_MS);
      const cell = { key: name, sequence: Math.floor(this.time.wallMs / HOUR_MS), writer: "" };
      const { sum } = (await this.#store.read([cell]))[0]!;
      const told = this.told.get(key) ?? 0;
      const own = this.members.reduce((total, { limiter }) => total + this.own(limiter, key), 0);
      if (own !== told) this.wrongs.push(`counted ${own} of key ${key}, told the callers ${told}`);
      if (sum > told) this.wrongs.push(`the origin has ${sum} of key ${key}, accepted were ${told}`);
      short += told - sum;
    }
    if (short > lost) this.wrongs.push(`${short} never reached the origin, close reported ${lost}`);
  }

  /** Whether all of these fit what the callers were told so far. */
  fits(items: readonly Item[]): boolean {
    const totals = new Map(this.told);
    return items.every(({ key, cost, limit }) => {
      const total = (totals.get(key) ?? 0) + cost;
      totals.set(key, total);
      return total <= limit;
    });
  }

  own(limiter: Limiter, key: string): number {
    return limiter.inspect({ namespace: "api", identifier: key, duration: HOUR_MS }).current.own;
  }

  /** What the caller was told: if it succeeded, each item fits, and all of them count. */
  #tell(isAccepted: boolean, items: readonly Item[], decisions: readonly Decision[]): void {
    this.isAccepted = isAccepted;
    this.degraded += decisions.filter(({ degraded }) => degraded).length;
    items.forEach(({ key, cost, limit }, i) => {
      const { success, current, remaining, reason } = decisions[i]!;
      if (success && (current > limit || remaining !== limit - current)) this.wrongs.push(`${current} of ${limit} fit`);
      if (isAccepted && reason !== "allowed") this.wrongs.push(`a part of a success is ${reason}`);
      if (isAccepted) this.told.set(key, (this.told.get(key) ?? 0) + cost);
    });
  }

  /** Requests to a limiter that is closed are refused; nothing else may be. */
  #await(promise: Promise<void>): Promise<void> {
    this.unsettled++;
    return promise
      .catch((error: unknown) => {
        if ((error as { code?: string }).code !== "RL_CLOSED") this.wrongs.push(String(error));
      })
      .finally(() => {
        this.unsettled--;
      });
  }
}
