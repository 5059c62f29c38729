import { describe, expect, test } from "vitest";
import type { BatchDecision, Decision } from "../engine/decision.ts";
import { Limiter } from "./limiter.ts";
import type { LimiterOptions } from "./options.ts";
import type { LimitRequest } from "./request.ts";

/** The start of a minute and of an hour. */
const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

function setUp(options: LimiterOptions = {}) {
  const time = { ms: START_MS };
  const clock = { wallMs: () => time.ms, monoMs: () => time.ms };
  const timers = { set: () => 1, clear: () => {} };
  const limiter = new Limiter({ cellsMax: 100, clock, timers, ...options });
  const decide = (fields: Partial<LimitRequest> = {}) => limiter.decide(ask(fields)) as Decision;
  return { limiter, time, decide };
}

function ask(fields: Partial<LimitRequest> = {}): LimitRequest {
  return { namespace: "api", identifier: "user_42", limit: 10, duration: "1m", ...fields };
}

describe("limiter", () => {
  test("a decision says what is left and when the window ends", () => {
    const { time, decide } = setUp();
    time.ms += 15_000;
    expect(decide({ cost: 3 })).toEqual({
      success: true,
      limit: 10,
      remaining: 7,
      reset: START_MS + MINUTE_MS,
      current: 3,
      reason: "allowed",
      source: "local",
      degraded: false,
      retryAfterMs: 0,
    });
    expect(decide()).toMatchObject({ success: true, remaining: 6, current: 4 });
  });

  test("limit is decide behind a promise, and limitMany is decideMany", async () => {
    const [one, other] = [setUp().limiter, setUp().limiter];
    for (let i = 0; i < 12; i++) expect(await one.limit(ask())).toEqual(other.decide(ask()));
    const requests = [ask({ identifier: "a" }), ask({ identifier: "b", cost: 4 })];
    expect(await one.limitMany(requests)).toEqual(other.decideMany(requests));
    expect(one.stats()).toEqual(other.stats());
  });

  test("a charge counts with the requests of its key, at once and beyond the limit, and stats tell of it", async () => {
    const { limiter, decide } = setUp();
    decide({ cost: 9 });
    expect(limiter.charge(ask({ cost: 5 }))).toMatchObject({ success: false, current: 14, over: 4, reason: "charged" });
    expect(decide()).toMatchObject({ success: false, current: 15 });
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1m" });
    expect(rule.charge("user_42")).toMatchObject({ current: 15, over: 5 });
    expect(rule.charge("b", { cost: 10 })).toMatchObject({ success: true, current: 10, remaining: 0 });
    const { decisions } = limiter.stats();
    expect(decisions).toMatchObject({ allowed: 1, denied: { limit: 1 }, charged: 3, overdrawn: 2 });
    await limiter.close();
    for (const act of [() => limiter.charge(ask()), () => limiter.chargeMany([ask()]), () => rule.charge("b")])
      expect(act).toThrow(expect.objectContaining({ code: "RL_CLOSED" }));
  });

  test("charges together are all counted, and their number has the bounds of a batch", () => {
    const { limiter } = setUp();
    const many = [ask({ identifier: "a", cost: 99 }), ask({ identifier: "b" })];
    expect(limiter.chargeMany(many)).toMatchObject({ success: false, decisions: [{ over: 89 }, { current: 1 }] });
    for (const bad of [[], Array(1_001).fill(ask()), null, "x"] as never[])
      expect(() => limiter.chargeMany(bad)).toThrow(expect.objectContaining({ code: "RL_BATCH_INVALID" }));
    expect(limiter.stats().decisions.charged).toBe(2);
  });

  test("a denial counts nothing, and says when the same cost would fit", () => {
    const { limiter, time, decide } = setUp();
    decide({ cost: 10 });
    const denied = decide();
    expect(denied).toMatchObject({ success: false, remaining: 0, current: 11, reason: "limit", degraded: false });
    // The next window starts with a share of 10; it falls to 9 after its first millisecond.
    expect(denied.reset).toBe(START_MS + MINUTE_MS + 1);
    expect(limiter.inspect(ask()).current.own).toBe(10);
    time.ms = denied.reset - 1;
    expect(decide().success).toBe(false);
    time.ms = denied.reset;
    expect(decide()).toMatchObject({ success: true, current: 10, remaining: 0 });
  });

  test("the previous window counts by the share that still overlaps, rounded down", () => {
    const { time, decide } = setUp();
    decide({ cost: 7 });
    time.ms += MINUTE_MS + 20_000;
    // floor(7 * 40,000 / 60,000) = 4
    expect(decide({ cost: 0 })).toMatchObject({ success: true, current: 4, remaining: 6 });
    time.ms += 40_000;
    expect(decide({ cost: 0 }).current, "two windows later it is over").toBe(0);
  });

  test("a peek creates no cell, sees what is there, and is denied when already over", () => {
    const { limiter, decide } = setUp();
    expect(decide({ cost: 0 })).toMatchObject({ success: true, current: 0, remaining: 10, reason: "allowed" });
    expect(limiter.stats().cells.live).toBe(0);
    expect(limiter.inspect(ask()).isKnown).toBe(false);
    decide({ cost: 6 });
    expect(decide({ cost: 0 })).toMatchObject({ success: true, current: 6, remaining: 4 });
    expect(decide({ cost: 0, limit: 6 })).toMatchObject({ success: true, remaining: 0 });
    expect(decide({ cost: 0, limit: 5 })).toMatchObject({ success: false, current: 6, remaining: 0, reason: "limit" });
    expect(limiter.inspect(ask()).current.own).toBe(6);
  });

  test("a cost above the limit never fits: reason cost, until the window's end, and no cell", () => {
    const { limiter, time, decide } = setUp();
    time.ms += 1;
    expect(decide({ cost: 11 })).toMatchObject({
      success: false,
      reason: "cost",
      reset: START_MS + MINUTE_MS,
      current: 11,
      remaining: 0,
    });
    expect(limiter.stats()).toMatchObject({ decisions: { denied: { cost: 1, limit: 0 } }, cells: { live: 0 } });
    expect(decide({ cost: 2 ** 40, limit: 2 ** 40 }), "the bounds themselves are legal").toMatchObject({
      success: true,
    });
  });

  test("a limit of 0 denies every cost, and lets a peek pass", () => {
    const { decide } = setUp();
    expect(decide({ limit: 0 })).toMatchObject({ success: false, reason: "cost", remaining: 0 });
    expect(decide({ limit: 0, cost: 0 })).toMatchObject({ success: true, remaining: 0 });
  });

  test("the limit is no part of the key: several limits meet one count", () => {
    const { limiter, decide } = setUp();
    expect(decide({ limit: 5, cost: 4 }).remaining).toBe(1);
    expect(decide({ limit: 100, cost: 4 }).remaining).toBe(92);
    expect(decide({ limit: 5 })).toMatchObject({ success: false, current: 9 });
    expect(limiter.stats().cells.live).toBe(1);
  });

  test("every part of a key keeps counts apart, the duration too", () => {
    const { limiter, decide } = setUp();
    const keys: Partial<LimitRequest>[] = [
      {},
      { duration: "1h" },
      { duration: 60_001 },
      { identifier: "user_4" },
      { namespace: "api2", identifier: "user_4" },
      { workspace: "acme" },
      { workspace: "api", namespace: "default" },
      { identifier: "__proto__" },
      { identifier: "constructor" },
      { identifier: "e\u0301" },
      { identifier: "é" },
    ];
    for (const [i, key] of keys.entries()) expect(decide({ ...key, cost: (i % 9) + 1 }).current).toBe((i % 9) + 1);
    for (const [i, key] of keys.entries()) expect(decide({ ...key, cost: 0 }).current).toBe((i % 9) + 1);
    expect(limiter.stats().cells.live).toBe(keys.length);
  });

  test("without a workspace the tenant is the default one, and a duration may be written in several ways", () => {
    const { limiter, decide } = setUp();
    decide();
    decide({ workspace: "default", duration: "60s" });
    expect(decide({ duration: 60_000 }).current).toBe(3);
    expect(limiter.stats().cells.live).toBe(1);
  });

  test("fields that are undefined are fields not given", () => {
    const { decide } = setUp();
    expect(decide({ workspace: undefined, cost: undefined } as never)).toMatchObject({ success: true, current: 1 });
    expect(decide({ workspace: "default" }).current).toBe(2);
  });

  test("a request may be any object: inherited fields, getters, no prototype, frozen", () => {
    const { limiter, decide } = setUp();
    const requests = [
      Object.create(ask()),
      Object.freeze(ask()),
      Object.assign(Object.create(null), ask()),
      Object.defineProperty(ask(), "cost", { get: () => 1 }),
    ];
    for (const request of requests) expect(limiter.decide(request)).toMatchObject({ success: true });
    expect(decide({ cost: 0 }).current).toBe(requests.length);
  });

  test("a request that asks the limiter itself while it is read is counted under its own key", () => {
    // Found so: the identifier was read after the scope, and a scope is valid until the next call only. The getter's own
    // question took the scope's place over, and the request was counted for another tenant.
    const { limiter, decide } = setUp();
    const other = { workspace: "axme", namespace: "aqi", duration: "2m" } as const;
    const request = Object.defineProperty(ask({ workspace: "acme" }), "identifier", {
      get: () => `user_${decide({ ...other, cost: 0 }).current}`,
    });
    void limiter.decide(request);
    void limiter.decideMany([request]);
    expect(decide({ ...other, identifier: "user_0", cost: 0 }).current).toBe(0);
    expect(decide({ workspace: "acme", identifier: "user_0", cost: 0 }).current).toBe(2);
  });

  test("a full table flags what it cannot record, and decides by whenFull", () => {
    // A table of one, whose only slot is used by the same operation: the second item finds nothing that may go.
    for (const whenFull of ["allow", "deny"] as const) {
      const { limiter } = setUp({ cellsMax: 1, whenFull });
      const { decisions } = limiter.decideMany([ask({ identifier: "a" }), ask({ identifier: "b" })]) as BatchDecision;
      expect(decisions[1]).toMatchObject({ success: whenFull === "allow", reason: "full", degraded: true });
      expect(limiter.stats().decisions.unrecorded).toBe(1);
    }
  });

  test("a full table evicts for a newcomer and says so", () => {
    const { limiter, decide } = setUp({ cellsMax: 2 });
    decide({ identifier: "a", cost: 9 });
    decide({ identifier: "b" });
    decide({ identifier: "c" });
    expect(["a", "b", "c"].map((identifier) => limiter.inspect(ask({ identifier })).isKnown)).toEqual([
      true,
      false,
      true,
    ]);
    const names = { nameBytes: 0, nameBytesMax: 0, nameExcessBytes: 0, nameExcessBytesMax: 0 };
    expect(limiter.stats().cells).toEqual({ live: 2, max: 2, expired: 0, evicted: 1, ...names });
  });

  test("inspect explains a key and counts nothing", () => {
    const { limiter, time, decide } = setUp();
    decide({ cost: 7 });
    time.ms += MINUTE_MS + 15_000;
    decide({ cost: 2, limit: 20 });
    const before = limiter.stats();
    // Without an origin nothing is fresh, and no key strict.
    const cell = { others: 0, foreign: 0, replayed: 0, published: 0, freshForMs: 0 };
    const [startMs, sequence] = [START_MS, START_MS / MINUTE_MS];
    const key = { namespace: "api", identifier: "user_42", duration: "1m" } as const;
    expect(limiter.inspect(key)).toEqual({
      workspace: "default",
      namespace: "api",
      identifier: "user_42",
      durationMs: MINUTE_MS,
      isKnown: true,
      previous: { ...cell, sequence, startMs, endMs: startMs + 60_000, own: 7, view: 7 },
      current: {
        ...cell,
        sequence: sequence + 1,
        startMs: startMs + 60_000,
        endMs: startMs + 120_000,
        own: 2,
        view: 2,
      },
      weight: 0.75,
      leftMs: 45_000,
      previousShare: 5,
      effective: 7,
      strictForMs: 0,
      limit: 20,
      reserved: { cost: 0, inMemory: 0, earliestMs: null },
      remaining: 13,
    });
    expect(limiter.inspect({ ...key, limit: 5 })).toMatchObject({ limit: 5, remaining: 0 });
    expect(limiter.inspect({ ...key, identifier: "unknown" })).toMatchObject({
      isKnown: false,
      limit: null,
      remaining: null,
    });
    expect(limiter.stats()).toEqual(before);
  });

  test("what inspect calls remaining is the largest cost that is allowed", () => {
    const { limiter, time, decide } = setUp();
    decide({ cost: 7 });
    time.ms += MINUTE_MS + 15_000;
    const remaining = limiter.inspect(ask()).remaining!;
    expect(decide({ cost: remaining + 1 }).success).toBe(false);
    expect(decide({ cost: remaining })).toMatchObject({ success: true, remaining: 0 });
  });

  test("stats tell the clock's jumps", () => {
    const { limiter, time, decide } = setUp();
    decide();
    time.ms -= 3_000;
    expect(decide().reset, "held: the window is not entered twice").toBe(START_MS + MINUTE_MS);
    time.ms -= 10 * MINUTE_MS;
    expect(decide().reset, "followed").toBeLessThan(START_MS);
    expect(limiter.stats().clock).toEqual({ held: 1, followed: 1 });
  });
});

