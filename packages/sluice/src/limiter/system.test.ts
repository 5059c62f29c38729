/** The real clock, timers and randomness: the one place where tests meet real time. They wait for conditions, not for spans. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock, systemRandom, systemTimers, systemWarn } from "./system.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe("system clock", () => {
  test("wall time is the machine's", () => {
    const before = Date.now();
    const wallMs = systemClock.wallMs();
    expect(wallMs).toBeGreaterThanOrEqual(before);
    expect(wallMs).toBeLessThanOrEqual(Date.now());
  });

  test("monotonic time advances and never goes back", () => {
    const beganMs = systemClock.monoMs();
    let lastMs = beganMs;
    // 3 ms at the most of reading, or 20 million readings: a clock that stands still ends the loop as well.
    for (let i = 0; i < 20_000_000 && lastMs < beganMs + 3; i++) {
      const nowMs = systemClock.monoMs();
      if (nowMs < lastMs) throw new Error(`monotonic time fell from ${lastMs} to ${nowMs}`);
      lastMs = nowMs;
    }
    expect(lastMs).toBeGreaterThanOrEqual(beganMs + 3);
  });

  test("monotonic time runs in milliseconds, as the wall clock does", () => {
    const began = { wallMs: systemClock.wallMs(), monoMs: systemClock.monoMs() };
    while (systemClock.wallMs() < began.wallMs + 20);
    // 20 ms of wall time, its rounding of 1 ms at both ends, and whatever the machine lets this process wait between.
    expect(systemClock.monoMs() - began.monoMs).toBeGreaterThan(18);
    expect(systemClock.monoMs() - began.monoMs).toBeLessThan(10_000);
  });

  test("a wall clock that is set back takes no monotonic time with it", () => {
    const before = { wallMs: systemClock.wallMs(), monoMs: systemClock.monoMs() };
    vi.useFakeTimers({ toFake: ["Date"], now: before.wallMs - 3_600_000 });
    expect(systemClock.wallMs()).toBeLessThan(before.wallMs);
    expect(systemClock.monoMs()).toBeGreaterThanOrEqual(before.monoMs);
  });
});

describe("system timers", () => {
  test("a timer calls back once, not before its delay is over", async () => {
    const beganMs = performance.now();
    let calls = 0;
    const tookMs = await new Promise<number>((resolve) => {
      systemTimers.set(() => {
        calls++;
        resolve(performance.now() - beganMs);
      }, 20);
    });
    // Node counts whole milliseconds from the begin of its turn: up to 1 ms less.
    expect(tookMs).toBeGreaterThanOrEqual(19);
    await new Promise<void>((resolve) => void systemTimers.set(resolve, 40));
    expect(calls).toBe(1);
  });

  test("a timer that was cleared never calls back", async () => {
    let cleared = 0;
    const handles = [1, 2, 3].map((delayMs) => systemTimers.set(() => cleared++, delayMs));
    for (const handle of handles) systemTimers.clear(handle);
    // Timers run in the order of their ends: when a later one has run, these would have.
    await new Promise<void>((resolve) => void systemTimers.set(resolve, 30));
    expect(cleared).toBe(0);
  });

  test("clearing twice, after the call, or what is no handle does nothing", async () => {
    const handle = await new Promise<unknown>((resolve) => {
      const set: unknown = systemTimers.set(() => resolve(set), 1);
    });
    for (const one of [handle, handle, undefined]) expect(() => systemTimers.clear(one)).not.toThrow();
  });

  test("a pending timer keeps no process alive, unless that is asked for", () => {
    const handle = systemTimers.set(() => {}, 60_000) as NodeJS.Timeout;
    expect(handle.hasRef()).toBe(false);
    systemTimers.clear(handle);
    const kept = systemTimers.set(() => {}, 60_000, true) as NodeJS.Timeout;
    expect(kept.hasRef()).toBe(true);
    systemTimers.clear(kept);
  });
});

describe("system timers where a timer is a number", () => {
  test("a timer is set, and Deno's is kept from holding the process", () => {
    const unrefTimer = vi.fn();
    vi.stubGlobal("setTimeout", () => 17);
    expect(systemTimers.set(() => {}, 1_000)).toBe(17);
    vi.stubGlobal("Deno", { unrefTimer });
    expect(systemTimers.set(() => {}, 1_000)).toBe(17);
    expect(systemTimers.set(() => {}, 1_000, true)).toBe(17);
    expect(unrefTimer.mock.calls).toEqual([[17]]);
  });
});

describe("system warnings", () => {
  test("go to the process, and to the console where there is none", () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    systemWarn("beware", "CODE");
    expect(emitWarning.mock.calls).toEqual([["beware", { code: "CODE" }]]);
    vi.stubGlobal("process", undefined);
    systemWarn("beware", "CODE");
    vi.unstubAllGlobals();
    expect(warn.mock.calls).toEqual([["beware (CODE)"]]);
  });
});

describe("system randomness", () => {
  const DRAWS = 10_000;
  const draw = (count: number) => Array.from({ length: count }, () => systemRandom.uint32());

  test("every draw is an integer of 32 bits", () => {
    expect(draw(DRAWS).every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32)).toBe(true);
  });

  test("no 64 values in a row come a second time, wherever they begin", () => {
    // Drawn in blocks of 64, so a block that is not drawn anew shows as a period of 64. Runs of two suffice to tell: among
    // 10,000 pairs of 64 random bits two are equal with a probability of 10^8 / 2 / 2^64 = 3 * 10^-12.
    const values = draw(DRAWS);
    const pairs = new Set(values.slice(1).map((value, i) => `${values[i]},${value}`));
    expect(pairs.size).toBe(DRAWS - 1);
    const blocks = Array.from({ length: DRAWS >> 6 }, (_, i) => values.slice(64 * i, 64 * i + 64).join());
    expect(new Set(blocks).size).toBe(blocks.length);
  });

  test("every bit is set in half of the draws", () => {
    // Mean 5,000, deviation sqrt(10,000) / 2 = 50. Seven deviations: 32 bits miss it once in 10^10 runs.
    const values = draw(DRAWS);
    for (let bit = 0; bit < 32; bit++) {
      const set = values.filter((value) => ((value >>> bit) & 1) === 1).length;
      expect(Math.abs(set - DRAWS / 2), `bit ${bit}`).toBeLessThan(7 * 50);
    }
  });

  test("neighbouring draws agree in half of their bits", () => {
    // 9,999 pairs of 32 bits: mean 159,984, deviation sqrt(319,968) / 2 = 283; a counter, or a value drawn twice, is far off.
    const values = draw(DRAWS);
    let differing = 0;
    for (let i = 1; i < DRAWS; i++) {
      for (let bits = (values[i]! ^ values[i - 1]!) >>> 0; bits !== 0; bits = (bits & (bits - 1)) >>> 0) differing++;
    }
    expect(Math.abs(differing - 159_984)).toBeLessThan(7 * 283);
  });
});
