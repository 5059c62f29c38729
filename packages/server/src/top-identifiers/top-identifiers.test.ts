import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { firstOf, mergedOf, type Ranking } from "./ranking.ts";
import { NAME_BYTES_MAX, SpaceSaving } from "./space-saving.ts";
import { COUNTERS, MINUTES, mergedReading, type RankedBy, TopIdentifiers, type TopReading } from "./top-identifiers.ts";

const MINUTE_MS = 60_000;
const K = 4;

interface Hit {
  readonly name: string;
  readonly weight: number;
}

/** Few heavy names among many light ones: what a sketch is for, and what breaks it. */
const hit: fc.Arbitrary<Hit> = fc.record({
  name: fc.oneof(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 30 }).map(String)),
  weight: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1000 })),
});

function exactOf(hits: readonly Hit[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { name, weight } of hits) sums.set(name, (sums.get(name) ?? 0) + weight);
  return sums;
}

/** Everything that a ranking promises, against the truth. */
function check(ranking: Ranking, hits: readonly Hit[], counters: number): void {
  const truth = exactOf(hits);
  const total = hits.reduce((sum, { weight }) => sum + weight, 0);
  const listed = new Set(ranking.entries.map(({ name }) => name));
  expect(ranking.total).toBe(total);
  expect(listed.size).toBe(ranking.entries.length);
  for (const { name, atLeast, atMost } of ranking.entries) {
    const count = truth.get(name) ?? 0;
    expect([name, atLeast <= count, count <= atMost]).toEqual([name, true, true]);
    expect(atLeast).toBeGreaterThanOrEqual(0);
  }
  for (const [name, count] of truth) {
    if (!listed.has(name)) expect([name, count <= ranking.absentAtMost]).toEqual([name, true]);
    if (count > total / counters) expect([name, listed.has(name)]).toEqual([name, true]);
  }
}

function sketchOf(hits: readonly Hit[], counters = K): Ranking {
  const sketch = new SpaceSaving(counters);
  for (const { name, weight } of hits) sketch.add(name, weight);
  return sketch.read();
}

describe("a sketch", () => {
  test("its bounds enclose the truth, every name above the k-th of the total has a counter, and none is farther off", () => {
    fc.assert(
      fc.property(fc.array(hit, { maxLength: 200 }), fc.integer({ min: 1, max: 9 }), (hits, counters) => {
        const ranking = sketchOf(hits, counters);
        check(ranking, hits, counters);
        expect(ranking.entries.length).toBeLessThanOrEqual(counters);
        expect(ranking.absentAtMost).toBeLessThanOrEqual(ranking.total / counters);
        for (const { atLeast, atMost } of ranking.entries)
          expect(atMost - atLeast).toBeLessThanOrEqual(ranking.absentAtMost);
      }),
      { numRuns: 300 },
    );
  });

  test("the texts of its names have a maximum in bytes, and its bounds enclose the truth even when they reach it", () => {
    const long = fc.tuple(hit, fc.integer({ min: 0, max: 40 })).map(([{ name, weight }, length]) => ({
      name: name.padEnd(length, "."),
      weight,
    }));
    fc.assert(
      fc.property(fc.array(long, { maxLength: 200 }), fc.integer({ min: 1, max: 9 }), (hits, counters) => {
        const sketch = new SpaceSaving(counters, 100);
        for (const { name, weight } of hits) {
          sketch.add(name, weight);
          expect(sketch.nameBytes).toBeLessThanOrEqual(100);
        }
        const ranking = sketch.read();
        check(ranking, hits, Number.MIN_VALUE);
        expect(2 * ranking.entries.reduce((sum, { name }) => sum + name.length, 0)).toBe(sketch.nameBytes);
        for (const { atLeast, atMost } of ranking.entries)
          expect(atMost - atLeast).toBeLessThanOrEqual(ranking.absentAtMost);
      }),
      { numRuns: 300 },
    );
  });

  test("a name above the maximum takes the place of all others", () => {
    const sketch = new SpaceSaving(K, 10);
    sketch.add("a", 3);
    sketch.add("b".repeat(20), 1);
    expect(sketch.read()).toEqual({
      total: 4,
      absentAtMost: 3,
      entries: [{ name: "b".repeat(20), atLeast: 1, atMost: 4 }],
    });
  });

  test("with no more names than counters it is exact", () => {
    const ranking = firstOf(sketchOf("abcabcaab".split("").map((name) => ({ name, weight: 2 }))), 10);
    expect(ranking).toEqual({
      total: 18,
      absentAtMost: 0,
      entries: [
        { name: "a", atLeast: 8, atMost: 8 },
        { name: "b", atLeast: 6, atMost: 6 },
        { name: "c", atLeast: 4, atMost: 4 },
      ],
    });
  });
});

