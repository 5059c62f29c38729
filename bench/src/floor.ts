/**
 * The floor: the least that any limiter with a table of keys must do. One `Map` look-up, one clock read, one counter
 * raised, one result object returned. It limits a fixed window and forgets nothing.
 */
import { type Instance, type Load, WINDOW_MS } from "./contender.ts";

interface Counter {
  count: number;
  resetMs: number;
}

interface Answer {
  readonly success: boolean;
  readonly count: number;
  readonly resetMs: number;
}

export function createFloor({ limit }: Load): Instance<string, Answer> & { call(key: string): Answer } {
  const counters = new Map<string, Counter>();
  return {
    call: (key) => {
      const nowMs = Date.now();
      let counter = counters.get(key);
      if (counter === undefined) {
        counter = { count: 0, resetMs: nowMs + WINDOW_MS };
        counters.set(key, counter);
      } else if (nowMs >= counter.resetMs) {
        counter.count = 0;
        counter.resetMs = nowMs + WINDOW_MS;
      }
      counter.count++;
      return { success: counter.count <= limit, count: counter.count, resetMs: counter.resetMs };
    },
    isAllowed: (answer) => answer.success,
    used: (answer) => answer.count,
    close: () => counters.clear(),
  };
}
