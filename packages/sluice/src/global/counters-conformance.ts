/**
 * What all global counters must do, as a suite that each implementation runs: memory, MySQL, PostgreSQL, SQLite.
 *
 * Support for tests: no entry of the build leads here.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DurationMs } from "../core/brands.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { CounterRow, Counters, DenialPage, DenialRow, DeniedCell, ImportedCell, ImportPage } from "./counters.ts";

/** Empty counters, and the time they live by. */
export interface CountersUnderTest {
  readonly counters: Counters;
  /** Unix milliseconds, as the store sees them. */
  nowMs(): number;
  /** Returns once at least `ms` have passed for the store. */
  elapse(ms: number): Promise<void>;
  /** For how long a change may be given once more, so that none is missed; 0 if never. */
  readonly overlapMs: number;
}

const LONG_MS = 3_600_000;
const MINUTE_MS = 60_000 as DurationMs;

/** Parts that a collation, a column or a quoting would take for one another. */
const ODD_PARTS: readonly string[] = [
  "a",
  "A",
  "a ",
  " a",
  "a\u0000",
  "\u0001\u001f\u007f",
  "a\r\n",
  "a:b",
  "{a}",
  "a%",
  "a_",
  "'; drop table x; --",
  '"',
  "\\",
  "é",
  "e\u0301",
  "ß",
  "ss",
  "I",
  "ı",
  "🙂".repeat(512),
  `${"🙂".repeat(511)}🙃`,
  "x".repeat(512),
  "x".repeat(511),
  "null",
  "__proto__",
];

/** An answer with all its pages. */
export async function readWhole(counters: Counters, region: string, cursor: string | null): Promise<ImportPage> {
  let { rest, ...whole } = await counters.read(region, cursor);
  while (rest !== undefined) {
    const page = await counters.read(region, rest);
    whole = { ...page, cells: [...whole.cells, ...page.cells] };
    rest = page.rest;
  }
  return whole;
}

/** The same for denials. */
async function readDenials(counters: Counters, region: string, cursor: string | null): Promise<DenialPage> {
  let { rest, ...whole } = await counters.denials.read!(region, cursor);
  while (rest !== undefined) {
    const page = await counters.denials.read!(region, rest);
    whole = { ...page, cells: [...whole.cells, ...page.cells] };
    rest = page.rest;
  }
  return whole;
}

function keyNamed(identifier: string, durationMs: number = MINUTE_MS, namespace = "api", workspace = "w"): Key {
  return { workspace, namespace, identifier, durationMs: durationMs as DurationMs };
}

