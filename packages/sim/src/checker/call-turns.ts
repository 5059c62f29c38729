/**
 * The calls (`admit`) that a request may have had to wait for, though the origin answered each of them.
 *
 * A key has one call at a time, and a call carries only what fits its process together. So requests wait for their turn, and one that was not
 * admitted, because it did not fit when it was sent, is sent again, in at most four calls. Nothing is wrong if a request runs out of calls, or of time.
 */
import type { DecisionEvent, OriginEvent } from "sluice";

/** Calls that carry one request at most. test/sim/copied-constants.test.ts holds it to the library's. */
const CALLS_OF_REQUEST = 4;

/** Sums of floating-point clocks differ in the last places. */
const ROUNDING_MS = 0.001;

interface Turns {
  /** When the latest answered calls began, in order. Monotonic clock, as all times here. */
  readonly begunMs: number[];
  endedMs: number;
  last: number;
}

export class CallTurns {
  readonly #turns = new Map<string, Turns>();

  /** A call has been answered. It has an event for each of its two cells. */
  note(process: string, { key, call, beganMs, monoMs, isAnswered }: OriginEvent): void {
    if (call === undefined || !isAnswered) return;
    const turns = this.#turns.get(`${process} ${key}`) ?? { begunMs: [], endedMs: 0, last: 0 };
    if (turns.last === call) return;
    this.#turns.set(`${process} ${key}`, turns);
    turns.last = call;
    turns.endedMs = monoMs;
    turns.begunMs.push(beganMs);
    if (turns.begunMs.length > CALLS_OF_REQUEST) turns.begunMs.shift();
  }

  /**
   * Whether a request has waited for as many calls as may carry it; or until its deadline, and the last call that was answered ended so near to
   * that, that the next one, which takes up to `callMs`, may not have been answered in time.
   */
  mayBeSpent(
    process: string,
    { key, arrivedMs, monoMs, batch }: DecisionEvent,
    { callMs, timeoutMs }: { readonly callMs: number; readonly timeoutMs: number },
  ): boolean {
    const turns = this.#turns.get(`${process} ${key}`);
    if (turns === undefined || batch !== 0 || turns.endedMs < arrivedMs) return false;
    if (turns.begunMs.length === CALLS_OF_REQUEST && turns.begunMs[0]! >= arrivedMs) return true;
    const deadlineMs = arrivedMs + timeoutMs;
    return monoMs >= deadlineMs - ROUNDING_MS && turns.endedMs + callMs >= deadlineMs;
  }
}
