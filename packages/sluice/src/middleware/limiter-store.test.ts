/** The store: what it counts, and what it refuses when the middleware is made. */
import { describe, expect, test } from "vitest";
import { Limiter } from "../limiter/limiter.ts";
import { ManualTime } from "../limiter/manual-time.ts";
import { limiterStore, type StoreOptions } from "./limiter-store.ts";

const MIDDLEWARE = { windowMs: 60_000, limit: 2 };

function storeOf(options: StoreOptions = {}, middleware: object = {}) {
  const time = new ManualTime();
  const limiter = new Limiter({ cellsMax: 100, clock: time.clock, timers: time.timers });
  const store = limiterStore({ limiter, ...options });
  store.init({ ...MIDDLEWARE, ...middleware });
  return { time, limiter, store };
}

describe("store of express-rate-limit", () => {
  test("counts every hit, refused ones too, until the window is over", async () => {
    const { time, store } = storeOf();
    const hits: number[] = [];
    for (let i = 0; i < 4; i++) hits.push((await store.increment("a")).totalHits);
    expect(hits).toEqual([1, 2, 3, 4]);
    expect((await store.get("a")).totalHits).toBe(4);
    expect((await store.increment("b")).totalHits).toBe(1);
    await time.advance(120_000);
    expect((await store.increment("a")).totalHits).toBe(1);
  });

  test("a key of any length is counted, and the reset is by the limiter's clock", async () => {
    const { time, store } = storeOf();
    const { totalHits, resetTime } = await store.increment("k".repeat(10_000));
    expect([totalHits, resetTime.getTime()]).toEqual([1, time.nowMs + 60_000]);
  });

  test.each<[string, StoreOptions, object, RegExp]>([
    ["skipFailedRequests", {}, { skipFailedRequests: true }, /^skipFailedRequests must be false; count by outcome/],
    ["skipSuccessfulRequests", {}, { skipSuccessfulRequests: true }, /^skipSuccessfulRequests must be false/],
    ["a limit by request that the store does not know", {}, { limit: () => 5 }, /^limit must be given to the store/],
    ["a window below a second", {}, { windowMs: 999 }, /^windowMs must be from 1 s/],
    ["an unknown option", { limt: 5 } as StoreOptions, {}, /did you mean limit/],
    ["a limiter that is none", { limiter: {} as Limiter }, {}, /^limiter must be a Limiter/],
  ])("refuses %s at start", (_what, options, middleware, message) => {
    expect(() => storeOf(options, middleware)).toThrow(message);
  });

  test("a limit by request works if the store is given one", async () => {
    const { store } = storeOf({ limit: 5 }, { limit: () => 5 });
    expect((await store.increment("a")).totalHits).toBe(1);
  });

  test("resetKey and decrement answer a clear error: a count only grows", async () => {
    const { store } = storeOf();
    await expect(store.resetKey("a")).rejects.toThrow(/must be unused, because a count only grows/);
    await expect(store.decrement("a")).rejects.toThrow(/must be unused, because a count only grows/);
  });
});
