/**
 * A clock or a `trace` callback that fails is reported to the caller whose decision it concerns. Nothing else may fail with it: an
 * unhandled rejection, or an error in a timer's callback, ends a Node process.
 */

import type { Clock, LimiterOptions, TraceEvent } from "sluice";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FLUSH_MS, MINUTE_MS, Processes, request } from "../support/processes.ts";

const unhandled: unknown[] = [];
const listen = (error: unknown) => void unhandled.push(error);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", listen);
});

afterEach(() => {
  process.off("unhandledRejection", listen);
});

class BadTrace extends Error {}

/** A clock that gives the time until it is broken. */
function breakable(clock: Clock) {
  const state = { wall: undefined as (() => number) | undefined };
  return { state, clock: { wallMs: () => state.wall?.() ?? clock.wallMs(), monoMs: () => clock.monoMs() } };
}

const BROKEN: readonly (readonly [string, () => number])[] = [
  ["is before 1970", () => -1],
  ["is not a number", () => Number.NaN],
  [
    "throws",
    () => {
      throw new RangeError("no clock");
    },
  ],
];

const two = [request({ identifier: "a" }), request({ identifier: "b" })];

describe("a clock that fails while the origin is read", () => {
  test.each(BROKEN)("%s: a batch is rejected with the clock's error, and nothing else fails", async (_, wall) => {
    const world = new Processes();
    const { state, clock } = breakable(world.time.clock);
    const { limiter } = world.start({ clock });
    world.origin.trouble("stalled", "reads");
    const many = limiter.limitMany(two);
    const one = limiter.limit(request({ identifier: "c" }));
    const answers = Promise.allSettled([many, one]);
    await world.time.settle();
    state.wall = wall;
    world.origin.heal();
    // The origin has counted the single request: it is answered as of the last valid time.
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    await world.time.settle();
    expect(unhandled.slice(0, 3)).toEqual([]);
    // The clock is right again: the keys are read again, at once.
    state.wall = undefined;
    await world.time.advance(300);
    expect(await limiter.limitMany(two)).toMatchObject({ success: true, decisions: [{ degraded: false }, {}] });
    expect(limiter.stats().origin?.readsInFlight).toBe(0);
  });

  test("a batch that is decided after the clock has recovered is decided from memory, and degraded", async () => {
    const world = new Processes();
    const { state, clock } = breakable(world.time.clock);
    const { limiter } = world.start({ clock });
    // The clock fails for one reading: the one that merges what was read.
    let isReading = false;
    const read = world.origin.read.bind(world.origin);
    world.origin.read = async (reads) => {
      const answers = await read(reads);
      isReading = true;
      return answers;
    };
    state.wall = () => {
      if (!isReading) return world.time.wallMs;
      isReading = false;
      return Number.NaN;
    };
    const answer = await limiter.limitMany([request()]);
    expect([answer.decisions[0]!.degraded, unhandled]).toEqual([true, []]);
  });
});

describe("a trace callback that throws", () => {
  test.each(["decision", "read", "raise", "admit"])("on every %s: the caller's error is the only one", async (kind) => {
    const world = new Processes();
    const trace = (event: TraceEvent) => {
      if (event.kind === kind) throw new BadTrace(kind);
    };
    const { limiter } = world.start({ trace });
    const [batch, one] = await Promise.allSettled([limiter.limitMany(two), limiter.limit(request())]);
    const isRejected = kind === "decision";
    expect([batch!.status, one!.status]).toEqual(Array(2).fill(isRejected ? "rejected" : "fulfilled"));
    if (one!.status === "rejected") expect(one!.reason).toBeInstanceOf(BadTrace);
    await world.time.advance(4 * FLUSH_MS);
    expect(unhandled.slice(0, 3)).toEqual([]);
    expect(limiter.stats().origin?.unreplayed).toBe(0);
    expect(await limiter.close()).toEqual({ lost: 0 });
  });
});

describe("the background", () => {
  const layers = (world: Processes): LimiterOptions => ({
    region: "eu",
    global: world.counters,
    globalMode: "both",
    onEvent: () => {
      throw new Error("listener");
    },
  });

  /** Every loop runs in this time: flushes, hurried ones, publish, import, denials, cleanup, the watch and the sweep. */
  const ALL_LOOPS_MS = 2 * MINUTE_MS;

  test("goes on with a trace that always throws", async () => {
    const world = new Processes();
    const kinds = new Set<string>();
    const trace = (event: TraceEvent) => {
      kinds.add(event.kind);
      if (event.kind !== "decision") throw new BadTrace(event.kind);
    };
    const eu = world.start({ ...layers(world), trace });
    const us = world.startRegion("us", { globalMode: "both", trace });
    for (let second = 0; second < ALL_LOOPS_MS / 1_000; second++) {
      void eu.limiter.limit(request());
      void eu.limiter.limit(request({ identifier: `peek ${second}`, cost: 0 }));
      void us.limiter.limit(request({ limit: 1_000, cost: 50 }));
      await world.time.advance(1_000);
    }
    expect([...kinds].sort()).toEqual(["admit", "decision", "denial", "import", "inflate", "publish", "raise", "read"]);
    expect(unhandled.slice(0, 3)).toEqual([]);
    const { origin, global } = eu.limiter.stats();
    expect([origin?.failed, origin?.unreplayed, global?.roundsFailed]).toEqual([0, 0, 0]);
    expect(global?.rowsPublished).toBeGreaterThan(0);
  });

  test.each(BROKEN)("survives a wall clock that fails for two minutes: it %s", async (_, wall) => {
    const world = new Processes();
    const { state, clock } = breakable(world.time.clock);
    const { limiter, ask } = world.start({ ...layers(world), clock });
    await ask({ cost: 9 });
    await limiter.limit(request({ cost: 5 }));
    state.wall = wall;
    await world.time.advance(ALL_LOOPS_MS);
    expect(unhandled.slice(0, 3)).toEqual([]);
    state.wall = undefined;
    await world.time.advance(10_000);
    expect(await ask()).toMatchObject({ success: true, degraded: false });
    await world.time.advance(1_000);
    expect(unhandled.slice(0, 3)).toEqual([]);
    const closing = limiter.close();
    await world.time.advance(1_000);
    expect(await closing).toEqual({ lost: 0 });
  });

  test("survives a monotonic clock that throws for two minutes", async () => {
    const world = new Processes();
    let isBroken = false;
    const { wallMs, monoMs } = world.time.clock;
    const clock = {
      wallMs,
      monoMs: () => {
        if (isBroken) throw new RangeError("no clock");
        return monoMs();
      },
    };
    const { ask } = world.start({ ...layers(world), clock });
    await ask();
    isBroken = true;
    await world.time.advance(ALL_LOOPS_MS);
    isBroken = false;
    await world.time.advance(10_000);
    expect(await ask()).toMatchObject({ success: true, degraded: false });
    expect(unhandled.slice(0, 3)).toEqual([]);
  });
});
