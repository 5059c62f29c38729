/**
 * Looks: both cells and the holds of a key at one instant, for requests that memory would deny only because of holds.
 *
 * Invariant: a request is decided by a look that began after it arrived. There is one look per key at a time, so requests that arrive during
 * one share the next: at most one look per round trip and key, however many are denied.
 */
import type { Sequence } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { withDeadline } from "../core/deadline.ts";
import type { Decision } from "../engine/decision.ts";
import type { Engine } from "../engine/engine.ts";
import type { Waited } from "../engine/gate.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import { nameBytes } from "../engine/name-budget.ts";
import { decide } from "../engine/single.ts";
import type { HoldClient } from "./hold-client.ts";

/** Keys that are looked at, and the bytes of their names, at most: requests of other keys are decided without a look. */
const FLIGHTS_MAX = 10_000;
const FLIGHTS_MAX_BYTES = 32 * 2 ** 20;
const FLIGHT_BYTES = 500;

/** Looks of one request. Only cost that this process accepted meanwhile makes a second one necessary. */
export const LOOKS_MAX = 4;

/** What a look brought. */
type Looked = Omit<Waited, "arrivedMs">;

interface Flight {
  readonly bytes: number;
  readonly now: Promise<Looked>;
  /** For requests that have arrived since it began. */
  next: Promise<Looked> | null;
}

export class Looks {
  readonly #engine: Engine;
  readonly #client: HoldClient;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #readTimeoutMs: number;
  readonly #flights = new Map<string, Flight>();
  #bytes = 0;

  constructor(
    engine: Engine,
    client: HoldClient,
    options: { readonly clock: Clock; readonly timers: Timers; readonly readTimeoutMs: number },
  ) {
    this.#engine = engine;
    this.#client = client;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#readTimeoutMs = options.readTimeoutMs;
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  /** Looks at a key for a request that arrives now: a failure if that takes longer than the read timeout. */
  async look(key: Key, mayClaim: boolean): Promise<Waited> {
    const arrivedMs = this.#clock.monoMs();
    // Somebody waits for it: the deadline keeps the process alive.
    const looked = await withDeadline(
      () => this.#join(key, mayClaim),
      this.#readTimeoutMs,
      this.#timers,
      undefined,
      true,
    );
    const isInTime = this.#clock.monoMs() - arrivedMs <= this.#readTimeoutMs;
    if (looked.kind === "done" && isInTime) return { ...looked.value, arrivedMs };
    return { ...failureAt(arrivedMs), arrivedMs };
  }

  /** Decides a request by as many looks as it takes, of which each began after the request arrived. */
  async decide(
    key: Key,
    limit: number,
    cost: number,
  ): Promise<{ readonly decision: Decision; readonly waited: Waited }> {
    const { workspace, namespace, durationMs, identifier } = key;
    const arrivedMs = this.#clock.monoMs();
    for (let looks = 1; ; looks++) {
      const waited = lastIf(looks >= LOOKS_MAX, { ...(await this.look(key, cost > 0)), arrivedMs });
      const scope = this.#engine.scopes.find(workspace, namespace, durationMs);
      const decision = decide(this.#engine, scope, identifier, limit, cost, waited);
      if (decision !== null) return { decision, waited };
    }
  }

  #join(key: Key, mayClaim: boolean): Promise<Looked> {
    const text = encodeKey(key);
    const flight = this.#flights.get(text);
    if (flight === undefined) return this.#begin(key, text, mayClaim);
    flight.next ??= flight.now.then(() => {
      // The flight before this one has ended, so the next one takes its place.
      return this.#begin(key, text, mayClaim);
    });
    return flight.next;
  }

  #begin(key: Key, text: string, mayClaim: boolean): Promise<Looked> {
    const bytes = FLIGHT_BYTES + 2 * nameBytes(key);
    if (this.#flights.size >= FLIGHTS_MAX || this.#bytes + bytes > FLIGHTS_MAX_BYTES) {
      return Promise.resolve(failureAt(this.#clock.monoMs()));
    }
    const now = this.#lookOnce(key, mayClaim).finally(() => {
      this.#flights.delete(text);
      this.#bytes -= bytes;
    });
    this.#flights.set(text, { bytes, now, next: null });
    this.#bytes += bytes;
    return now;
  }

  async #lookOnce(key: Key, mayClaim: boolean): Promise<Looked> {
    const beganMs = this.#clock.monoMs();
    try {
      const looked = await this.#client.look(key, this.#engine.clock.nowMs(), mayClaim);
      if (looked === null) return failureAt(beganMs);
      const { isOk, sequence, current, previous, cost } = looked;
      return { isOk, source: "origin", beganMs, sequence, current, previous, look: { cost, isLast: false } };
    } catch {
      // A clock that fails: the decision reads it next, and its caller receives the error.
      return failureAt(beganMs);
    }
  }
}

/** A request that has looked often enough is not sent to look again. */
export function lastIf(isLast: boolean, waited: Waited): Waited {
  return isLast && waited.look !== undefined ? { ...waited, look: { ...waited.look, isLast } } : waited;
}

function failureAt(beganMs: number): Looked {
  return { isOk: false, source: "origin", beganMs, sequence: 0 as Sequence, current: 0, previous: 0 };
}
