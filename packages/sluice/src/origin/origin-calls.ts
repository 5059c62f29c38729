/**
 * Calls to the origin as the layer makes them: behind the breaker, with a deadline, checked, and counted.
 *
 * What comes back is not trusted: an answer of the wrong length or a number that is none is junk, counted and dropped. A
 * deadline that fired late says that this process was busy, not that the origin was slow: it does not count against it.
 */

import { Breaker } from "../core/breaker.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { type Deadlined, type Pending, withDeadline } from "../core/deadline.ts";
import { hold, letGo } from "../core/holders.ts";
import { Latency } from "../core/latency.ts";
import type { ConnectionEvent, Origin, OriginCount, OriginHealth, Raise, Read } from "./origin.ts";

/** A deadline that fires this much too late was held up here. */
const LAG_MS = 50;

export interface OriginTally {
  reads: number;
  raises: number;
  failed: number;
  late: number;
  junk: number;
  /** Cells that the origin could not tell about, in calls that brought others. */
  unknown: number;
}

export class OriginCalls {
  readonly breaker: Breaker = new Breaker();
  readonly tally: OriginTally = { reads: 0, raises: 0, failed: 0, late: 0, junk: 0, unknown: 0 };
  readonly latency: { readonly read: Latency; readonly raise: Latency } = { read: new Latency(), raise: new Latency() };
  /** How long the last call took that was answered. */
  roundTripMs = 0;
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #pending: Pending = new Set();

  constructor(origin: Origin, clock: Clock, timers: Timers) {
    this.#origin = origin;
    hold(origin);
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The counts in the order of `reads`, each null if it was junk or is not known; or null if the origin could not be asked. */
  read(reads: readonly Read[], deadlineMs: number): Promise<readonly (OriginCount | null)[] | null> {
    return this.#call(
      () => {
        this.tally.reads++;
        return this.#origin.read(reads);
      },
      reads.length,
      deadlineMs,
      this.latency.read,
    );
  }

  raise(raises: readonly Raise[], deadlineMs: number): Promise<readonly (OriginCount | null)[] | null> {
    return this.#call(
      () => {
        this.tally.raises++;
        return this.#origin.raise(raises);
      },
      raises.length,
      deadlineMs,
      this.latency.raise,
    );
  }

  /** What the store itself has to say, if it is one that does. */
  get health(): OriginHealth | null {
    return this.#origin.health?.() ?? null;
  }

  /** Hears of the store's connections, if it has some, until what it returns is called. */
  listen(listener: (event: ConnectionEvent) => void): (() => void) | undefined {
    return this.#origin.listen?.(listener);
  }

  /** Ends every call under way, as if its deadline had passed, and lets go of the origin. Never rejects. */
  async close(deadlineMs: number): Promise<void> {
    for (const expire of this.#pending) expire();
    if (letGo(this.#origin)) await withDeadline(() => this.#origin.close(), deadlineMs, this.#timers);
  }

  async #call(
    start: () => Promise<readonly OriginCount[]>,
    count: number,
    deadlineMs: number,
    latency: Latency,
  ): Promise<readonly (OriginCount | null)[] | null> {
    const beganMs = this.#clock.monoMs();
    if (!this.breaker.admit(beganMs)) return null;
    const outcome = await withDeadline(start, deadlineMs, this.#timers, this.#pending);
    const tookMs = this.#clock.monoMs() - beganMs;
    latency.add(tookMs);
    if (outcome.kind === "done") this.roundTripMs = tookMs;
    return this.#judge(outcome, count, beganMs + deadlineMs);
  }

  #judge(outcome: Deadlined<readonly OriginCount[]>, count: number, dueMs: number): (OriginCount | null)[] | null {
    const nowMs = this.#clock.monoMs();
    // An answer may be older than its deadline where this process was held up with both: it is late all the same.
    const isLate = outcome.kind === "late" || nowMs > dueMs;
    if (!isLate && outcome.kind === "done" && Array.isArray(outcome.value) && outcome.value.length === count) {
      this.breaker.succeeded(nowMs);
      return outcome.value.map((answer) => {
        if (isCount(answer)) return answer;
        if (Number.isNaN(answer?.sum)) this.tally.unknown++;
        else this.tally.junk++;
        return null;
      });
    }
    if (isLate) this.tally.late++;
    else if (outcome.kind === "failed") this.tally.failed++;
    else this.tally.junk++;
    if (!isLate || nowMs - dueMs < LAG_MS) this.breaker.failed(nowMs);
    return null;
  }
}

function isCount(answer: OriginCount | null | undefined): answer is OriginCount {
  if (answer === null || answer === undefined) return false;
  const { sum, component } = answer;
  return Number.isSafeInteger(sum) && Number.isSafeInteger(component) && component >= 0 && sum >= component;
}
