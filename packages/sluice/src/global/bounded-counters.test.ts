import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import { BoundedCounters } from "./bounded-counters.ts";

const DEADLINE_MS = 10_000;

function setUp() {
  const time = new ManualTime();
  const store = new TroubledCounters(time);
  return { time, store, bounded: new BoundedCounters(store, time.timers) };
}

/** Every way to ask the store. */
const CALLS: readonly (readonly [string, (counters: BoundedCounters) => Promise<unknown>])[] = [
  ["publish", (counters) => counters.publish("eu", [])],
  ["read", (counters) => counters.read("eu", null)],
  ["cleanUp", (counters) => counters.cleanUp(5, 10)],
  ["write", (counters) => counters.denials.write("eu", [])],
  ["active", (counters) => counters.denials.active(5)],
];

describe("bounded counters", () => {
  test.each(CALLS)("%s brings what the store answers, and what it fails with", async (_, call) => {
    const { time, store, bounded } = setUp();
    await call(bounded);
    store.trouble("failing");
    await expect(call(bounded)).rejects.toThrow("refused");
    expect(time.pending).toBe(0);
  });

  test("arguments and answers are the store's own", async () => {
    const { store, bounded } = setUp();
    const key = { workspace: "w", namespace: "n", identifier: "i", durationMs: 60_000 as never };
    await bounded.publish("us", [{ key, sequence: 7, count: 3, expiresAtMs: 9e15 }]);
    await bounded.denials.write("us", [{ key, sequence: 7, limit: 9, expiresAtMs: 9e15 }]);
    expect(await bounded.read("eu", null)).toEqual(await store.store.read("eu", null));
    expect(await bounded.denials.active(5)).toEqual(await store.store.denials.active(5));
    expect(await bounded.denials.active(5)).toHaveLength(1);
    await bounded.publish(
      "us",
      [8, 9].map((sequence) => ({ key, sequence, count: 3, expiresAtMs: 1 })),
    );
    expect([await bounded.cleanUp(0, 9), await bounded.cleanUp(9, 1), await bounded.cleanUp(9, 9)]).toEqual([0, 1, 1]);
  });

  test.each(CALLS)("%s that the store does not answer ends after ten seconds, and says so", async (_, call) => {
    const { time, store, bounded } = setUp();
    store.trouble("stalled");
    const outcome = expect(call(bounded)).rejects.toMatchObject({ message: `no response within ${DEADLINE_MS} ms` });
    await time.advance(DEADLINE_MS - 1);
    expect(time.pending).toBe(1);
    await time.advance(1);
    await outcome;
    expect(time.pending).toBe(0);
  });

  test("given up, who waits for a call waits no longer, and later calls are made", async () => {
    const { time, store, bounded } = setUp();
    store.trouble("stalled");
    const call = bounded.publish("eu", []);
    bounded.giveUp();
    await expect(call).rejects.toMatchObject({ message: `no response within ${DEADLINE_MS} ms` });
    store.heal();
    await bounded.publish("eu", []);
    expect([store.published.length, time.pending]).toEqual([2, 0]);
  });

  test("closed, nobody waits and nobody asks any more; the store itself stays open", async () => {
    const { time, store, bounded } = setUp();
    store.trouble("stalled");
    const call = bounded.publish("eu", []);
    await bounded.close();
    await expect(call).rejects.toMatchObject({ message: `no response within ${DEADLINE_MS} ms` });
    store.heal();
    await expect(bounded.publish("eu", [])).rejects.toThrow("the global layer is closed");
    expect([store.published.length, store.closed, time.pending]).toEqual([1, 0, 0]);
  });

  test("a store that registers region names answers, and one that does not is not asked", async () => {
    const { time, store, bounded } = setUp();
    await bounded.register("default", "7");
    expect((await bounded.register("eu", "7")).aliases).toEqual(["default"]);
    const plain = new BoundedCounters(Object.assign(store, { register: undefined }) as never, time.timers);
    expect(await plain.register("eu", "7")).toEqual({ aliases: [], conflict: null });
    expect(store.registered).toEqual(["default 7", "eu 7"]);
  });
});
