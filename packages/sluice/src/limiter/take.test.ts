import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { Processes } from "../../../../test/support/processes.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { Decision } from "../engine/decision.ts";
import { Limiter, type RuleTake } from "./limiter.ts";
import { WAITERS_MAX, WAITERS_TOTAL_MAX } from "./take.ts";

const MINUTE_MS = 60_000;

function setUp(limit = 10) {
  const time = new ManualTime();
  /** Whether each timer that was set keeps the process alive. */
  const alive: boolean[] = [];
  const timers = {
    set: (callback: () => void, delayMs: number, keepsAlive = false) => {
      alive.push(keepsAlive);
      return time.timers.set(callback, delayMs);
    },
    clear: (handle: unknown) => time.timers.clear(handle),
  };
  const limiter = new Limiter({ clock: time.clock, timers, random: new SeededRandom(7) });
  const rule = limiter.rule({ namespace: "upstream", limit, duration: "1m" });
  /** What became of takes, in the order in which it did. */
  const ended: string[] = [];
  const take = (name: string, request: RuleTake = {}, identifier = "a") => {
    const taken = rule.take(identifier, request);
    taken.then(
      ({ reason }) => ended.push(`${name} ${reason}`),
      (error: Error) => ended.push(`${name} ${error.name}`),
    );
    return taken;
  };
  // The housekeeping's timer, which never keeps a process alive, is not a take's.
  const takeTimers = () => alive.filter((one) => one).length;
  return { time, limiter, rule, take, ended, takeTimers };
}

