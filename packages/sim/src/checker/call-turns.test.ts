import type { DecisionEvent, OriginEvent } from "sluice";
import { describe, expect, test } from "vitest";
import { CallTurns } from "./call-turns.ts";

const TIMES = { callMs: 15, timeoutMs: 50 };

/** Answered calls of a key, from and until these times; each has two events. */
function turns(...calls: readonly (readonly [beganMs: number, endedMs: number])[]): CallTurns {
  const made = new CallTurns();
  calls.forEach(([beganMs, monoMs], i) => {
    const event = { kind: "admit", key: "k", call: i + 1, beganMs, monoMs, isAnswered: true } as OriginEvent;
    for (const sequence of [7, 6]) made.note("p", { ...event, sequence });
  });
  return made;
}

function mayBeSpent(made: CallTurns, monoMs: number, more: Partial<DecisionEvent> = {}): boolean {
  return made.mayBeSpent("p", { key: "k", arrivedMs: 100, monoMs, batch: 0, ...more } as DecisionEvent, TIMES);
}

describe("a request that waited in vain", () => {
  test("has had all of its calls after four, and not before", () => {
    const three = [
      [100, 110],
      [110, 120],
      [120, 130],
    ] as const;
    expect(mayBeSpent(turns(...three), 130)).toBe(false);
    expect(mayBeSpent(turns(...three, [130, 134]), 134)).toBe(true);
    expect(mayBeSpent(turns([99, 105], [105, 112], [112, 118], [118, 124]), 124)).toBe(false);
  });

  test("ran out of time if the next call may have taken longer than was left", () => {
    expect(mayBeSpent(turns([90, 136]), 150)).toBe(true);
    expect(mayBeSpent(turns([90, 134]), 150)).toBe(false);
    expect(mayBeSpent(turns([90, 136]), 149)).toBe(false);
  });

  test("waited for nothing if no call of its key was answered since it arrived, or if it is part of a batch", () => {
    expect(mayBeSpent(turns(), 150)).toBe(false);
    expect(mayBeSpent(turns([80, 99]), 150)).toBe(false);
    expect(mayBeSpent(turns([90, 136]), 150, { key: "other" })).toBe(false);
    expect(mayBeSpent(turns([90, 136]), 150, { batch: 3 })).toBe(false);
  });
});