export function countersConformance(
  name: string,
  makeCounters: () => Promise<CountersUnderTest>,
  { propertyRuns = 30 }: { readonly propertyRuns?: number } = {},
): void {
  async function setUp() {
    const under = await makeCounters();
    const expiresAtMs = Math.ceil(under.nowMs()) + LONG_MS;
    const row = (key: Key | string, count: number, sequence = 7): CounterRow => ({
      key: typeof key === "string" ? keyNamed(key) : key,
      sequence,
      count,
      expiresAtMs,
    });
    const denial = (identifier: string, limit: number, sequence = 7): DenialRow => ({
      key: keyNamed(identifier),
      sequence,
      limit,
      expiresAtMs,
    });
    /** All live cells as a region sees them: [foreign, own] by name. */
    const seen = async (region: string) => table((await readWhole(under.counters, region, null)).cells);
    return { ...under, expiresAtMs, row, denial, seen };
  }

  describe(`counters conformance: ${name}`, () => {
    test("a store that holds nothing gives nothing, and the asker as the one live region", async () => {
      const { counters } = await setUp();
      expect(await readWhole(counters, "eu", null)).toMatchObject({ cells: [], regionsLive: 1 });
      expect(await counters.denials.active(0)).toEqual([]);
    });

    test("a region sees the other regions' sum as foreign, and its own component apart", async () => {
      const { counters, row, seen } = await setUp();
      await counters.publish("eu", [row("a", 5)]);
      await counters.publish("us", [row("a", 7), row("b", 1)]);
      await counters.publish("ap", [row("a", 100)]);
      expect(await seen("eu")).toEqual({ "7/a": [107, 5], "7/b": [1, 0] });
      expect(await seen("us")).toEqual({ "7/a": [105, 7], "7/b": [0, 1] });
      expect(await seen("sa")).toEqual({ "7/a": [112, 0], "7/b": [1, 0] });
    });

    test("monotonic: an older delayed publish does not move a component back", async () => {
      const { counters, row, seen } = await setUp();
      await counters.publish("eu", [row("a", 5)]);
      await counters.publish("eu", [row("a", 3)]);
      await counters.publish("eu", [row("a", 0)]);
      expect(await seen("us")).toEqual({ "7/a": [5, 0] });
    });

    test("idempotent: publishing the same count again changes nothing", async () => {
      const { counters, row, seen } = await setUp();
      for (let i = 0; i < 3; i++) await counters.publish("eu", [row("a", 5), row("a", 5)]);
      expect(await seen("us")).toEqual({ "7/a": [5, 0] });
    });

    test("commutative: any order and repetition of the same publishes gives the same cells", async () => {
      const publish = fc.record({
        region: fc.constantFrom("eu", "us", "ap"),
        identifier: fc.constantFrom("a", "b"),
        count: fc.integer({ min: 1, max: 1_000 }),
      });
      const two = fc
        .array(publish, { maxLength: 10 })
        .chain((one) => fc.tuple(fc.constant(one), fc.shuffledSubarray([...one, ...one], { minLength: one.length })));
      const property = fc.asyncProperty(two, async ([one, other]) => {
        const [left, right] = [await setUp(), await setUp()];
        const all = [...other, ...one];
        for (const { region, identifier, count } of one)
          await left.counters.publish(region, [left.row(identifier, count)]);
        for (const { region, identifier, count } of all)
          await right.counters.publish(region, [right.row(identifier, count)]);
        for (const region of ["eu", "us", "sa"]) expect(await right.seen(region)).toEqual(await left.seen(region));
      });
      await fc.assert(property, { numRuns: propertyRuns });
    });

    test("windows and durations of one identifier are cells of their own", async () => {
      const { counters, row, seen } = await setUp();
      await counters.publish("eu", [row("a", 1, 7), row("a", 2, 8), row(keyNamed("a", 3_600_000), 3, 7)]);
      expect(await seen("us")).toEqual({ "7/a": [1, 0], "8/a": [2, 0], "7/a/3600000": [3, 0] });
    });

    test("no two keys are ever one cell, however odd they are, and each comes back as it was", async () => {
      const { counters, row } = await setUp();
      const keys = ODD_PARTS.flatMap((part) => [
        keyNamed(part),
        keyNamed("id", MINUTE_MS, part),
        keyNamed("id", MINUTE_MS, "n", part),
      ]);
      await counters.publish(
        "eu",
        keys.map((key, i) => row(key, i + 1)),
      );
      const { cells } = await readWhole(counters, "us", null);
      const found = new Map(cells.map(({ key, foreign }) => [encodeKey(key), foreign]));
      expect([...found].sort()).toEqual(keys.map((key, i) => [encodeKey(key), i + 1] as const).sort());
    });

    test("regions that differ only in case or blanks are regions of their own", async () => {
      const { counters, row, seen } = await setUp();
      const regions = ["eu", "EU", "eu ", "eü", "eu\u0308", "🙂".repeat(64)];
      for (const [i, region] of regions.entries()) await counters.publish(region, [row("a", 10 ** i)]);
      for (const [i, region] of regions.entries())
        expect(await seen(region)).toEqual({ "7/a": [111_111 - 10 ** i, 10 ** i] });
      expect((await readWhole(counters, "eu", null)).regionsLive).toBe(6);
    });

    test("counts up to 2^40 and sums far beyond 2^32 are exact", async () => {
      const { counters, row, seen } = await setUp();
      const large = 2 ** 40;
      await counters.publish("eu", [row("a", large)]);
      await counters.publish("us", [row("a", large - 1)]);
      await counters.publish("ap", [row("a", 2 ** 32 + 1)]);
      expect(await seen("eu")).toEqual({ "7/a": [large + 2 ** 32, large] });
    });

    test("a sum beyond the exact integers is the largest of them: the cell is read as full, not as junk", async () => {
      const { counters, row, seen } = await setUp();
      const most = Number.MAX_SAFE_INTEGER;
      // What a process publishes at most.
      const large = 2 ** 50 + 2 ** 44;
      for (let i = 0; i < 20; i++) await counters.publish(`r${i}`, [row("a", large)]);
      const { "7/a": cell } = await seen("r3");
      expect(cell![1]).toBe(large);
      expect(cell![0]).toBeGreaterThanOrEqual(most - large);
      expect(cell![0]).toBeLessThanOrEqual(most);
      expect((await seen("elsewhere"))["7/a"]).toEqual([most, 0]);
      // The same when rows are added up by origin.
      if (counters.register === undefined) return;
      for (const region of ["r0", "r1"]) await counters.register(region, "1");
      expect((await seen("elsewhere"))["7/a"]).toEqual([most, 0]);
    });

    test("a row that says that some of it was charged says so from then on, to every region, whatever comes later", async () => {
      const { counters, row, elapse, overlapMs } = await setUp();
      const notes = async (region: string, cursor: string | null) => {
        const { cells } = await readWhole(counters, region, cursor);
        return Object.fromEntries(cells.map(({ key, isCharged }) => [key.identifier, isCharged === true]));
      };
      await counters.publish("eu", [row("a", 5), row("b", 5)]);
      await counters.publish("us", [{ ...row("c", 5), isCharged: true }]);
      expect(await notes("eu", null)).toEqual({ a: false, b: false, c: true });
      await elapse(overlapMs);
      const { cursor } = await readWhole(counters, "us", null);
      await elapse(10);
      // The note alone is a change: the count was published before, by a process that did not know.
      await counters.publish("eu", [{ ...row("a", 5), isCharged: true }]);
      expect(await notes("us", cursor)).toMatchObject({ a: true });
      // A lower count, a higher one without the note, and rows of other regions take nothing back.
      await counters.publish("eu", [row("a", 4)]);
      await counters.publish("eu", [row("a", 9)]);
      await counters.publish("us", [row("a", 1), row("c", 6)]);
      await counters.publish("eu", [row("b", 6), { ...row("b", 2), isCharged: true }, row("b", 7)]);
      for (const region of ["eu", "us", "ap"]) expect(await notes(region, null)).toEqual({ a: true, b: true, c: true });
      expect(table((await readWhole(counters, "us", null)).cells)).toMatchObject({ "7/a": [9, 1], "7/b": [7, 0] });
      if (counters.register === undefined) return;
      for (const region of ["eu", "ap"]) await counters.register(region, "1");
      expect(await notes("us", null)).toEqual({ a: true, b: true, c: true });
    });

    test("thousands of cells are all stored and given, page by page where they are too many for one answer", async () => {
      const { counters, row } = await setUp();
      const { cursor } = await readWhole(counters, "us", null);
      // Three windows a key: pages of a thousand end between them.
      const rows = Array.from({ length: 2_499 }, (_, i) => row(`k${Math.floor(i / 3)}`, i + 1, 7 + (i % 3)));
      for (const region of ["eu", "ap"]) await counters.publish(region, rows);
      const sum = (2_499 * 2_500) / 2;
      for (const from of [null, cursor]) {
        const { cells } = await readWhole(counters, "us", from);
        const names = new Set(cells.map(({ key, sequence }) => `${sequence}/${key.identifier}`));
        expect([names.size, cells.length]).toEqual([2_499, 2_499]);
        expect(cells.reduce((total, { foreign }) => total + foreign, 0)).toBe(2 * sum);
      }
    });

    test("what changes while pages are read is given then, or by the cursor that they end with", async () => {
      const { counters, row } = await setUp();
      const rows = (from: number, count: number) => Array.from({ length: 1_500 }, (_, i) => row(`k${from + i}`, count));
      await counters.publish("eu", rows(0, 1));
      const found = new Map<string, number>();
      const take = (page: ImportPage) => {
        for (const { key, foreign } of page.cells) found.set(key.identifier, foreign);
        return page;
      };
      let page = take(await counters.read("us", null));
      await counters.publish("eu", [...rows(0, 2), ...rows(1_500, 2)]);
      while (page.rest !== undefined) page = take(await counters.read("us", page.rest));
      take(await readWhole(counters, "us", page.cursor));
      expect([found.size, new Set(found.values())]).toEqual([3_000, new Set([2])]);
    });

    test("a cursor gives what changed since, and nothing that did not", async () => {
      const { counters, row, elapse, overlapMs } = await setUp();
      await counters.publish("eu", [row("a", 1), row("b", 1)]);
      await elapse(overlapMs);
      const first = await readWhole(counters, "us", null);
      await elapse(overlapMs);
      await counters.publish("eu", [row("b", 2), row("c", 1), row("a", 1)]);
      const second = await readWhole(counters, "us", first.cursor);
      expect(table(second.cells)).toEqual({ "7/b": [2, 0], "7/c": [1, 0] });
      await elapse(2 * overlapMs);
      const third = await readWhole(counters, "us", second.cursor);
      expect(table((await readWhole(counters, "us", third.cursor)).cells)).toEqual({});
    });

    test("a cell that changed is given whole, with the components that did not change", async () => {
      const { counters, row } = await setUp();
      await counters.publish("eu", [row("a", 5)]);
      await counters.publish("us", [row("a", 3)]);
      const { cursor } = await readWhole(counters, "us", null);
      await counters.publish("ap", [row("a", 2)]);
      expect(table((await readWhole(counters, "us", cursor)).cells)).toMatchObject({ "7/a": [7, 3] });
    });

    test("no cursor gives every live cell, however often it was given", async () => {
      const { counters, row, seen } = await setUp();
      await counters.publish("eu", [row("a", 1), row("b", 2)]);
      await readWhole(counters, "us", (await readWhole(counters, "us", null)).cursor);
      expect(await seen("us")).toEqual({ "7/a": [1, 0], "7/b": [2, 0] });
    });

    test("a cell that has expired is not given any more", async () => {
      const { counters, row, nowMs, elapse, seen } = await setUp();
      const { cursor } = await readWhole(counters, "us", null);
      await counters.publish("eu", [{ ...row("a", 1), expiresAtMs: Math.ceil(nowMs()) + 1_000 }, row("b", 2)]);
      expect(await seen("us")).toEqual({ "7/a": [1, 0], "7/b": [2, 0] });
      await elapse(1_100);
      expect(await seen("us")).toEqual({ "7/b": [2, 0] });
      expect(table((await readWhole(counters, "us", cursor)).cells)).toEqual({ "7/b": [2, 0] });
    });

    test("regions that have published count as live, also with nothing to tell", async () => {
      const { counters, row } = await setUp();
      await counters.publish("eu", []);
      await counters.publish("us", [row("a", 1)]);
      for (const [region, live] of [
        ["eu", 2],
        ["us", 2],
        ["ap", 3],
      ] as const) {
        expect((await readWhole(counters, region, null)).regionsLive).toBe(live);
      }
    });

    test("cleaning up deletes expired rows only, and no more than it was told", async () => {
      const { counters, row, denial, nowMs, elapse, seen } = await setUp();
      const soon = Math.ceil(nowMs()) + 200;
      await counters.publish(
        "eu",
        Array.from({ length: 5 }, (_, i) => ({ ...row(`k${i}`, 1), expiresAtMs: soon })),
      );
      await counters.publish("eu", [row("live", 9)]);
      await counters.denials.write("eu", [{ ...denial("old", 5), expiresAtMs: soon }, denial("new", 6)]);
      expect(await counters.cleanUp(soon - 1, 100)).toBe(0);
      await elapse(300);
      const deleted: number[] = [];
      for (let i = 0; i < 4; i++) deleted.push(await counters.cleanUp(soon, 2));
      expect([Math.max(...deleted), deleted.reduce((a, b) => a + b)]).toEqual([2, 6]);
      expect(await seen("us")).toEqual({ "7/live": [9, 0] });
      expect((await counters.denials.active(soon - 1)).map(({ key }) => key.identifier)).toEqual(["new"]);
    });

    describe("region names", () => {
      /** Two names of the origin 1, and a third region; "default" was renamed to "eu". */
      async function renamed() {
        const under = await setUp();
        const register = (region: string, origin: string) => under.counters.register!(region, origin);
        await register("default", "1");
        await under.counters.publish("default", [under.row("a", 60)]);
        await register("us", "2");
        await under.counters.publish("us", [under.row("a", 7)]);
        await register("eu", "1");
        return { ...under, register };
      }

      test("rows of another name of its origin are a region's own rows", async () => {
        const { counters, row, seen } = await renamed();
        expect(await seen("eu")).toEqual({ "7/a": [7, 60] });
        await counters.publish("eu", [row("a", 61)]);
        expect(await seen("eu")).toEqual({ "7/a": [7, 61] });
        expect(await seen("default")).toEqual({ "7/a": [7, 61] });
      });

      test("a third region counts an origin once, by the largest row of its names", async () => {
        const { counters, row, seen } = await renamed();
        await counters.publish("eu", [row("a", 50), row("b", 3)]);
        expect(await seen("us")).toEqual({ "7/a": [60, 7], "7/b": [3, 0] });
        await counters.publish("eu", [row("a", 65)]);
        expect(await seen("us")).toEqual({ "7/a": [65, 7], "7/b": [3, 0] });
        expect(await seen("sa")).toEqual({ "7/a": [72, 0], "7/b": [3, 0] });
      });

      test("changes are read by origin too, with the rows that did not change", async () => {
        const { counters, row } = await renamed();
        const { cursor } = await readWhole(counters, "us", null);
        await counters.publish("eu", [row("a", 50)]);
        expect(table((await readWhole(counters, "us", cursor)).cells)).toEqual({ "7/a": [60, 7] });
        expect(table((await readWhole(counters, "eu", cursor)).cells)).toEqual({ "7/a": [7, 60] });
      });

      test("names are grouped through an origin that was replaced, and two renames in a row are one region", async () => {
        const { counters, row, register, seen } = await renamed();
        // The Redis of "eu" is replaced, and after that the region is renamed again.
        await register("eu", "3");
        await counters.publish("eu", [row("a", 62)]);
        await register("eu-west", "3");
        await counters.publish("eu-west", [row("a", 63)]);
        expect(await seen("us")).toEqual({ "7/a": [63, 7] });
        expect(await seen("sa")).toEqual({ "7/a": [70, 0] });
        // "eu" had two origins: the row of "eu-west" is neither foreign nor its own. What is in it, "eu" reads from the Redis.
        expect((await seen("eu"))["7/a"]).toEqual([7, 62]);
        expect((await seen("eu-west"))["7/a"]![0]).toBeLessThanOrEqual(67);
      });

      test("two regions that used one name by mistake are counted apart once each has its own", async () => {
        const { counters, row, nowMs, register, seen } = await renamed();
        await register("default", "4");
        await register("ap", "4");
        // In a cell whose window began while the name was shared, its row may contain counts of either.
        await counters.publish("eu", [row("b", 5)]);
        await counters.publish("ap", [row("b", 6)]);
        expect(await seen("eu")).toMatchObject({ "7/b": [6, 5] });
        expect(await seen("us")).toMatchObject({ "7/b": [11, 0] });
        const later = Math.ceil(nowMs() / MINUTE_MS) + 120;
        await counters.publish("default", [row("c", 2, later)]);
        await counters.publish("eu", [row("c", 5, later)]);
        await counters.publish("ap", [row("c", 6, later)]);
        expect((await seen("us"))[`${later}/c`]![0]).toBeLessThanOrEqual(11);
      });

      test("a rename while pages are read makes no row count twice", async () => {
        const { counters, row, register } = await setUpNames();
        const rows = (count: number) => Array.from({ length: 2_500 }, (_, i) => row(`k${i}`, count));
        await register("default", "1");
        await counters.publish("default", rows(4));
        let page = await counters.read("us", null);
        await register("eu", "1");
        await counters.publish("eu", rows(5));
        const found = new Map(page.cells.map(({ key, foreign }) => [key.identifier, foreign]));
        while (page.rest !== undefined) {
          page = await counters.read("us", page.rest);
          for (const { key, foreign } of page.cells) found.set(key.identifier, foreign);
        }
        expect(found.size).toBe(2_500);
        expect([...new Set(found.values())].every((count) => count === 4 || count === 5)).toBe(true);
        const after = await readWhole(counters, "us", page.cursor);
        for (const { key, foreign } of after.cells) found.set(key.identifier, foreign);
        expect(new Set(found.values())).toEqual(new Set([5]));
      });

      test("thousands of cells of two names are given page by page, each once", async () => {
        const { counters, row, register } = await setUpNames();
        await register("default", "1");
        await register("eu", "1");
        const rows = Array.from({ length: 2_499 }, (_, i) => row(`k${Math.floor(i / 3)}`, i + 1, 7 + (i % 3)));
        for (const region of ["default", "eu", "ap"]) await counters.publish(region, rows);
        const { cells } = await readWhole(counters, "us", null);
        const names = new Set(cells.map(({ key, sequence }) => `${sequence}/${key.identifier}`));
        expect([names.size, cells.length]).toEqual([2_499, 2_499]);
        expect(cells.reduce((total, { foreign }) => total + foreign, 0)).toBe(2_499 * 2_500);
      });

      test("unusual names are distinguished", async () => {
        const { counters, row, register, seen } = await setUpNames();
        for (const region of ["eu", "EU", "\u0000", "\\"]) await counters.publish(region, [row("a", 10)]);
        await register("\u0000", "1");
        expect((await register("\\", "1")).aliases).toEqual(["\u0000"]);
        expect(await seen("us")).toEqual({ "7/a": [30, 0] });
        expect(await seen("\\")).toEqual({ "7/a": [20, 10] });
      });

      test("a denial under another name of its origin is a region's own denial", async () => {
        const { counters, denial } = await renamed();
        await counters.denials.write("default", [denial("a", 10)]);
        await counters.denials.write("us", [denial("a", 8), denial("b", 9)]);
        const limits = async (region: string) =>
          (await counters.denials.read!(region, null)).cells
            .map(({ key, foreignLimit, ownLimit }) => [key.identifier, foreignLimit, ownLimit])
            .sort();
        const seenByEu = [
          ["a", 8, 10],
          ["b", 9, null],
        ];
        expect([await limits("eu"), await limits("default")]).toEqual([seenByEu, seenByEu]);
        expect(await limits("us")).toEqual([
          ["a", 10, 8],
          ["b", null, 9],
        ]);
      });

      test("a registration answers the other names of the origin", async () => {
        const { register } = await renamed();
        expect((await register("eu", "1")).aliases).toEqual(["default"]);
        expect((await register("us", "2")).aliases).toEqual([]);
        expect((await register("ap", "9")).aliases).toEqual([]);
      });

      async function setUpNames() {
        const under = await setUp();
        return { ...under, register: (region: string, origin: string) => under.counters.register!(region, origin) };
      }
    });

    test("a caller whose clock runs ahead deletes no row that is still alive", async () => {
      const { counters, row, denial, nowMs, seen } = await setUp();
      await counters.publish("eu", [row("a", 5)]);
      await counters.denials.write("eu", [denial("a", 9)]);
      expect(await counters.cleanUp(nowMs() + 2 * LONG_MS, 100)).toBe(0);
      expect(await seen("us")).toEqual({ "7/a": [5, 0] });
    });

    test("a denial is stored once per region, key and window: the highest limit stays", async () => {
      const { counters, denial } = await setUp();
      await counters.denials.write("eu", [denial("a", 5)]);
      await counters.denials.write("eu", [denial("a", 9), denial("a", 7)]);
      await counters.denials.write("eu", [denial("a", 8)]);
      expect(await counters.denials.active(0)).toMatchObject([denial("a", 9)]);
      await counters.denials.write("us", [denial("a", 6)]);
      await counters.denials.write("eu", [denial("a", 8, 8), denial("b", 4)]);
      const limits = (await counters.denials.active(0)).map(({ limit }) => limit);
      expect(limits.sort()).toEqual([4, 6, 8, 9]);
    });

    test("the active denials are those that have not expired at the moment given, as they were written", async () => {
      const { counters, denial, expiresAtMs } = await setUp();
      const rows = [denial("a", 2 ** 40), { ...denial("b", 1), expiresAtMs: expiresAtMs + 1 }];
      await counters.denials.write("eu", rows);
      const active = async (nowMs: number) =>
        (await counters.denials.active(nowMs)).map(({ key }) => key.identifier).sort();
      expect(await active(expiresAtMs - 1)).toEqual(["a", "b"]);
      expect(await active(expiresAtMs)).toEqual(["b"]);
      expect(await active(expiresAtMs + 1)).toEqual([]);
      const written = rows.map((row) => ({ ...row, region: "eu" }));
      expect(await counters.denials.active(0)).toEqual(expect.arrayContaining(written));
    });

    test("a region sees the highest limit of other regions' denials, and its own apart", async () => {
      const { counters, denial } = await setUp();
      await counters.denials.write("eu", [denial("a", 5)]);
      await counters.denials.write("us", [denial("a", 7), denial("b", 0)]);
      await counters.denials.write("ap", [denial("a", 6)]);
      const seenFrom = async (region: string) => deniedTable((await readDenials(counters, region, null)).cells);
      expect(await seenFrom("eu")).toEqual({ "7/a": [7, 5], "7/b": [0, null] });
      expect(await seenFrom("us")).toEqual({ "7/a": [6, 7], "7/b": [null, 0] });
      expect(await seenFrom("sa")).toEqual({ "7/a": [7, null], "7/b": [0, null] });
    });

    test("a cursor gives the denials that are new or have risen since, and not those that were written again", async () => {
      const { counters, denial, elapse, overlapMs } = await setUp();
      await counters.denials.write("eu", [denial("a", 5), denial("b", 5), denial("c", 5)]);
      // Until a change is settled it is given once more.
      await elapse(overlapMs + 50);
      const settled = await readDenials(counters, "us", (await readDenials(counters, "us", null)).cursor);
      await elapse(10);
      await counters.denials.write("eu", [denial("a", 5), denial("b", 9), denial("c", 4), denial("d", 1)]);
      const { cells, cursor } = await readDenials(counters, "us", settled.cursor);
      expect(deniedTable(cells)).toEqual({ "7/b": [9, null], "7/d": [1, null] });
      await elapse(overlapMs + 50);
      const { cursor: last } = await readDenials(counters, "us", cursor);
      expect((await readDenials(counters, "us", last)).cells).toEqual([]);
    });

    test("denials that have expired are not read any more", async () => {
      const { counters, denial, nowMs, elapse } = await setUp();
      await counters.denials.write("eu", [
        { ...denial("a", 5), expiresAtMs: Math.ceil(nowMs()) + 1_000 },
        denial("b", 5),
      ]);
      await elapse(1_100);
      expect(deniedTable((await readDenials(counters, "us", null)).cells)).toEqual({ "7/b": [5, null] });
    });

    test("many denials are read whole, each once, however they are divided into pages", async () => {
      const { counters, denial } = await setUp();
      const rows = Array.from({ length: 2_345 }, (_, i) => denial(`k${i}`, i));
      await counters.denials.write("eu", rows);
      const { cells } = await readDenials(counters, "us", null);
      expect(cells.length).toBe(2_345);
      expect(Object.keys(deniedTable(cells)).length).toBe(2_345);
      const limits = (await counters.denials.active(0)).map(({ limit }) => limit);
      expect(limits.sort((a, b) => a - b)).toEqual(rows.map(({ limit }) => limit));
    });

    test("denials and counts do not meet", async () => {
      const { counters, denial, row, seen } = await setUp();
      await counters.denials.write("eu", [denial("a", 5)]);
      expect(await seen("us")).toEqual({});
      await counters.publish("eu", [row("b", 5)]);
      expect((await counters.denials.active(0)).length).toBe(1);
    });

    test("close settles, also twice", async () => {
      const { counters } = await setUp();
      await counters.close();
      await expect(counters.close()).resolves.toBeUndefined();
    });
  });
}

/** By "sequence/identifier": the highest limit elsewhere, and the asking region's. */
function deniedTable(cells: readonly DeniedCell[]): Record<string, readonly [number | null, number | null]> {
  return Object.fromEntries(
    cells.map(({ key, sequence, foreignLimit, ownLimit }) => [
      `${sequence}/${key.identifier}`,
      [foreignLimit, ownLimit] as const,
    ]),
  );
}

/** Cells by "sequence/identifier", with the duration if it is not a minute: [foreign, own]. */
function table(cells: readonly ImportedCell[]): Record<string, readonly [number, number]> {
  const named = cells.map(({ key, sequence, foreign, own }) => {
    const suffix = key.durationMs === MINUTE_MS ? "" : `/${key.durationMs}`;
    return [`${sequence}/${key.identifier}${suffix}`, [foreign, own] as const] as const;
  });
  return Object.fromEntries(named);
}
