import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { Alarm, Repeat } from "./repeat.ts";

describe("alarm", () => {
  test("calls back once, and can then be set again", async () => {
    const time = new ManualTime();
    const alarm = new Alarm(time.timers);
    let calls = 0;
    for (let i = 1; i <= 2; i++) {
      alarm.set(() => calls++, 100);
      expect(alarm.isSet).toBe(true);
      await time.advance(99);
      expect(calls).toBe(i - 1);
      await time.advance(1);
      expect([calls, alarm.isSet, time.pending]).toEqual([i, false, 0]);
    }
  });

  test("an alarm that is set keeps its time and its call", async () => {
    const time = new ManualTime();
    const alarm = new Alarm(time.timers);
    const calls: string[] = [];
    alarm.set(() => calls.push("first"), 100);
    alarm.set(() => calls.push("second"), 10);
    expect(time.pending).toBe(1);
    await time.advance(1_000);
    expect(calls).toEqual(["first"]);
  });

  test("after clear there is no timer, and it can be set again", async () => {
    const time = new ManualTime();
    const alarm = new Alarm(time.timers);
    alarm.set(() => expect.unreachable(), 100);
    alarm.clear();
    alarm.clear();
    expect([alarm.isSet, time.pending]).toEqual([false, 0]);
    let calls = 0;
    alarm.set(() => calls++, 100);
    await time.advance(100);
    expect(calls).toBe(1);
  });

  test("may be set by its own call", async () => {
    const time = new ManualTime();
    const alarm = new Alarm(time.timers);
    let calls = 0;
    const again = () => {
      if (++calls < 3) alarm.set(again, 100);
    };
    alarm.set(again, 100);
    await time.advance(1_000);
    expect([calls, alarm.isSet]).toEqual([3, false]);
  });

  test("timers that throw leave it unset", () => {
    const timers = {
      set: () => {
        throw new Error("no timers");
      },
      clear: () => expect.unreachable(),
    };
    const alarm = new Alarm(timers);
    expect(() => alarm.set(() => {}, 100)).toThrow("no timers");
    expect(alarm.isSet).toBe(false);
    alarm.clear();
  });
});

describe("repeat", () => {
  test("runs after each interval, which is drawn anew each time", async () => {
    const time = new ManualTime();
    const at: number[] = [];
    const startMs = time.monoMs;
    let nextMs = 0;
    const repeat = new Repeat(
      time.timers,
      () => at.push(time.monoMs - startMs),
      () => (nextMs += 100),
    );
    repeat.start();
    await time.advance(650);
    expect(at).toEqual([100, 300, 600]);
  });

  test("a call that throws does not end it", async () => {
    const time = new ManualTime();
    let calls = 0;
    const run = () => {
      calls++;
      throw new Error("no");
    };
    new Repeat(time.timers, run, () => 100).start();
    for (let i = 0; i < 3; i++) expect(() => time.advanceAtOnce(100)).toThrow("no");
    expect([calls, time.pending]).toEqual([3, 1]);
  });

  test("stop leaves no timer, even from within its own call; start begins again", async () => {
    const time = new ManualTime();
    let calls = 0;
    const repeat: Repeat = new Repeat(
      time.timers,
      () => {
        calls++;
        repeat.stop();
      },
      () => 100,
    );
    repeat.start();
    repeat.start();
    expect(time.pending).toBe(1);
    await time.advance(1_000);
    expect([calls, time.pending]).toEqual([1, 0]);
    repeat.start();
    await time.advance(100);
    expect(calls).toBe(2);
  });
});
