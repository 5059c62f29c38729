import { describe, expect, test } from "vitest";
import { Limiter } from "./limiter.ts";
import type { LimitRequest } from "./request.ts";

const START_MS = 1_800_000_000_000;

/** Timers that run when they are told to, and count what was asked of them. */
function setUp(handleOf: (id: number) => unknown = (id) => id, cellsMax = 100) {
  const time: { ms: number } = { ms: START_MS };
  const pending = new Map<unknown, () => void>();
  const asked = { sets: 0, clears: 0, delaysMs: [] as number[] };
  const timers = {
    set(callback: () => void, delayMs: number) {
      const handle = handleOf(++asked.sets);
      asked.delaysMs.push(delayMs);
      pending.set(handle, callback);
      return handle;
    },
    clear(handle: unknown) {
      asked.clears++;
      pending.delete(handle);
    },
  };
  const fire = () => {
    const [entry] = pending;
    if (entry === undefined) throw new Error("no timer is pending");
    pending.delete(entry[0]);
    entry[1]();
  };
  const limiter = new Limiter({ cellsMax, timers, clock: { wallMs: () => time.ms, monoMs: () => time.ms } });
  return { limiter, timers, time, pending, asked, fire };
}

function ask(identifier: string, fields: Partial<LimitRequest> = {}): LimitRequest {
  return { namespace: "api", identifier, limit: 10, duration: "1s", ...fields };
}

