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
import type { Free, Freed, FreedItem, Held, HeldItem, Hold } from "./hold.ts";
import type { Admit, Admitted, ConnectionEvent, Origin, OriginCount, OriginHealth, Raise, Read } from "./origin.ts";

/** A deadline that fires this much too late was held up here. */
const LAG_MS = 50;
/** How long a failed write says something about the next one. A flush takes one second at most, and an open breaker refuses it for another. */
const REFUSED_MS = 2_000;

export interface OriginTally {
  reads: number;
  raises: number;
  admits: number;
  holds: number;
  frees: number;
  failed: number;
  late: number;
  junk: number;
  /** Cells that the origin could not tell about, in calls that brought others. */
  unknown: number;
}

export class OriginCalls {
  readonly breaker: Breaker = new Breaker();
  readonly tally: OriginTally = {
    reads: 0,
    raises: 0,
    admits: 0,
    holds: 0,
    frees: 0,
    failed: 0,
    late: 0,
    junk: 0,
    unknown: 0,
  };
  readonly latency: {
    readonly read: Latency;
    readonly raise: Latency;
    readonly admit: Latency;
    readonly hold: Latency;
  } = {
    read: new Latency(),
    raise: new Latency(),
    admit: new Latency(),
    hold: new Latency(),
  };
  /** How long the last call took that was answered. */
  roundTripMs = 0;
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #pending: Pending = new Set();
  /** Writes that failed one after the other: when the first began and the last ended. Null after one that was answered. */
  #refusal: { readonly beganMs: number; readonly endedMs: number } | null = null;

  constructor(origin: Origin, clock: Clock, timers: Timers) {
    this.#origin = origin;
    hold(origin);
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The counts in the order of `reads`, each null if it was junk or is not known; or null if the origin could not be asked. */
  async read(reads: readonly Read[], deadlineMs: number): Promise<readonly (OriginCount | null)[] | null> {
    const answers = await this.#call(
      () => {
        this.tally.reads++;
        return this.#origin.read(reads);
      },
      (answers) => this.#checked(answers, reads.length, isCount),
      deadlineMs,
      "read",
    );
    return answers === "refused" ? null : answers;
  }

