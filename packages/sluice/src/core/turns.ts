/**
 * Turns of the event loop: work on many things is done some at a time, and requests are answered in between.
 *
 * Counted, not timed: how much a turn does must not depend on the clock, or a run could not be repeated.
 */
import type { Timers } from "./clock.ts";

/** Things of one turn. At 1 to 4 µs each, a turn takes a millisecond or two, on a slow machine too: others add to it. */
const TURN_ITEMS = 500;

/** Resolves after at least `delayMs`. */
export function pause(timers: Timers, delayMs: number, keepsAlive?: boolean): Promise<void> {
  return new Promise((resolve) => {
    timers.set(resolve, delayMs, keepsAlive);
  });
}

/** Resolves in a later turn. Keeps the process alive until then: whoever closes waits for it. */
export function nextTurn(timers: Timers): Promise<void> {
  return pause(timers, 0, true);
}

/** Does `work` for each of the items, in turns. */
export async function inTurns<T>(items: readonly T[], timers: Timers, work: (item: T) => void): Promise<void> {
  for (let at = 0; at < items.length; at += TURN_ITEMS) {
    if (at > 0) await nextTurn(timers);
    const end = Math.min(at + TURN_ITEMS, items.length);
    for (let i = at; i < end; i++) work(items[i]!);
  }
}
