import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLOCK_HOLD_MAX_MS, WALL_MAX_MS } from "../core/bounds.ts";
import { HeldClock } from "./held-clock.ts";

/** A clock that says what it is told to, and the held clock over it. */
function setUp(startMs: number) {
  const wall = { ms: startMs as unknown };
  const clock = new HeldClock({ wallMs: () => wall.ms as number, monoMs: () => 0 });
  const at = (ms: unknown) => {
    wall.ms = ms;
    return clock.nowMs();
  };
  expect(at(startMs)).toBe(Math.floor(startMs));
  return { clock, at };
}

describe("held clock", () => {
  test("forwards it is the wall clock in whole milliseconds", () => {
    const { clock, at } = setUp(1_000_000);
    expect(at(1_000_000)).toBe(1_000_000);
    expect(at(1_000_000.999)).toBe(1_000_000);
    expect(at(1_000_001)).toBe(1_000_001);
    expect(at(9_000_000_000)).toBe(9_000_000_000);
    expect([clock.held, clock.followed]).toEqual([0, 0]);
  });

  test("the first reading is taken as it is, zero and the last moment included", () => {
    expect(setUp(0).clock.nowMs()).toBe(0);
    expect(setUp(WALL_MAX_MS).clock.nowMs()).toBe(WALL_MAX_MS);
    expect(setUp(0.25).clock.nowMs()).toBe(0);
  });

  test("a backward jump of up to 5 s holds the clock until time has caught up", () => {
    const { clock, at } = setUp(1_000_000);
    expect(at(1_000_000 - CLOCK_HOLD_MAX_MS)).toBe(1_000_000);
    expect(at(997_000)).toBe(1_000_000);
    expect(at(999_999)).toBe(1_000_000);
    expect(at(1_000_001)).toBe(1_000_001);
    expect([clock.held, clock.followed]).toEqual([1, 0]);
  });

  test("a backward jump of more than 5 s is followed", () => {
    const { clock, at } = setUp(1_000_000);
    expect(at(1_000_000 - CLOCK_HOLD_MAX_MS - 1)).toBe(994_999);
    expect(at(995_100)).toBe(995_100);
    expect([clock.held, clock.followed]).toEqual([0, 1]);
    expect(at(0)).toBe(0);
    expect(clock.followed).toBe(2);
  });

  test("small jumps add up: together more than 5 s are followed", () => {
    const { clock, at } = setUp(1_000_000);
    expect(at(998_000)).toBe(1_000_000);
    expect(at(996_000)).toBe(1_000_000);
    expect(at(995_000)).toBe(1_000_000);
    expect(at(994_000)).toBe(994_000);
    expect([clock.held, clock.followed]).toEqual([1, 1]);
    expect(at(993_000), "a jump after a follow is held anew").toBe(994_000);
    expect([clock.held, clock.followed]).toEqual([2, 1]);
  });

  test("a fraction of a millisecond is no jump", () => {
    const { clock, at } = setUp(1_000_000.9);
    expect(at(1_000_000.1)).toBe(1_000_000);
    expect(clock.held).toBe(0);
    expect(at(999_999.999)).toBe(1_000_000);
    expect(clock.held).toBe(1);
    expect(at(1_000_000 - CLOCK_HOLD_MAX_MS - 0.5), "5000.5 ms back reads as 5001 whole ones").toBe(994_999);
    expect(clock.followed).toBe(1);
  });

  test("separate held jumps are counted one by one", () => {
    const { clock, at } = setUp(1_000_000);
    for (let jump = 1; jump <= 5; jump++) {
      at(999_000);
      at(999_500);
      expect(clock.held).toBe(jump);
      expect(at(1_000_000)).toBe(1_000_000);
    }
  });

  test("it goes back only by following, over any run of readings", () => {
    const reading = fc.oneof(
      fc.integer({ min: 990_000, max: 1_010_000 }),
      fc.double({ min: 0, max: 2_000_000, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 60 }), (readings) => {
        const { clock, at } = setUp(1_000_000);
        let beforeMs = 1_000_000;
        for (const wallMs of readings) {
          const { followed } = clock;
          const nowMs = at(wallMs);
          if (Math.floor(wallMs) >= beforeMs) expect(nowMs).toBe(Math.floor(wallMs));
          else if (beforeMs - Math.floor(wallMs) <= CLOCK_HOLD_MAX_MS) expect(nowMs).toBe(beforeMs);
          else expect([nowMs, clock.followed]).toEqual([Math.floor(wallMs), followed + 1]);
          beforeMs = nowMs;
        }
      }),
    );
  });

  test.each([
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["minus infinity", Number.NEGATIVE_INFINITY],
    ["before 1970", -1],
    ["a little before 1970", -0.5],
    ["after 2106", WALL_MAX_MS + 1],
    ["nanoseconds", 1_800_000_000_000_000_000],
    ["undefined", undefined],
    ["null, which counts as the epoch", null],
    ["an empty array, which counts as the epoch", []],
    ["a time as a text", "1800000000000"],
    ["an object", {}],
    ["a text that is no number", "noon"],
    ["a bigint", 1_800_000_000_000n],
    ["a symbol", Symbol("now")],
  ])("a clock that says %s is refused, and changes nothing", (_, said) => {
    const { clock, at } = setUp(1_000_000);
    const refused = expect.objectContaining({ code: "RL_CLOCK_INVALID", field: "clock" });
    expect(() => at(said)).toThrow(refused);
    expect(at(1_000_005)).toBe(1_000_005);
    expect([clock.held, clock.followed]).toEqual([0, 0]);
  });

  test("who is told of a follow hears by how much, before the new time is given out", () => {
    const { clock, at } = setUp(1_000_000);
    const told: number[][] = [];
    clock.onFollow = (backMs) => told.push([backMs, clock.lastMs]);
    at(990_000);
    expect(told).toEqual([[10_000, 1_000_000]]);
  });

  test("the monotonic clock is read when the wall clock has moved, or is held", () => {
    const time = { wallMs: 1, monoMs: 100 };
    let reads = 0;
    const mono = () => {
      reads++;
      return time.monoMs;
    };
    const clock = new HeldClock({ wallMs: () => time.wallMs, monoMs: mono });
    const at = (wallMs: number, monoMs: number) => {
      Object.assign(time, { wallMs, monoMs });
      clock.read();
      return [clock.monoMs(), reads];
    };
    expect([clock.monoMs(), clock.monoMs(), reads], "before any reading of the wall clock").toEqual([100, 100, 1]);
    expect(at(1, 100)).toEqual([100, 2]);
    expect(at(1, 101), "the same millisecond").toEqual([100, 2]);
    expect(at(2, 102)).toEqual([102, 3]);
    expect(at(1, 103), "held").toEqual([103, 4]);
    expect(at(1, 104), "still held").toEqual([104, 5]);
    expect(at(2, 105), "caught up: nothing has moved").toEqual([104, 5]);
    expect(at(3, 106)).toEqual([106, 6]);
  });

  test("a monotonic clock is read in the first millisecond of all", () => {
    const clock = new HeldClock({ wallMs: () => 1, monoMs: () => 100 });
    clock.read();
    expect(clock.monoMs()).toBe(100);
  });
});