describe("a clock that is corrected backwards", () => {
  /** Real time until a key with windows of 1 s, full at half of its window, is allowed again. */
  function deniedForMs(correctionMs: number): number {
    const time = { wallMs: START_MS + 500, monoMs: 7 };
    const clock = { wallMs: () => time.wallMs, monoMs: () => time.monoMs };
    const { decide } = setUp({ clock });
    const isAllowed = () => decide({ duration: 1_000 }).success;
    for (let i = 0; i < 10; i++) expect(isAllowed()).toBe(true);
    time.wallMs -= correctionMs;
    let passedMs = 0;
    for (; !isAllowed(); passedMs++) {
      time.wallMs++;
      time.monoMs++;
    }
    return passedMs;
  }

  test("denies a full key for at most the size of the correction longer, and for at most twice the time", () => {
    // Without a correction: to the end of the window, and 1 ms for the previous window's share to fall below the limit.
    expect(deniedForMs(0)).toBe(501);
    for (const correctionMs of [1, 2, 10, 100, 499, 500, 501, 1_000, 2_500, 4_900, 5_000]) {
      expect(deniedForMs(correctionMs)).toBeLessThanOrEqual(501 + Math.min(correctionMs, 501));
    }
    expect(deniedForMs(4_900)).toBe(1_002);
  });
});

