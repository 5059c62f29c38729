/**
 * Counting by outcome: a request is checked before the work, and counted after it if its outcome is one of those that count.
 *
 * A client must not choose whether it is counted: one that leaves before the answer is counted, whichever outcomes are.
 */
import { systemWarn } from "../limiter/system.ts";

/** Which outcomes count: those of 400 or above, those below, or those of which a function of the response answers true. */
export type CountedOutcomes = "failures" | "successes" | ((response: unknown) => boolean);

/** How a request ended. */
export interface Outcome {
  readonly status: number;
  /** Whether the handler threw. */
  readonly hasThrown: boolean;
  /** Whether the client left before it was answered. */
  readonly isUnanswered: boolean;
  /** The framework's response. */
  readonly response: unknown;
}

const FAILURE_MIN = 400;

export function isCounted(counted: CountedOutcomes, outcome: Outcome): boolean {
  if (outcome.isUnanswered) return true;
  const isFailure = outcome.hasThrown || outcome.status >= FAILURE_MIN;
  if (typeof counted !== "function") return counted === "failures" ? isFailure : !isFailure;
  return outcome.hasThrown || counted(outcome.response);
}

/** Runs what counts a request after its answer: there is nobody left to throw to. */
export function countLate(count: () => void): void {
  try {
    count();
  } catch (error) {
    systemWarn(`A request could not be counted after its answer: ${String(error)}`, "SLUICE_COUNT_FAILED");
  }
}

/** The part of a response of Node that tells its end. */
export interface NodeResponseEnd {
  readonly statusCode: number;
  readonly headersSent: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** Calls back once with the outcome, when the answer is sent or the client has left. */
export function onNodeEnd(raw: NodeResponseEnd, response: unknown, settle: (outcome: Outcome) => void): void {
  raw.once("close", () => {
    settle({ status: raw.statusCode, hasThrown: false, isUnanswered: !raw.headersSent, response });
  });
}