  async raise(raises: readonly Raise[], deadlineMs: number): Promise<readonly (OriginCount | null)[] | null> {
    const answers = await this.#call(
      () => {
        this.tally.raises++;
        return this.#origin.raise(raises);
      },
      (answers) => this.#checked(answers, raises.length, isCount),
      deadlineMs,
      "raise",
    );
    return answers === "refused" ? null : answers;
  }

  /**
   * How long all writes have failed; 0 if the last one was answered, or was too long ago. An origin may answer reads for hours and accept
   * no write: a read-only replica, or a server without memory.
   */
  get refusedForMs(): number {
    const nowMs = this.#clock.monoMs();
    return this.#refusal === null || nowMs - this.#refusal.endedMs > REFUSED_MS ? 0 : nowMs - this.#refusal.beganMs;
  }

  /** Whether the origin can check and count in one call. */
  get canAdmit(): boolean {
    return this.#origin.admit !== undefined;
  }

  /** See `life` of the port. */
  life(): number | undefined {
    return this.#origin.life?.();
  }

  /**
   * The answers in the order of `admits`, each null if it was junk or is not known (`allowed` is null in the answer to a repeated call); null if no
   * answer came in time; "refused" if nothing was sent. Callers wait for it, so its deadline keeps the process alive.
   */
  admit(admits: readonly Admit[], deadlineMs: number): Promise<readonly (Admitted | null)[] | "refused" | null> {
    return this.#call(
      () => {
        this.tally.admits++;
        return this.#origin.admit!(admits);
      },
      (answers) => this.#checked(answers, admits.length, (answer, i) => isAdmitted(answer, admits[i]!)),
      deadlineMs,
      "admit",
      true,
    );
  }

  /** Whether the origin keeps holds. */
  get canHold(): boolean {
    return this.#origin.hold !== undefined && this.#origin.free !== undefined;
  }

  /** Null if no valid answer came in time; "refused" if nothing was sent. Callers wait for it, so its deadline keeps the process alive. */
  async hold(hold: Hold, deadlineMs: number): Promise<Held | "refused" | null> {
    const answers = await this.#call(
      async () => {
        this.tally.holds++;
        return [await this.#origin.hold!(hold)];
      },
      ([answer]) => (isAnswer(answer, hold.items.length) ? [answer] : null),
      deadlineMs,
      "hold",
      true,
    );
    return answers === "refused" ? answers : (answers?.[0] ?? null);
  }

  /** The same for `free`. */
  async free(frees: readonly Free[], atMs: number, deadlineMs: number): Promise<Freed | "refused" | null> {
    const answers = await this.#call(
      async () => {
        this.tally.frees++;
        return [await this.#origin.free!(frees, atMs)];
      },
      ([answer]) => (isAnswer(answer, frees.length) ? [answer] : null),
      deadlineMs,
      "hold",
      true,
    );
    return answers === "refused" ? answers : (answers?.[0] ?? null);
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

  async #call<Answer>(
    start: () => Promise<readonly Answer[]>,
    check: (answers: readonly Answer[]) => (Answer | null)[] | null,
    deadlineMs: number,
    kind: keyof OriginCalls["latency"],
    keepsAlive = false,
  ): Promise<(Answer | null)[] | "refused" | null> {
    const beganMs = this.#clock.monoMs();
    if (!this.breaker.admit(beganMs)) return "refused";
    const outcome = await withDeadline(start, deadlineMs, this.#timers, this.#pending, keepsAlive);
    const tookMs = this.#clock.monoMs() - beganMs;
    this.latency[kind].add(tookMs);
    if (outcome.kind === "done") this.roundTripMs = tookMs;
    const { answers, isFailure } = this.#judge(outcome, check, beganMs + deadlineMs);
    // A reservation needs rights that counting does not need: that it fails says nothing about the other writes.
    if (kind === "raise" || kind === "admit") this.#noteWrite(answers !== null, isFailure, beganMs);
    return answers;
  }

  #noteWrite(isAnswered: boolean, isFailure: boolean, beganMs: number): void {
    if (isAnswered) this.#refusal = null;
    else if (isFailure) this.#refusal = { beganMs: this.#refusal?.beganMs ?? beganMs, endedMs: this.#clock.monoMs() };
  }

  #judge<Answer>(
    outcome: Deadlined<readonly Answer[]>,
    check: (answers: readonly Answer[]) => (Answer | null)[] | null,
    dueMs: number,
  ): { readonly answers: (Answer | null)[] | null; readonly isFailure: boolean } {
    const nowMs = this.#clock.monoMs();
    // An answer may be older than its deadline if this process was held up with both: it is late anyway.
    const isLate = outcome.kind === "late" || nowMs > dueMs;
    const answers = !isLate && outcome.kind === "done" ? check(outcome.value) : null;
    if (answers !== null) {
      this.breaker.succeeded(nowMs);
      return { answers, isFailure: false };
    }
    if (isLate) this.tally.late++;
    else if (outcome.kind === "failed") this.tally.failed++;
    else this.tally.junk++;
    const isFailure = !isLate || nowMs - dueMs < LAG_MS;
    if (isFailure) this.breaker.failed(nowMs);
    return { answers: null, isFailure };
  }

  /** Null where an answer is junk or not known; null for all if there are not as many as were asked for. */
  #checked<Answer extends OriginCount | Admitted>(
    answers: readonly Answer[],
    count: number,
    isValid: (answer: Answer | null | undefined, i: number) => boolean,
  ): (Answer | null)[] | null {
    if (!Array.isArray(answers) || answers.length !== count) return null;
    return answers.map((answer: Answer, i) => {
      const isKnown = isValid(answer, i);
      if (isUnknown(answer)) this.tally.unknown++;
      else if (!isKnown) this.tally.junk++;
      return isKnown ? answer : null;
    });
  }
}

function isAnswer<Answer extends Held | Freed>(answer: Answer | undefined, count: number): answer is Answer {
  if (answer === undefined || answer === null || !Number.isFinite(answer.nowMs)) return false;
  if (answer.code !== "done") return answer.code === "window" || answer.code === "stale";
  return Array.isArray(answer.items) && answer.items.length === count && answer.items.every(isHeldItem);
}

function isHeldItem(item: HeldItem | FreedItem | null): boolean {
  if (item === null) return true;
  const { current, holds, deadlineMs } = item;
  const numbers = [deadlineMs, holds?.cost, holds?.earliestMs, holds?.version];
  return isCount(current) && numbers.every((number) => Number.isSafeInteger(number));
}

/** Whether the origin says that it does not know. */
function isUnknown(answer: OriginCount | Admitted | null | undefined): boolean {
  if (answer === null || answer === undefined) return false;
  return "allowed" in answer ? answer.allowed === null : Number.isNaN(answer.sum);
}

function isAdmitted(answer: Admitted | null | undefined, { requests }: Admit): boolean {
  if (answer === null || answer === undefined) return false;
  const { allowed, current, previous } = answer;
  return (allowed === null || isVerdict(allowed, requests.length)) && isCount(current) && isCount(previous);
}

function isVerdict(allowed: unknown, count: number): boolean {
  return (
    Array.isArray(allowed) && allowed.length === count && allowed.every((isAllowed) => typeof isAllowed === "boolean")
  );
}

function isCount(answer: OriginCount | null | undefined): answer is OriginCount {
  if (answer === null || answer === undefined) return false;
  const { sum, component } = answer;
  return Number.isSafeInteger(sum) && Number.isSafeInteger(component) && component >= 0 && sum >= component;
}