describe("rule", () => {
  test("a rule decides as its limiter does with the same fields, and meets the same counts", async () => {
    const { limiter, decide } = setUp();
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1m" });
    expect(rule.decide("user_42")).toMatchObject({ success: true, current: 1 });
    expect(decide().current).toBe(2);
    expect(await rule.limit("user_42", { cost: 5 })).toMatchObject({ success: true, current: 7 });
    expect(rule.decide("user_42", {})).toMatchObject({ current: 8 });
    expect(rule.decide("user_42", { cost: 0 })).toMatchObject({ current: 8 });
    expect(rule.decide("user_42", { cost: 3 })).toMatchObject({ success: false, reason: "limit" });
    expect(rule.inspect("user_42")).toEqual(limiter.inspect(ask()));
  });

  test("two rules of one scope share counts, and a rule outlives a thousand other scopes", () => {
    const { limiter, decide } = setUp();
    const [strict, lax] = [5, 50].map((limit) =>
      limiter.rule({ workspace: "acme", namespace: "api", limit, duration: "1m" }),
    );
    void strict!.decide("a", { cost: 5 });
    for (let i = 0; i < 1_000; i++) decide({ workspace: `w${i}`, namespace: `n${i}`, cost: 0 });
    expect(strict!.decide("a")).toMatchObject({ success: false, limit: 5 });
    expect(lax!.decide("a")).toMatchObject({ success: true, limit: 50, current: 6 });
    expect(decide({ workspace: "acme", identifier: "a", limit: 50, cost: 0 }).current).toBe(6);
  });

  test("changing the options afterwards changes no rule", () => {
    const { limiter } = setUp();
    const options = { namespace: "api", limit: 10, duration: "1m" as const };
    const rule = limiter.rule(options);
    Object.assign(options, { namespace: "other", limit: 1, duration: "1h" });
    expect(rule.decide("a")).toMatchObject({ limit: 10, reset: START_MS + MINUTE_MS });
  });
});