describe("take", () => {
  test("that fits is counted at once, like a request", async () => {
    const { limiter, rule, takeTimers } = setUp();
    expect(await rule.take("a", { cost: 4 })).toMatchObject({ success: true, reason: "allowed", remaining: 6 });
    expect(await limiter.take({ namespace: "upstream", identifier: "a", limit: 10, duration: "1m" })).toMatchObject({
      success: true,
      current: 5,
    });
    expect([takeTimers(), limiter.stats().decisions.allowed]).toEqual([0, 2]);
  });

  test("wakes by reset, once, at the first moment at which its cost fits, and keeps the process alive until then", async () => {
    const { time, limiter, rule, take, ended, takeTimers } = setUp();
    rule.charge("a", { cost: 10 });
    const { retryAfterMs } = (await rule.limit("a", { cost: 3 })) as Decision;
    const { denied } = limiter.stats().decisions;
    const taken = take("one", { cost: 3 });
    await time.advance(retryAfterMs - 1);
    expect(ended).toEqual([]);
    expect(takeTimers()).toBe(1);
    await time.advance(1);
    expect(await taken).toMatchObject({ success: true, reason: "allowed", current: 10 });
    expect(takeTimers()).toBe(1);
    // A take that was allowed in the end was never denied.
    expect(limiter.stats().decisions.denied).toEqual(denied);
  });

  test("is served in order of arrival, however little a later one costs; other keys have their own line", async () => {
    const { time, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    void take("large", { cost: 10 });
    void take("small", { cost: 1 });
    void take("other", { cost: 10 }, "b");
    await time.settle();
    expect(ended).toEqual(["other allowed"]);
    // The previous window's 10 fall to 9 a millisecond into the next one: the small one would fit.
    await time.advance(MINUTE_MS + 1);
    expect(ended).toEqual(["other allowed"]);
    // Less than a tenth of that window is left: nothing of the 10 counts any more.
    await time.advance(MINUTE_MS - 5_000);
    expect(ended).toEqual(["other allowed", "large allowed"]);
    await time.advance(5_000);
    expect(ended).toEqual(["other allowed", "large allowed", "small allowed"]);
  });

  test("any takes, in any order: none overtakes another of its key, and each fits at a `limit` of its own", async () => {
    const step = fc.record({
      identifier: fc.constantFrom("a", "b"),
      cost: fc.integer({ min: 0, max: 11 }),
      maxWaitMs: fc.constantFrom(undefined, undefined, 0, 20_000, 90_000),
      passMs: fc.constantFrom(0, 0, 1, 700, 40_000),
      isAborted: fc.constantFrom(false, false, false, true),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { time, limiter, rule } = setUp();
        const allowed: Record<string, number[]> = { a: [], b: [] };
        const denials: number[] = [];
        const aborts: AbortController[] = [];
        const all = steps.map(() => 0);
        for (const [i, { identifier, cost, maxWaitMs, passMs, isAborted }] of steps.entries()) {
          const beganMs = time.monoMs;
          const abort = new AbortController();
          const taken = rule.take(identifier, { cost, maxWaitMs, signal: abort.signal });
          taken.then(
            ({ success, reason }) => {
              all[i]!++;
              const waitedMs = time.monoMs - beganMs;
              if (success) allowed[identifier]!.push(i);
              else denials.push(i);
              expect(waitedMs).toBeLessThanOrEqual(maxWaitMs ?? Number.POSITIVE_INFINITY);
              expect(reason).toBe(success ? "allowed" : cost > 10 ? "cost" : "timeout");
            },
            (error: unknown) => {
              all[i]!++;
              expect(error).toBe("enough");
            },
          );
          if (isAborted) aborts.push(abort);
          await time.advance(passMs);
          if (aborts.length > 1) aborts.shift()!.abort("enough");
        }
        // 25 takes of up to 10 each, one window for each and one to spare.
        await time.advance(30 * MINUTE_MS);
        expect(all.every((ends) => ends === 1)).toBe(true);
        for (const order of Object.values(allowed)) expect(order).toEqual([...order].sort((x, y) => x - y));
        const { denied } = limiter.stats().decisions;
        expect(denied.timeout + denied.cost).toBe(denials.length);
        expect([denied.limit, denied.waiters]).toEqual([0, 0]);
        await limiter.close();
        expect(time.pending).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  test("that cannot fit in time is denied at once; one in line when its time is over", async () => {
    const { time, limiter, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    expect(await rule.take("a", { maxWaitMs: MINUTE_MS })).toMatchObject({
      success: false,
      reason: "timeout",
      remaining: 0,
      current: 11,
      retryAfterMs: MINUTE_MS + 1,
    });
    expect(time.pending).toBeLessThanOrEqual(1);
    const first = take("first", { cost: 10, maxWaitMs: 2 * MINUTE_MS });
    void take("second", { cost: 1, maxWaitMs: MINUTE_MS + 100 });
    await time.advance(MINUTE_MS + 99);
    expect(ended).toEqual([]);
    await time.advance(1);
    expect(ended).toEqual(["second timeout"]);
    // Counted by somebody else: the first one's reset is now after its deadline.
    rule.charge("a", { cost: 10 });
    await time.advance(MINUTE_MS);
    expect(await first).toMatchObject({ success: false, reason: "timeout" });
    expect(limiter.stats().decisions.denied).toMatchObject({ timeout: 3, limit: 0 });
  });

  test("that can never fit is denied with the reason cost, before all that wait", async () => {
    const { rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    void take("waits").catch(() => {});
    expect(await rule.take("a", { cost: 11 })).toMatchObject({ success: false, reason: "cost" });
    expect(ended).toEqual([]);
  });

  test("without room in line is denied at once: 1,000 of a key, 10,000 in all", async () => {
    const { limiter, rule, take } = setUp();
    const swallow = (taken: Promise<Decision>) => void taken.catch(() => {});
    rule.charge("a", { cost: 10 });
    for (let i = 0; i < WAITERS_MAX; i++) swallow(take(`${i}`));
    expect(await rule.take("a")).toMatchObject({ success: false, reason: "waiters", current: 11 });
    for (let key = 1; key < WAITERS_TOTAL_MAX / WAITERS_MAX; key++) {
      rule.charge(`k${key}`, { cost: 10 });
      for (let i = 0; i < WAITERS_MAX; i++) swallow(take(`${i}`, {}, `k${key}`));
    }
    rule.charge("z", { cost: 10 });
    expect(await rule.take("z")).toMatchObject({ success: false, reason: "waiters" });
    // What needs no place in line is not affected.
    expect(await rule.take("free")).toMatchObject({ success: true });
    expect(limiter.stats().decisions.denied.waiters).toBe(2);
    await limiter.close();
  });

  test("that is aborted rejects with the signal's reason and leaves its place to the next one", async () => {
    const { time, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    const pending = time.pending;
    const abort = new AbortController();
    const first = take("first", { cost: 10, signal: abort.signal });
    void take("second", { cost: 1 });
    await time.advance(MINUTE_MS + 1);
    expect(ended).toEqual([]);
    const reason = new RangeError("changed my mind");
    abort.abort(reason);
    await expect(first).rejects.toBe(reason);
    await time.settle();
    expect(ended).toEqual(["first RangeError", "second allowed"]);
    expect(time.pending).toBeLessThanOrEqual(pending);
    await expect(rule.take("a", { signal: abort.signal })).rejects.toBe(reason);
    await expect(rule.take("free", { signal: abort.signal })).rejects.toBe(reason);
    expect(rule.inspect("free").effective).toBe(0);
  });

  test("waits are ended by close, all of them, and no timer is left", async () => {
    const { time, limiter, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    for (const name of ["one", "two", "three"]) void take(name, { maxWaitMs: 5 * MINUTE_MS }).catch(() => {});
    const closed = expect(rule.take("a")).rejects.toMatchObject({ code: "RL_CLOSED" });
    await limiter.close();
    await closed;
    expect(ended).toEqual(["one SluiceError", "two SluiceError", "three SluiceError"]);
    expect(time.pending).toBe(0);
    await expect(rule.take("a")).rejects.toMatchObject({ code: "RL_CLOSED" });
    await expect(limiter.take({ namespace: "n", identifier: "i", limit: 1, duration: "1s" })).rejects.toMatchObject({
      code: "RL_CLOSED",
    });
  });

  test("waits that close ends are not served, even if one behind the first would fit", async () => {
    const { time, limiter, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    take("large", { cost: 10 }).catch(() => {});
    take("small", { cost: 1 }).catch(() => {});
    await time.advance(MINUTE_MS + 1);
    await limiter.close();
    expect(ended).toEqual(["large SluiceError", "small SluiceError"]);
  });

  test("a clock that fails ends the waits that meet it, and nothing is counted", async () => {
    const { time, rule, take, ended } = setUp();
    rule.charge("a", { cost: 10 });
    take("one").catch(() => {});
    time.jumpWall(Number.NaN);
    await time.advance(2 * MINUTE_MS);
    expect(ended).toEqual(["one SluiceError"]);
  });

  test.each([
    ["maxWaitMs", -1, "RL_INTERVAL_INVALID"],
    ["maxWaitMs", Number.NaN, "RL_INTERVAL_INVALID"],
    ["maxWaitMs", "5s", "RL_INTERVAL_INVALID"],
    ["maxWaitMs", 5_184_000_001, "RL_INTERVAL_INVALID"],
    ["signal", {}, "RL_SIGNAL_INVALID"],
    ["signal", null, "RL_SIGNAL_INVALID"],
    ["cost", -1, "RL_COST_INVALID"],
  ])("with a bad %s, %s, is refused, and nothing is counted", async (field, value, code) => {
    const { limiter, rule } = setUp();
    await expect(rule.take("a", { [field]: value })).rejects.toMatchObject({ code, field });
    const request = { namespace: "upstream", identifier: "a", limit: 10, duration: "1m" } as const;
    const taken =
      field === "cost"
        ? limiter.take({ ...request, cost: value as number })
        : limiter.take(request, { [field]: value });
    await expect(taken).rejects.toMatchObject({ code, field });
    expect(rule.inspect("a").effective).toBe(0);
  });

  test.each([5, "x", null])("of a rule with options that are no object is refused: %s", async (request) => {
    const { limiter, rule } = setUp();
    await expect(rule.take("a", request as never)).rejects.toMatchObject({ code: "RL_REQUEST_INVALID" });
    await expect(rule.take("a", { maxWaitMS: 5 } as never)).rejects.toThrow("did you mean maxWaitMs?");
    await expect(limiter.take({} as never, 5 as never)).rejects.toMatchObject({ code: "RL_OPTIONS_INVALID" });
  });
});

describe("take, with an origin", () => {
  /** A process whose key the origin has more of than it knows. */
  async function behind() {
    const world = new Processes();
    const process = world.start();
    const other = world.start();
    const request = { namespace: "api", identifier: "user_42", limit: 10, duration: MINUTE_MS } as const;
    await other.ask({ limit: 10, cost: 10 });
    await world.time.advance(100);
    return { ...process, world, time: world.time, request };
  }

  test("goes back to its place when the origin has no room, which is not a denial, and is allowed when there is", async () => {
    const { limiter, time, request } = await behind();
    const taken = limiter.take(request);
    await time.settle();
    expect(limiter.stats().decisions.denied.limit).toBe(0);
    expect(limiter.inspect(request).effective).toBe(10);
    await time.advance(2 * MINUTE_MS);
    expect(await taken).toMatchObject({ success: true, reason: "allowed" });
    expect(limiter.stats().decisions.denied).toMatchObject({ limit: 0, timeout: 0 });
  });

  test("gives up when the origin's answer shows that it cannot fit in time", async () => {
    const { limiter, time, request } = await behind();
    const taken = limiter.take(request, { maxWaitMs: 1_000 });
    await time.settle();
    expect(await taken).toMatchObject({ success: false, reason: "timeout" });
    expect(limiter.stats().decisions.denied).toMatchObject({ limit: 0, timeout: 1 });
    // It is a denial like any other: the key is strict.
    expect(limiter.inspect(request).strictForMs).toBeGreaterThan(0);
  });

  test("that is aborted or closed while it is being decided is answered first", async () => {
    for (const hasRoom of [true, false]) {
      for (const how of ["abort", "close"] as const) {
        const { limiter, world, time, request } = await behind();
        world.origin.trouble("stalled");
        const abort = new AbortController();
        const mine = hasRoom ? { ...request, identifier: "free" } : request;
        const taken = limiter.take(mine, { signal: abort.signal });
        const outcome = taken.then(
          ({ success }) => success,
          (error: unknown) => error,
        );
        await time.settle();
        if (how === "abort") abort.abort("enough");
        const closing = how === "close" ? limiter.close() : null;
        world.origin.heal();
        await time.advance(500);
        const refused = how === "abort" ? "enough" : expect.objectContaining({ code: "RL_CLOSED" });
        expect(await outcome).toEqual(hasRoom ? true : refused);
        await closing;
      }
    }
  });
});
