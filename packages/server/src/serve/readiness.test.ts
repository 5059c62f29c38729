import { Limiter, memoryCounters } from "sluice";
import { expect, test } from "vitest";
import type { Directory } from "../admin/directory.ts";
import { readinessOf } from "./readiness.ts";

test.each([
  ["the store has not been read", { isLoaded: false, hasKeys: false, corrupt: [] as readonly string[] }, false, "away"],
  ["nobody can be let in", { isLoaded: true, hasKeys: false, corrupt: [] as readonly string[] }, false, "degraded"],
  ["there is a key", { isLoaded: true, hasKeys: true, corrupt: [] as readonly string[] }, true, "ok"],
])("while %s", async (_, known, ready, status) => {
  const limiter = new Limiter();
  const directory = { ...known, ageMs: 10, corrupt: [] as readonly string[] } as Directory;
  const readiness = (isStopping: boolean) => readinessOf(limiter.stats(), directory, { isJoining: false, isStopping });
  expect(readiness(false)).toMatchObject({ ready, layers: { admin: { status } } });
  expect(readiness(true).ready).toBe(false);
  await limiter.close();
});

test("a server waits for its first import and reports it; if that takes too long it becomes ready anyway and reports why", async () => {
  let answer: () => void = () => {};
  const global = memoryCounters();
  const { read } = global;
  const stalled = new Promise<void>((resolve) => {
    answer = resolve;
  });
  global.read = async (region, cursor) => stalled.then(() => read.call(global, region, cursor));
  const limiter = new Limiter({ region: "eu", global });
  const directory = { isLoaded: true, hasKeys: true, ageMs: 10, corrupt: [] as readonly string[] } as Directory;
  const readiness = (isJoining: boolean) => readinessOf(limiter.stats(), directory, { isJoining, isStopping: false });
  expect(readiness(true)).toMatchObject({
    ready: false,
    layers: { global: { status: "degraded", reason: "waiting for the first import, at most 5 s (no answer yet)" } },
  });
  expect(readiness(false)).toMatchObject({
    ready: true,
    layers: { global: { status: "away", reason: expect.stringMatching(/^no import since the start \d+ s ago/) } },
  });
  answer();
  expect(await limiter.ready()).toBe(true);
  expect(readiness(false)).toMatchObject({ ready: true, layers: { global: { status: "ok" } } });
  await limiter.close();
});

test("a region name that is used wrongly makes the global layer degraded, a past rename is mentioned; neither makes a server unready", async () => {
  const limiter = new Limiter({ region: "eu", global: memoryCounters() });
  const directory = { isLoaded: true, hasKeys: true, ageMs: 10, corrupt: [] as readonly string[] } as Directory;
  await limiter.ready();
  const stats = limiter.stats();
  const read = (names: { readonly aliases: readonly string[]; readonly regionConflict: string | null }) => {
    const all = { ...stats, global: { ...stats.global!, ...names } };
    const { ready, layers } = readinessOf(all, directory, { isJoining: false, isStopping: false });
    return [ready, layers.global];
  };
  expect(read({ aliases: [], regionConflict: null })).toEqual([true, { status: "ok" }]);
  expect(read({ aliases: ["a", "b", "c", "d"], regionConflict: null })).toEqual([
    true,
    { status: "ok", reason: `renamed: rows of "a", "b", "c" and 1 more count as this region's own until they expire` },
  ]);
  expect(read({ aliases: ["a"], regionConflict: "two names" })).toEqual([
    true,
    { status: "degraded", reason: "two names" },
  ]);
  await limiter.close();
});

test.each([
  ["counters", 1_000, 10_001, "away"],
  ["counters", 30_000, 60_000, "ok"],
  ["denials", 10_000, 20_000, "ok"],
  ["denials", 10_000, 30_001, "away"],
] as const)(
  "in mode %s, with an import every %i ms, the last one %i ms ago is %s",
  async (mode, importEveryMs, importAgeMs, status) => {
    const limiter = new Limiter({ region: "eu", global: memoryCounters() });
    const directory = { isLoaded: true, hasKeys: true, ageMs: 10, corrupt: [] as readonly string[] } as Directory;
    await limiter.ready();
    const stats = limiter.stats();
    const global = { ...stats.global!, mode, importEveryMs, importAgeMs };
    const { layers } = readinessOf({ ...stats, global }, directory, { isJoining: false, isStopping: false });
    expect(layers.global.status).toBe(status);
    await limiter.close();
  },
);