describe("housekeeping", () => {
  test("an idle limiter arms no timer", () => {
    const { limiter, asked } = setUp();
    limiter.stats();
    limiter.inspect(ask("a"));
    void limiter.decide(ask("a", { cost: 0 }));
    void limiter.decide(ask("a", { cost: 11 }));
    void limiter.decideMany([ask("a", { cost: 0 }), ask("b", { cost: 11 })]);
    const rule = limiter.rule({ namespace: "api", limit: 1, duration: "1s" });
    rule.inspect("a");
    expect(asked.sets).toBe(0);
  });

  test("one timer serves all keys", () => {
    const { limiter, asked, pending } = setUp();
    for (let i = 0; i < 50; i++) void limiter.decide(ask(`user_${i}`));
    void limiter.decideMany([ask("a"), ask("b")]);
    expect([asked.sets, pending.size]).toEqual([1, 1]);
    expect(asked.delaysMs).toEqual([1_000]);
  });

  test("expired keys are swept while nobody asks, and then the timer rests", () => {
    const { limiter, time, asked, pending, fire } = setUp();
    void limiter.decide(ask("short"));
    void limiter.decide(ask("long", { duration: "1m" }));
    time.ms += 1_000;
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 2, expired: 0 });
    time.ms += 1_000;
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 1, expired: 1 });
    expect(pending.size, "something is left to sweep").toBe(1);
    time.ms += 120_000;
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 0, expired: 2 });
    expect(pending.size, "nothing is left").toBe(0);
    void limiter.decide(ask("again"));
    expect([pending.size, asked.sets]).toEqual([1, 4]);
  });

  test("a step frees 8,192 keys at most, and is then followed soon by the next", () => {
    const { limiter, time, asked, fire } = setUp(undefined, 10_000);
    for (let i = 0; i < 8_192 + 5; i++) void limiter.decide(ask(`user_${i}`));
    time.ms += 2_000;
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 5, expired: 8_192 });
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 0, expired: 8_197 });
    expect(asked.delaysMs).toEqual([1_000, 50]);
  });

  test.each([
    ["a number", (id: number) => id],
    ["0", () => 0],
    ["an object", (id: number) => ({ id })],
    ["undefined, which is a legal handle", () => undefined],
  ])("close leaves no timer pending, where a handle is %s", async (_, handleOf) => {
    const { limiter, asked, pending } = setUp(handleOf);
    void limiter.decide(ask("a"));
    await limiter.close();
    expect(pending.size).toBe(0);
    await limiter.close();
    expect(asked).toMatchObject({ sets: 1, clears: 1 });
  });

  test("closing an idle limiter clears nothing", async () => {
    const { limiter, asked } = setUp();
    await limiter.close();
    expect(asked).toMatchObject({ sets: 0, clears: 0 });
  });

  test("a timer that fires after close does nothing and arms none", async () => {
    const { limiter, time, asked, pending } = setUp();
    void limiter.decide(ask("a"));
    const late = [...pending.values()];
    await limiter.close();
    time.ms += 60_000;
    for (const callback of late) callback();
    expect(limiter.stats().cells).toMatchObject({ live: 1, expired: 0 });
    expect([asked.sets, pending.size]).toEqual([1, 0]);
  });

  test("a step looks at 65,536 slots at most", () => {
    // One key in 16 expires: a look at 65,536 slots frees 4,096, well below the bound of what may be freed.
    const keys = 16 * 9_000;
    const { limiter, time, asked, fire } = setUp(undefined, keys);
    for (let i = 0; i < keys; i++) void limiter.decide(ask(`user_${i}`, { duration: i % 16 === 0 ? "1s" : "1h" }));
    time.ms += 2_000;
    for (const expired of [4_096, 8_192, 9_000, 9_000]) {
      fire();
      expect(limiter.stats().cells).toMatchObject({ live: keys - expired, expired });
    }
    expect(asked.delaysMs, "the bound of what is looked at makes no hurry").toEqual([
      1_000, 1_000, 1_000, 1_000, 1_000,
    ]);
  });

  test("a claim looks at 4 slots for expired ones", () => {
    // Every second key expires: a claim frees 2, wherever it looks.
    const { limiter, time } = setUp(undefined, 1_000);
    for (let i = 0; i < 400; i++) void limiter.decide(ask(`user_${i}`, { duration: i % 2 === 0 ? "1s" : "1h" }));
    time.ms += 2_000;
    const freedBy = (request: () => unknown) => {
      const { expired } = limiter.stats().cells;
      request();
      return limiter.stats().cells.expired - expired;
    };
    for (let i = 0; i < 50; i++) {
      expect(freedBy(() => limiter.decide(ask(`new_${i}`, { duration: "1h" })))).toBeLessThanOrEqual(2);
      expect(
        freedBy(() => limiter.decide(ask(`new_${i}`, { duration: "1h" }))),
        "no claim, no look",
      ).toBe(0);
      expect(
        freedBy(() => limiter.decide(ask("user_1", { duration: "1h", cost: 11 }))),
        "a denial",
      ).toBe(0);
    }
    // 50 claims looked at 200 places: nearly all of them at old keys, half of which are expired.
    expect(limiter.stats().cells.expired).toBeGreaterThanOrEqual(90);
    expect(limiter.stats().cells.expired).toBeLessThanOrEqual(100);
  });

  test("a claim where all others have expired frees 4", () => {
    const { limiter, time } = setUp(undefined, 1_000);
    for (let i = 0; i < 400; i++) void limiter.decide(ask(`user_${i}`));
    time.ms += 2_000;
    for (let i = 1; i <= 50; i++) {
      void limiter.decide(ask(`new_${i}`));
      expect(limiter.stats().cells.expired).toBeLessThanOrEqual(4 * i);
    }
    expect(limiter.stats().cells.expired, "claims look anew at what they have just filled, once").toBeGreaterThan(190);
  });

  test("a clock that fails once during a step does not end the housekeeping", () => {
    const { limiter, time, asked, pending, fire } = setUp();
    void limiter.decide(ask("a"));
    time.ms = Number.NaN;
    expect(fire, "a timer has nobody to tell").not.toThrow();
    expect([pending.size, asked.sets], "the next step is due, though nobody asks").toEqual([1, 2]);
    expect(limiter.stats().cells).toMatchObject({ live: 1, expired: 0 });
    time.ms = START_MS + 60_000;
    fire();
    expect(limiter.stats().cells).toMatchObject({ live: 0, expired: 1 });
  });

  test("where timers fail, a decision is given and counted all the same, and the next one tries again", () => {
    const { limiter, timers, time, pending, fire } = setUp();
    const { set } = timers;
    let tries = 0;
    timers.set = () => {
      tries++;
      throw new Error("no timers left");
    };
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1s" });
    expect(limiter.decide(ask("a"))).toMatchObject({ success: true, reason: "allowed", remaining: 9 });
    expect(rule.decide("a")).toMatchObject({ success: true, remaining: 8 });
    expect(limiter.decideMany([ask("a"), ask("b")])).toMatchObject({ success: true });
    expect([limiter.inspect(ask("a")).current.own, limiter.inspect(ask("b")).current.own]).toEqual([3, 1]);
    expect([tries, pending.size]).toEqual([3, 0]);
    timers.set = set;
    void limiter.decide(ask("a"));
    expect(pending.size).toBe(1);
    // And where they fail again within a step, the next decision arms anew.
    timers.set = () => {
      throw new Error("no timers left");
    };
    expect(fire).not.toThrow();
    expect(pending.size).toBe(0);
    timers.set = set;
    void limiter.decide(ask("a"));
    time.ms += 2_000;
    fire();
    expect(limiter.stats().cells.live).toBe(0);
  });

  test("after close every method that decides refuses, and those that look still answer", async () => {
    const { limiter } = setUp();
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1s" });
    void limiter.decide(ask("a"));
    const before = limiter.stats();
    await limiter.close();
    const refused = expect.objectContaining({ code: "RL_CLOSED", field: "limiter" });
    expect(() => limiter.decide(ask("a"))).toThrow(refused);
    expect(() => limiter.decide(ask("a", { cost: 0 }))).toThrow(refused);
    expect(() => limiter.decideMany([ask("a")])).toThrow(refused);
    expect(() => rule.decide("a")).toThrow(refused);
    expect(() => limiter.rule({ namespace: "api", limit: 10, duration: "1s" })).toThrow(refused);
    await expect(limiter.limit(ask("a"))).rejects.toThrow(refused);
    await expect(limiter.limitMany([ask("a")])).rejects.toThrow(refused);
    await expect(rule.limit("a")).rejects.toThrow(refused);
    expect(limiter.stats()).toEqual(before);
    expect(limiter.inspect(ask("a")).current.own).toBe(1);
    expect(rule.inspect("a").current.own).toBe(1);
  });
});