describe("a merged ranking", () => {
  test("keeps all promises of its parts, in any order, and so do its first ones but for the k-th part", () => {
    const streams = fc.array(fc.array(hit, { maxLength: 80 }), { maxLength: 6 });
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 12 }), (parts, limit) => {
        const hits = parts.flat();
        const merged = mergedOf(parts.map((part) => sketchOf(part)));
        check(merged, hits, K);
        expect(merged.absentAtMost).toBeLessThanOrEqual(merged.total / K);
        const other = mergedOf([
          mergedOf(parts.slice(2).map((part) => sketchOf(part))),
          ...parts.slice(0, 2).map((part) => sketchOf(part)),
        ]);
        expect(firstOf(other, 99)).toEqual(firstOf(merged, 99));
        const first = firstOf(merged, limit);
        expect(first.entries.length).toBe(Math.min(limit, merged.entries.length));
        check(first, hits, Number.MIN_VALUE);
      }),
      { numRuns: 200 },
    );
  });
});

describe("top-identifiers", () => {
  interface Check extends Hit {
    readonly by: RankedBy;
    readonly afterMs: number;
    readonly process: number;
  }
  const checks = fc.array(
    fc.record({
      name: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
      weight: fc.integer({ min: 1, max: 9 }),
      by: fc.constantFrom<RankedBy>("use", "denials"),
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * MINUTE_MS })),
      process: fc.integer({ min: 0, max: 1 }),
    }),
    { maxLength: 60 },
  );

  test("of two processes, the last minutes and no older ones, within the bounds", () => {
    fc.assert(
      fc.property(checks, fc.integer({ min: 0, max: 10 * MINUTE_MS }), (all: readonly Check[], beganMs) => {
        let nowMs = beganMs;
        const processes = [0, 1].map(() => new TopIdentifiers({ namespacesMax: 2, counters: K }, nowMs));
        const done: (Hit & { by: RankedBy; atMs: number })[] = [];
        for (const { name, weight, by, afterMs, process } of all) {
          nowMs += afterMs;
          if (by === "use") processes[process]!.used("api", name, weight, nowMs);
          else processes[process]!.denied("api", name, nowMs);
          done.push({ name, weight: by === "use" ? weight : 1, by, atMs: nowMs });
        }
        for (const by of ["use", "denials"] as const) {
          const { ranking, spanMs, isWhole } = mergedReading(
            processes.map((one) => one.read({ namespaceId: "api", by }, nowMs)),
          );
          expect(isWhole).toBe(true);
          expect(spanMs).toBeGreaterThanOrEqual(Math.min((MINUTES - 1) * MINUTE_MS, nowMs - beganMs));
          expect(spanMs).toBeLessThanOrEqual(nowMs - beganMs);
          expect(spanMs).toBeLessThan(MINUTES * MINUTE_MS);
          check(
            ranking,
            done.filter((one) => one.by === by && one.atMs >= nowMs - spanMs),
            K,
          );
        }
      }),
      { numRuns: 200 },
    );
  });

  const use = (topIdentifiers: TopIdentifiers, namespaceId: string, nowMs: number): TopReading =>
    topIdentifiers.read({ namespaceId, by: "use" }, nowMs);

  test("a check of cost 0 uses nothing", () => {
    const topIdentifiers = new TopIdentifiers({ namespacesMax: 1, counters: K }, 0);
    topIdentifiers.used("api", "a", 0, 1);
    expect(use(topIdentifiers, "api", 1).ranking).toEqual({ total: 0, absentAtMost: 0, entries: [] });
  });

  test("a namespace beyond the cap is told to be incomplete, and takes the place of one that has fallen idle", () => {
    const topIdentifiers = new TopIdentifiers({ namespacesMax: 1, counters: K }, 0);
    topIdentifiers.used("first", "a", 1, 1);
    expect(use(topIdentifiers, "second", 2)).toMatchObject({ isWhole: true, ranking: { total: 0 } });
    topIdentifiers.used("second", "a", 1, 3);
    expect(use(topIdentifiers, "second", 4)).toMatchObject({ isWhole: false, ranking: { total: 0 } });
    const laterMs = (2 * MINUTES + 1) * MINUTE_MS;
    topIdentifiers.used("second", "a", 1, laterMs);
    expect(use(topIdentifiers, "second", laterMs)).toMatchObject({ isWhole: true, ranking: { total: 1 } });
    topIdentifiers.used("first", "a", 1, laterMs);
    expect(use(topIdentifiers, "first", laterMs)).toMatchObject({ isWhole: false, ranking: { total: 0 } });
  });

  test("with more namespaces at work than the cap, the busy ones are watched after a minute, and stay", () => {
    const topIdentifiers = new TopIdentifiers({ namespacesMax: 8, counters: K }, 0);
    const busy = ["busy 0", "busy 1", "busy 2"];
    let quiet = 0;
    const reads = new Map<string, TopReading>();
    for (let minute = 0; minute < 12; minute++) {
      for (let i = 0; i < 600; i++) {
        const nowMs = minute * MINUTE_MS + i * 100;
        // The quiet ones are always there first.
        topIdentifiers.used(`quiet ${quiet++ % 40}`, "a", 1, nowMs);
        if (minute > 5) for (const name of busy) topIdentifiers.used(name, "a", 1, nowMs);
      }
      const endsMs = (minute + 1) * MINUTE_MS - 1;
      for (const name of busy) reads.set(`${name} ${endsMs}`, use(topIdentifiers, name, endsMs));
    }
    // Since the seventh minute they are in it whole.
    const [begunMs, endMs] = [11 * MINUTE_MS - 1, 12 * MINUTE_MS - 1];
    for (const name of busy) expect([name, reads.get(`${name} ${begunMs}`)?.isWhole]).toEqual([name, false]);
    for (const name of busy)
      expect(reads.get(`${name} ${endMs}`)).toMatchObject({ isWhole: true, ranking: { total: MINUTES * 600 } });
  });

  test("a silent process makes the answer incomplete", () => {
    const reading = use(new TopIdentifiers({ namespacesMax: 1, counters: K }, 0), "api", 1);
    expect(mergedReading([reading, null])).toMatchObject({ isWhole: false });
  });

  test("memory is bounded, however many identifiers and namespaces there are", () => {
    const topIdentifiers = new TopIdentifiers({ namespacesMax: 3, counters: COUNTERS }, 0);
    for (let i = 0; i < 100_000; i++) topIdentifiers.used(`ns ${i % 7}`, `user_${i}`, 1, i * 10);
    const sizes = Array.from({ length: 7 }, (_, i) => use(topIdentifiers, `ns ${i}`, 1_000_000).ranking.entries.length);
    expect(sizes.filter((size) => size > 0).length).toBeLessThanOrEqual(3);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(MINUTES * COUNTERS);
  });

  test("memory is bounded in bytes, however long the identifiers are", () => {
    const topIdentifiers = new TopIdentifiers({ namespacesMax: 1, counters: COUNTERS }, 0);
    for (let i = 0; i < 1_000; i++)
      topIdentifiers.used("api", `${"\u{1F600}".repeat(505)}${i}`, 1, (i * MINUTES * MINUTE_MS) / 1_000);
    const { entries } = use(topIdentifiers, "api", MINUTES * MINUTE_MS - 1).ranking;
    const bytes = entries.reduce((sum, { name }) => sum + 2 * name.length, 0);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(MINUTES * NAME_BYTES_MAX);
  });
});
