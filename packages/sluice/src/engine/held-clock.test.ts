import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { CLOCK_HOLD_MAX_MS, WALL_MAX_MS } from "../core/bounds.ts";
import { HeldClock } from "./held-clock.ts";

/** Runs of the comparison with the model, one seed each. SLUICE_SEED=n runs one seed only. */
const SEED = process.env["SLUICE_SEED"];
const SEEDS = SEED === undefined ? Array.from({ length: 20 }, (_, i) => i + 1) : [Number(SEED)];

/** A held clock over a wall clock that the test sets, and a monotonic clock that stands still. */
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

/**
 * A held clock over two clocks that run together: `pass` lets time go on and reads once, `run` reads every millisecond, and
 * `set` changes the wall clock alone.
 */
function setUpRunning(startMs: number) {
  const time = { wallMs: startMs, monoMs: 500 };
  const clock = new HeldClock({ wallMs: () => time.wallMs, monoMs: () => time.monoMs });
  const pass = (ms: number) => {
    time.wallMs += ms;
    time.monoMs += ms;
    return clock.nowMs();
  };
  const run = (ms: number) => {
    for (let left = ms; left > 1; left--) pass(1);
    return pass(1);
  };
  const set = (byMs: number) => {
    time.wallMs += byMs;
    return clock.nowMs();
  };
  expect(pass(0)).toBe(Math.floor(startMs));
  return { clock, time, pass, run, set };
}

/**
 * The rule for a clock that is read once per millisecond, written down as a state machine: while the clock is held, every
 * second reading advances it by one.
 */
class EveryMillisecond {
  nowMs = 0;
  #wallMs = 0;
  /** Half milliseconds since the hold began, or since the wall clock went back during it; -1: not held. */
  #halves = -1;

