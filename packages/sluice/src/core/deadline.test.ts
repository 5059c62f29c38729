import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { type Pending, withDeadline } from "./deadline.ts";

describe("deadline", () => {
  test("what comes in time is given, and the timer is gone", async () => {
    const { timers } = new ManualTime();
    expect(await withDeadline(async () => 5, 100, timers)).toEqual({ kind: "done", value: 5 });
  });

  test("no timer is left once it has settled, in whatever way", async () => {
    const time = new ManualTime();
    const pending: Pending = new Set();
    await withDeadline(async () => 5, 100, time.timers, pending);
    await withDeadline(() => Promise.reject(new Error("no")), 100, time.timers, pending);
    const late = withDeadline(() => new Promise(() => {}), 100, time.timers, pending);
    expect([time.pending, pending.size]).toEqual([1, 1]);
    await time.advance(100);
    expect(await late).toEqual({ kind: "late" });
    expect([time.pending, pending.size]).toEqual([0, 0]);
  });

  test("a rejection is a value, and a start that throws is a rejection", async () => {
    const { timers } = new ManualTime();
    const error = new Error("no");
    const throws = (): Promise<never> => {
      throw error;
    };
    expect(await withDeadline(() => Promise.reject(error), 100, timers)).toEqual({ kind: "failed", error });
    expect(await withDeadline(throws, 100, timers)).toEqual({ kind: "failed", error });
  });

  test("it is late at the deadline and not before", async () => {
    const time = new ManualTime();
    let outcome: unknown;
    void withDeadline(() => new Promise(() => {}), 100, time.timers).then((value) => {
      outcome = value;
    });
    await time.advance(99);
    expect(outcome).toBeUndefined();
    await time.advance(1);
    expect(outcome).toEqual({ kind: "late" });
  });

  test("what comes after the deadline is dropped, a rejection too", async () => {
    const time = new ManualTime();
    const late: ((error: Error) => void)[] = [];
    const outcome = withDeadline(() => new Promise((_, reject) => late.push(reject)), 100, time.timers);
    await time.advance(100);
    late[0]!(new Error("nobody hears this"));
    await time.settle();
    expect(await outcome).toEqual({ kind: "late" });
  });

  test("a deadline can be made to pass at once", async () => {
    const time = new ManualTime();
    const pending: Pending = new Set();
    const outcome = withDeadline(() => new Promise(() => {}), 100, time.timers, pending);
    for (const expire of pending) expire();
    expect(await outcome).toEqual({ kind: "late" });
    expect(time.pending).toBe(0);
  });
});
