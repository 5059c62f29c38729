import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RegionNames } from "./region-names.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;
/** A window that begins now. */
const WINDOW = { sequence: 1_000, durationMs: HOUR_MS };

/** Names with their origins, each pair registered so many hours ago. */
function namesOf(pairs: Readonly<Record<string, Readonly<Record<string, number>>>>): RegionNames {
  const list = Object.entries(pairs).flatMap(([region, origins]) =>
    Object.entries(origins).map(([origin, hours]) => ({ region, origin, seenAtMs: NOW_MS - hours * HOUR_MS })),
  );
  return new RegionNames(list);
}

function seen(names: RegionNames, region: string, rows: Readonly<Record<string, number>>) {
  const { foreign, own } = names.seenFrom(region, WINDOW, Object.entries(rows));
  return [foreign, own];
}

describe("region names", () => {
  test("names that share no origin are added up", () => {
    const names = namesOf({ eu: { 1: 0 }, us: { 2: 0 } });
    expect(seen(names, "eu", { eu: 5, us: 7, ap: 1 })).toEqual([8, 5]);
    expect([names.surplus, names.aliases("eu"), names.classes("eu").size]).toEqual([0, [], 0]);
  });

  test("of the names of one origin the largest row counts: as own for the origin itself, once for others", () => {
    const names = namesOf({ default: { 1: 500 }, eu: { 1: 0 }, us: { 2: 0 } });
    const rows = { default: 60, eu: 50, us: 7 };
    expect(seen(names, "eu", rows)).toEqual([7, 60]);
    expect(seen(names, "us", rows)).toEqual([60, 7]);
    expect(seen(names, "ap", rows)).toEqual([67, 0]);
    expect([names.surplus, names.aliases("eu"), names.aliases("us")]).toEqual([1, ["default"], []]);
  });

  test("names are one group through an origin that one of them had before", () => {
    const names = namesOf({ a: { 1: 0 }, b: { 1: 0, 2: 0 }, c: { 2: 0 } });
    expect(seen(names, "us", { a: 5, b: 9, c: 6 })).toEqual([9, 0]);
    // c may be part of b's row, and so may a: neither is counted on top of it.
    expect(seen(names, "b", { a: 5, b: 9, c: 6 })).toEqual([0, 9]);
  });

  test("a row that may contain counts of two regions is neither's own, and the regions are counted apart", () => {
    // Two regions were called "default" by mistake, and have names of their own now.
    const names = namesOf({ default: { 1: 0, 2: 0 }, eu: { 1: 0 }, us: { 2: 0 } });
    expect(seen(names, "eu", { default: 60, eu: 5, us: 7 })).toEqual([7, 5]);
  });

  test("a region whose name had several origins takes no other name's row as its own", () => {
    // "eu" shared the Redis of "us" by mistake, and has its own since. Its processes took the 27 of "us" as their own, kept them in
    // memory, and published 28 under "eu" after the old pair was forgotten: other regions saw 55.
    const names = namesOf({ eu: { 1: 0.5, 2: 0 }, us: { 1: 0 } });
    expect(seen(names, "eu", { eu: 1, us: 27 })).toEqual([0, 1]);
    expect(seen(names, "us", { eu: 1, us: 27 })).toEqual([0, 27]);
  });

  test("a name that had another origin only before the window began has its present origin", () => {
    // The second region kept the name "default", the first one was given its own two hours before this window.
    const names = namesOf({ default: { 1: 2, 2: 0 }, eu: { 1: 0 } });
    expect(seen(names, "eu", { default: 60, eu: 5 })).toEqual([60, 5]);
    expect(seen(names, "default", { default: 60, eu: 5 })).toEqual([5, 60]);
    // Half an hour before: clocks may differ by that much.
    const soon = namesOf({ default: { 1: 0.5, 2: 0 }, eu: { 1: 0 } });
    expect(seen(soon, "eu", { default: 60, eu: 5 })).toEqual([0, 5]);
  });

  test("a name whose registrations all lie before the window keeps all its origins", () => {
    const names = namesOf({ default: { 1: 20, 2: 30 }, eu: { 1: 0 }, us: { 2: 0 } });
    expect(seen(names, "ap", { default: 60, eu: 5, us: 7 })).toEqual([60, 0]);
  });

  test("classes are the names of one origin that never had another, called after the region itself if it is one of them", () => {
    const names = namesOf({ a: { 1: 0 }, b: { 1: 0 }, c: { 1: 0, 2: 0 }, d: { 3: 0 } });
    expect([...names.classes("b")]).toEqual([
      ["b", ["a", "b"]],
      ["c", ["c"]],
    ]);
    expect([...names.classes("d").keys()]).toEqual(["a", "c"]);
  });

  test("the signature is that of the pairs, not of their times or order", () => {
    const one = namesOf({ a: { 1: 0 }, b: { 1: 5 }, c: { 2: 0 } });
    expect(one.signature).toBe(namesOf({ b: { 1: 0 }, a: { 1: 9 } }).signature);
    expect(one.signature).not.toBe(namesOf({ a: { 1: 0 }, b: { 1: 5, 3: 0 } }).signature);
  });

  test("no region ever sees more than the truth, of itself or of the others", () => {
    // Counts of origins, names with the origins that used them, and rows that hold a part of what those origins accepted.
    const world = fc.record({
      counts: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 4, maxLength: 4 }),
      names: fc.array(
        fc.record({
          origins: fc.subarray([0, 1, 2, 3], { minLength: 1 }),
          part: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        { minLength: 1, maxLength: 6 },
      ),
    });
    const property = fc.property(world, ({ counts, names }) => {
      const truthOf = (origins: readonly number[]) => origins.reduce((sum, origin) => sum + counts[origin]!, 0);
      const pairs = names.flatMap(({ origins }, i) =>
        origins.map((origin) => ({ region: `r${i}`, origin: `${origin}`, seenAtMs: NOW_MS })),
      );
      const book = new RegionNames(pairs);
      const rows = names.map(({ origins, part }, i) => [`r${i}`, Math.floor(part * truthOf(origins))] as const);
      for (const [i, { origins }] of names.entries()) {
        const { foreign, own } = book.seenFrom(`r${i}`, WINDOW, rows);
        expect(own).toBeLessThanOrEqual(truthOf(origins));
        expect(foreign).toBeLessThanOrEqual(truthOf([0, 1, 2, 3].filter((origin) => !origins.includes(origin))));
        // Classes change nothing: each stands for the largest of its rows.
        const classes = book.classes(`r${i}`);
        const byName = new Map<string, number>(rows);
        const folded = rows
          .filter(([name]) => ![...classes].some(([title, all]) => name !== title && all.includes(name)))
          .map(([name, count]) => {
            return [name, Math.max(count, ...(classes.get(name) ?? []).map((other) => byName.get(other)!))] as const;
          });
        expect(book.seenFrom(`r${i}`, WINDOW, folded)).toEqual({ foreign, own });
      }
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test("with one origin for each name, and rows that are up to date, everything is counted exactly", () => {
    const world = fc.record({
      counts: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 4, maxLength: 4 }),
      names: fc.array(fc.constantFrom(0, 1, 2, 3), { minLength: 1, maxLength: 6 }),
    });
    const property = fc.property(world, ({ counts, names }) => {
      const pairs = names.map((origin, i) => ({ region: `r${i}`, origin: `${origin}`, seenAtMs: NOW_MS }));
      const rows = names.map((origin, i) => [`r${i}`, counts[origin]!] as const);
      for (const [i, mine] of names.entries()) {
        const others = new Set(names.filter((origin) => origin !== mine));
        const foreign = [...others].reduce((sum: number, origin) => sum + counts[origin]!, 0);
        expect(new RegionNames(pairs).seenFrom(`r${i}`, WINDOW, rows)).toEqual({ foreign, own: counts[mine]! });
      }
    });
    fc.assert(property);
  });
});