  read(wallMs: number): void {
    const hasGoneBack = wallMs < this.#wallMs;
    this.#wallMs = wallMs;
    if (wallMs >= this.nowMs || this.nowMs - wallMs > 5_000) {
      this.nowMs = wallMs;
      this.#halves = -1;
    } else if (this.#halves === -1 || hasGoneBack) {
      this.#halves = 0;
    } else {
      this.#halves++;
      if (this.#halves % 2 === 0) this.nowMs++;
    }
  }
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

  test("a backward jump of up to 5 s holds the clock; with a monotonic clock that stands still, until time has caught up", () => {
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
    expect(at(993_000), "a jump after a follow is held again").toBe(994_000);
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

  test("a held clock advances at half the speed until the wall clock has caught up", () => {
    const { clock, pass, run, set } = setUpRunning(1_000_000);
    expect(set(-4_900), "the correction itself").toBe(1_000_000);
    expect(pass(1)).toBe(1_000_000);
    expect(pass(1)).toBe(1_000_001);
    expect(pass(998)).toBe(1_000_500);
    expect(run(8_797), "1 ms ahead of the wall clock").toBe(1_004_898);
    expect(pass(1), "caught up after twice the correction, less 2 ms for whole milliseconds").toBe(1_004_898);
    expect(pass(1), "from here on it is the wall clock").toBe(1_004_899);
    expect(pass(1)).toBe(1_004_900);
    expect([clock.held, clock.followed]).toEqual([1, 0]);
  });

  test("a wall clock that has passed the last reading is used as it is, held or not", () => {
    const { pass, set } = setUpRunning(1_000_000);
    set(-2_000);
    expect(pass(2_001), "nobody has seen a later time").toBe(1_000_001);
  });

  test("a held clock is ahead of the wall clock by no more than the correction", () => {
    const { time, pass, set } = setUpRunning(1_000_000);
    set(-3_000);
    for (let aheadMs = 3_000; aheadMs > 0; ) {
      const nextMs = pass(7) - time.wallMs;
      expect(nextMs).toBeLessThan(aheadMs);
      aheadMs = nextMs;
    }
  });

  test("many readings within a millisecond advance it as far as one", () => {
    const { time, pass, set } = setUpRunning(1_000_000);
    set(-2_000);
    // The wall clock gives whole milliseconds, the monotonic clock fractions, as on a real system.
    for (let tenths = 1; tenths <= 1_000; tenths++) {
      time.monoMs += 0.1;
      if (tenths % 10 === 0) time.wallMs++;
      const nowMs = pass(0);
      expect(Math.abs(nowMs - 1_000_000 - tenths / 20)).toBeLessThanOrEqual(1);
    }
  });

  test("a second backward jump while the clock is held goes on from the held time", () => {
    const { clock, pass, run, set } = setUpRunning(1_000_000);
    set(-2_000);
    expect(pass(1_000)).toBe(1_000_500);
    expect(set(-3_000), "1500 ms behind, now 4500").toBe(1_000_500);
    expect(pass(1_000)).toBe(1_001_000);
    expect(run(8_000), "caught up after twice 4500 ms").toBe(1_005_000);
    expect(pass(1)).toBe(1_005_001);
    expect([clock.held, clock.followed]).toEqual([1, 0]);
  });

  test("whether a second jump is followed depends on the distance to the held time", () => {
    const { clock, pass, set } = setUpRunning(1_000_000);
    set(-4_000);
    expect(pass(2_000), "3000 ms ahead of the wall clock").toBe(1_001_000);
    expect(set(-2_000), "5000 ms").toBe(1_001_000);
    expect(set(-1), "5001 ms").toBe(995_999);
    expect([clock.held, clock.followed]).toEqual([1, 1]);
    expect(pass(10), "after that it is the wall clock").toBe(996_009);
  });

  test("a forward jump while the clock is held shortens the hold or ends it", () => {
    const { clock, pass, run, set } = setUpRunning(1_000_000);
    set(-4_000);
    expect(pass(1_000)).toBe(1_000_500);
    expect(set(2_500), "1000 ms behind the held time").toBe(1_000_500);
    expect(run(1_000)).toBe(1_001_000);
    expect(run(1_000), "caught up").toBe(1_001_500);
    set(-1_000);
    expect(set(60_000), "beyond the held time").toBe(1_060_500);
    expect(pass(3)).toBe(1_060_503);
    expect([clock.held, clock.followed]).toEqual([2, 0]);
  });

  test("a monotonic clock that runs too fast, jumps or stops does not carry the held time away", () => {
    for (const monoOf of [
      (ms: number) => ms * 1_000,
      (ms: number) => ms + 3_600_000,
      (ms: number) => -ms,
      () => Number.POSITIVE_INFINITY,
      () => Number.NaN,
      () => undefined as unknown as number,
      () => 0,
    ]) {
      const time = { wallMs: 1_000_000, monoMs: 0 };
      const clock = new HeldClock({ wallMs: () => time.wallMs, monoMs: () => time.monoMs });
      clock.read();
      time.wallMs -= 4_000;
      let beforeMs = clock.nowMs();
      for (let ms = 1; ms <= 8_000; ms++) {
        time.wallMs++;
        time.monoMs = monoOf(ms);
        const nowMs = clock.nowMs();
        const isSane = Number.isSafeInteger(nowMs) && nowMs >= beforeMs && nowMs >= time.wallMs;
        if (!isSane || nowMs > 1_000_000 + ms / 2) throw new Error(`${nowMs} after ${ms} ms`);
        beforeMs = nowMs;
      }
      expect(beforeMs, "caught up").toBe(time.wallMs);
      expect([clock.held, clock.followed]).toEqual([1, 0]);
    }
  });

  test("a held clock does not pass the highest valid time", () => {
    const { pass, set } = setUpRunning(WALL_MAX_MS);
    set(-4_000);
    expect(pass(1_000)).toBe(WALL_MAX_MS);
  });

  test("while it is not held, the monotonic clock is not read", () => {
    let reads = 0;
    const time = { wallMs: 1_000 };
    const clock = new HeldClock({ wallMs: () => time.wallMs, monoMs: () => ++reads });
    for (const wallMs of [1_000, 1_000, 1_001, 9_000, 2_000]) {
      time.wallMs = wallMs;
      clock.read();
    }
    expect([reads, clock.followed]).toEqual([0, 1]);
    time.wallMs = 1_999;
    clock.read();
    expect(reads).toBe(1);
    for (const wallMs of [2_000, 2_001]) {
      time.wallMs = wallMs;
      clock.read();
    }
    expect(reads).toBe(1);
  });

  test.each(SEEDS)("read every millisecond, it is the state machine's clock (seed %i)", (seed) => {
    const random = new SeededRandom(seed);
    const { clock, time, pass } = setUpRunning(1_000_000);
    const model = new EveryMillisecond();
    model.read(1_000_000);
    for (let ms = 0; ms < 30_000; ms++) {
      if (random.chance(0.001)) time.wallMs += random.below(12_000) - 6_500;
      const nowMs = pass(1);
      model.read(time.wallMs);
      if (nowMs !== model.nowMs) expect([ms, nowMs]).toEqual([ms, model.nowMs]);
    }
    expect(clock.held).toBeGreaterThan(0);
  });

  test.each(SEEDS)("read at any moments, it never goes back and its lead never grows (seed %i)", (seed) => {
    const random = new SeededRandom(seed);
    const { clock, time, pass } = setUpRunning(1_000_000);
    let beforeMs = 1_000_000;
    for (let reading = 0; reading < 1_000; reading++) {
      const leadMs = beforeMs - Math.floor(time.wallMs);
      const jumpMs = random.chance(0.02) ? random.below(10_000) - 6_000 : 0;
      const ms = random.pick([0, 0.25, 1, 3.5, 20, 700]);
      const { followed } = clock;
      time.wallMs += jumpMs;
      const nowMs = pass(ms);
      const wallMs = Math.floor(time.wallMs);
      const isFollowed = clock.followed !== followed;
      const isOrdered = isFollowed
        ? nowMs === wallMs && beforeMs - wallMs > CLOCK_HOLD_MAX_MS
        : nowMs >= beforeMs && nowMs >= wallMs;
      // Both clocks give whole milliseconds: a reading may round the lead and the step up by one.
      const isLeadSmall = jumpMs !== 0 || nowMs - wallMs <= Math.max(0, leadMs) + 1;
      const isStepSmall = nowMs === wallMs || nowMs - beforeMs <= ms / 2 + 1;
      if (!(Number.isSafeInteger(nowMs) && isOrdered && isLeadSmall && isStepSmall)) {
        throw new Error(`reading ${reading}: ${beforeMs} to ${nowMs}, wall clock ${wallMs}`);
      }
      beforeMs = nowMs;
    }
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
    expect(at(1, 103), "held: once for the hold").toEqual([103, 5]);
    expect(at(1, 104), "still held").toEqual([104, 7]);
    expect(at(2, 105), "caught up in the millisecond of the last reading, which may be seconds old").toEqual([105, 8]);
    expect(at(3, 106)).toEqual([106, 9]);
  });

  test("a monotonic clock is read in the first millisecond of all", () => {
    const clock = new HeldClock({ wallMs: () => 1, monoMs: () => 100 });
    clock.read();
    expect(clock.monoMs()).toBe(100);
  });
});
