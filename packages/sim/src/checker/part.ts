/** One part of the checker: looks at each line of the history, with the truth as it stood before that line. */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import type { Truth } from "./truth.ts";

/** What is wrong, in words; nothing if nothing is. */
export type Problem = string | undefined;

export interface CheckerPart {
  check(line: HistoryLine, truth: Truth): Problem;
}

/** What the previous cell contributes: `floor(count * left / duration)`, in BigInt, apart from the engine's own sum. */
export function shareOf(count: number, { wallMs, sequence, durationMs }: DecisionEvent): number {
  if (count === 0) return 0;
  const leftMs = (sequence + 1) * durationMs - Math.floor(wallMs);
  return Number((BigInt(count) * BigInt(leftMs)) / BigInt(durationMs));
}

/**
 * Whether a call counted the request in another window than the one of the answer: it ended before, or it has not begun because the clock was
 * followed back and the call given up for that.
 */
export function isOfOtherWindow({ call, sequence, wallMs, durationMs }: DecisionEvent): boolean {
  return call !== 0 && sequence !== Math.floor(wallMs / durationMs);
}

/** What the event's own counts come to without any cost. */
export function usedBy(event: DecisionEvent): number {
  return event.own + event.others + event.foreign + shareOf(event.previous, event);
}

/** Names a cell within the memory of one life. */
export function placeOf(process: string, key: string, sequence: number): string {
  return `${process} ${sequence} ${key}`;
}
