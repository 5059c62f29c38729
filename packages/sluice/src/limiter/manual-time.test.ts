import { describe, expect, test } from "vitest";
import { ManualTime } from "./manual-time.ts";

describe("manual time", () => {
  test("moves only by advance, and runs timers in order, each at its own moment", async () => {
    const time = new ManualTime(1_000_000);
    const seen: string[] = [];
    const note = (name: string) => () => void seen.push(`${name} ${time.nowMs}`);
    time.timers.set(note("late"), 20);
    time.timers.set(note("early"), 10);
    time.timers.clear(time.timers.set(note("cleared"), 5));
    time.timers.set(() => void time.timers.set(note("set by a timer"), 3), 12);
    time.timers.set(note("later"), 21);
    await time.advance(20);
    expect(seen).toEqual(["early 1000010", "set by a timer 1000015", "late 1000020"]);
    expect([time.clock.wallMs(), time.clock.monoMs()]).toEqual([1_000_020, 20]);
  });
});
