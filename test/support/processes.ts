/** Limiters on time by hand and troubled stores: whole processes of one or more regions, as the specs speak of them. */
import { type Counters, type Decision, Limiter, type LimiterOptions, type LimitRequest } from "sluice";
import { encodeKey } from "../../packages/sluice/src/engine/key.ts";
import { ManualTime } from "./manual-time.ts";
import { SeededRandom } from "./seeded-random.ts";
import { type OriginStore, TroubledCounters, TroubledOrigin } from "./troubled-stores.ts";

export const MINUTE_MS = 60_000;
/** How long a cell of a one-minute window stays fresh: a twentieth. */
export const FRESH_MS = 3_000;
export const FLUSH_MS = 50;

export interface Process {
  readonly limiter: Limiter;
  /** Decides, and lets what needs no time happen. The decision must not need any. */
  ask(fields?: Partial<LimitRequest>): Promise<Decision>;
  /** Decides without waiting at all: undefined if the origin must be read. */
  askNow(fields?: Partial<LimitRequest>): Decision | undefined;
}

/** What stands behind the troubled stores, where it is not memory. */
export interface RealStores {
  /** Called once, and again when the store loses everything. */
  makeCounters?(): Counters;
  /** Called for each region. */
  makeOrigin?(): OriginStore;
}

export class Processes {
  readonly time: ManualTime = new ManualTime();
  readonly origin: TroubledOrigin;
  readonly counters: TroubledCounters;
  readonly #random = new SeededRandom(42);
  readonly #stores: RealStores;

  constructor(stores: RealStores = {}) {
    this.#stores = stores;
    this.origin = this.#makeOrigin();
    this.counters = new TroubledCounters(this.time, stores.makeCounters?.());
  }

  /** The global counters lose every row. */
  loseCounters(): void {
    this.counters.lose(this.#stores.makeCounters?.());
  }

  /** A process of a region, with the origin of this world. */
  start(options: LimiterOptions = {}): Process {
    const { clock, timers } = this.time;
    const limiter = new Limiter({
      cellsMax: 100,
      origin: this.origin,
      clock,
      timers,
      random: this.#random,
      ...options,
    });
    return {
      limiter,
      ask: (fields) => limiter.limit(request(fields)),
      askNow: (fields) => {
        const answer = limiter.decide(request(fields));
        return answer instanceof Promise ? undefined : answer;
      },
    };
  }

  /** A process of a region with an origin of its own and the global counters of this world. */
  startRegion(region: string, options: LimiterOptions = {}): Process & { readonly origin: TroubledOrigin } {
    const origin = this.#makeOrigin();
    return { ...this.start({ region, origin, global: this.counters, ...options }), origin };
  }

  /** The number of the current window. */
  sequence(durationMs: number = MINUTE_MS): number {
    return Math.floor(this.time.wallMs / durationMs);
  }

  #makeOrigin(): TroubledOrigin {
    return new TroubledOrigin(this.time, this.#stores.makeOrigin?.());
  }
}

export function request(fields: Partial<LimitRequest> = {}): LimitRequest {
  return { namespace: "api", identifier: "user_42", limit: 10, duration: "1m", ...fields };
}

/** The name that processes share for the key of `request`. */
export function keyText(identifier = "user_42", durationMs: number = MINUTE_MS): string {
  return encodeKey(keyOf(identifier, durationMs));
}

export function keyOf(identifier = "user_42", durationMs: number = MINUTE_MS) {
  return { workspace: "default", namespace: "api", identifier, durationMs: durationMs as never };
}
