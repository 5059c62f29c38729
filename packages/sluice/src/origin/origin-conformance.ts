/**
 * What every origin must do, as a suite that each implementation runs: memory, Redis, and whatever comes later.
 *
 * Support for tests: no entry of the build leads here.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Origin, OriginCount, Raise, Read } from "./origin.ts";

/** An empty origin, and the time it lives by. */
export interface OriginUnderTest {
  readonly origin: Origin;
  /** Unix milliseconds, as the store sees them. */
  nowMs(): number;
  /** Returns once at least `ms` have passed for the store. */
  elapse(ms: number): Promise<void>;
}

/** Longer than any run of the suite. */
const LONG_MS = 3_600_000;

/** Keys that a careless store would take for one another, or for something of its own. */
const ODD_KEYS: readonly string[] = [
  "",
  "a",
  "A",
  "a ",
  " a",
  "a\t",
  "a\u0000",
  "a\u0000b",
  "\u0001\u001f\u007f",
  "a\r\n",
  "a:b",
  "{a}",
  "{a}b",
  "}{",
  "*",
  "a%",
  "a_",
  "'; --",
  '"',
  "\\",
  "é",
  "e\u0301",
  "ß",
  "ss",
  "ﬁ",
  "fi",
  "I",
  "ı",
  "🙂".repeat(512),
  `${"🙂".repeat(511)}🙃`,
  "x".repeat(512),
  "x".repeat(511),
  "10:3:abc",
  "1:03:abc",
  "constructor",
  "__proto__",
];

export function originConformance(name: string, makeOrigin: () => Promise<OriginUnderTest>): void {
  describe(`origin conformance: ${name}`, () => {
    /** A fresh origin with short ways to ask it. */
    async function setUp() {
      const under = await makeOrigin();
      const { origin } = under;
      const expiresAtMs = under.nowMs() + LONG_MS;
      const up = (key: string, total: number, writer = "w", sequence = 7): Raise => ({
        key,
        sequence,
        writer,
        total,
        expiresAtMs,
      });
      const of = (key: string, writer = "w", sequence = 7): Read => ({ key, sequence, writer });
      const read = async (key: string, writer = "w", sequence = 7): Promise<OriginCount> =>
        (await origin.read([of(key, writer, sequence)]))[0]!;
      return { ...under, up, of, read };
    }

    test("a cell that nobody raised has 0 and 0", async () => {
      const { origin, of } = await setUp();
      expect(await origin.read([of("a"), of("b", "", 0), of("", "w", 2 ** 32 - 1)])).toEqual(
        [0, 0, 0].map(() => ({ sum: 0, component: 0 })),
      );
    });

    test("a read makes no cell and no component", async () => {
      const { origin, of, up, read } = await setUp();
      await origin.read([of("a")]);
      await origin.raise([up("a", 4, "other")]);
      await origin.read([of("a", "w"), of("a", "")]);
      expect(await read("a")).toEqual({ sum: 4, component: 0 });
    });

    test("a raise answers the sum and the component that hold after it", async () => {
      const { origin, up } = await setUp();
      expect(await origin.raise([up("a", 5, "v")])).toEqual([{ sum: 5, component: 5 }]);
      expect(await origin.raise([up("a", 3, "w")])).toEqual([{ sum: 8, component: 3 }]);
    });

    test("a raise that is repeated changes nothing", async () => {
      const { origin, up, read } = await setUp();
      const answers: OriginCount[] = [];
      for (let i = 0; i < 4; i++) answers.push(...(await origin.raise([up("a", 5)])));
      expect(answers).toEqual([5, 5, 5, 5].map((sum) => ({ sum, component: sum })));
      expect(await read("a")).toEqual({ sum: 5, component: 5 });
    });

    test("a raise never lowers a component", async () => {
      const { origin, up, read } = await setUp();
      await origin.raise([up("a", 5), up("a", 2, "v")]);
      expect(await origin.raise([up("a", 3), up("a", 0)])).toEqual([
        { sum: 7, component: 5 },
        { sum: 7, component: 5 },
      ]);
      expect(await read("a", "v")).toEqual({ sum: 7, component: 2 });
    });

    test("a component that does not exist counts as 0, and the sum as what the others have", async () => {
      const { origin, up, read } = await setUp();
      await origin.raise([up("a", 5, "v"), up("a", 6, "u")]);
      for (const writer of ["", "w", "V", "v ", "t", "sum"])
        expect(await read("a", writer)).toEqual({ sum: 11, component: 0 });
    });

    test("many cells at once are answered in the order they were asked", async () => {
      const { origin, up, of } = await setUp();
      const cells = Array.from({ length: 300 }, (_, i) => ({
        key: `k${(i * 37) % 300}`,
        sequence: i % 3,
        total: i + 1,
      }));
      const raised = await origin.raise(cells.map(({ key, sequence, total }) => up(key, total, "w", sequence)));
      expect(raised).toEqual(cells.map(({ total }) => ({ sum: total, component: total })));
      const back = [...cells].reverse();
      expect(await origin.read(back.map(({ key, sequence }) => of(key, "w", sequence)))).toEqual(
        back.map(({ total }) => ({ sum: total, component: total })),
      );
    });

    test("the same cell several times in one call is raised in order", async () => {
      const { origin, up } = await setUp();
      const raised = await origin.raise([up("a", 2), up("a", 5, "v"), up("a", 4), up("a", 1, "v")]);
      expect(raised).toEqual([
        { sum: 2, component: 2 },
        { sum: 7, component: 5 },
        { sum: 9, component: 4 },
        { sum: 9, component: 5 },
      ]);
    });

    test("an empty list is answered with an empty list", async () => {
      const { origin } = await setUp();
      expect([await origin.raise([]), await origin.read([])]).toEqual([[], []]);
    });

    test("windows of one key are cells of their own", async () => {
      const { origin, up, read } = await setUp();
      const sequences = [0, 1, 7, 10, 70, 2 ** 31, 2 ** 32 - 2];
      await origin.raise(sequences.map((sequence, i) => up("a", i + 1, "w", sequence)));
      for (const [i, sequence] of sequences.entries()) {
        expect(await read("a", "w", sequence)).toEqual({ sum: i + 1, component: i + 1 });
      }
    });

    test("no two keys are ever one cell, however odd they are", async () => {
      const { origin, up, of } = await setUp();
      await origin.raise(ODD_KEYS.map((key, i) => up(key, i + 1)));
      expect(await origin.read(ODD_KEYS.map((key) => of(key)))).toEqual(
        ODD_KEYS.map((_, i) => ({ sum: i + 1, component: i + 1 })),
      );
    });

    test("no two writers are ever one component, however alike they are", async () => {
      const { origin, up, of } = await setUp();
      const writers = ["00ff", "00FF", "00ff.1", "00ff.10", "00ff.2", "t", "sum", "a", "b"];
      await origin.raise(writers.map((writer, i) => up("a", i + 1, writer)));
      const sum = (writers.length * (writers.length + 1)) / 2;
      expect(await origin.read(writers.map((writer) => of("a", writer)))).toEqual(
        writers.map((_, i) => ({ sum, component: i + 1 })),
      );
    });

    test("totals up to 2^40 and sums far beyond 2^32 are exact", async () => {
      const { origin, up, read } = await setUp();
      const large = 2 ** 40;
      await origin.raise([up("a", 2 ** 32 - 1, "u"), up("a", large - 1, "v"), up("a", large, "w")]);
      expect(await read("a")).toEqual({ sum: 2 * large + 2 ** 32 - 2, component: large });
      const many = Array.from({ length: 64 }, (_, i) => up("b", large - i, `w${i}`));
      await origin.raise(many);
      expect((await read("b")).sum).toBe(64 * large - (63 * 64) / 2);
    });

    test("a sum stops at the largest exact integer, and the cell stays one: components rise, and reads answer", async () => {
      // Charges may exceed limits: 8,192 writers with one charge of the largest cost each would pass 2^53.
      const { origin, up, of } = await setUp();
      const most = Number.MAX_SAFE_INTEGER;
      const writers = Array.from({ length: 511 }, (_, i) => `w${i}`);
      await origin.raise(writers.map((writer) => up("a", 2 ** 44, writer)));
      expect(await origin.raise([up("a", 2 ** 44 - 1, "x")])).toEqual([{ sum: most, component: 2 ** 44 - 1 }]);
      expect(await origin.raise([up("a", 2 ** 44, "x"), up("a", 2 ** 44, "y"), up("a", 3, "y")])).toEqual([
        { sum: most, component: 2 ** 44 },
        { sum: most, component: 2 ** 44 },
        { sum: most, component: 2 ** 44 },
      ]);
      expect(await origin.read([of("a", "x"), of("a", "y"), of("a", "z")])).toEqual([
        { sum: most, component: 2 ** 44 },
        { sum: most, component: 2 ** 44 },
        { sum: most, component: 0 },
      ]);
    });

    test("a cell is there until it expires, and gone soon after", async () => {
      const { origin, nowMs, elapse, read, up } = await setUp();
      await origin.raise([{ ...up("short", 5), expiresAtMs: Math.ceil(nowMs()) + 2_000 }, up("long", 6)]);
      await elapse(1_000);
      expect(await read("short")).toEqual({ sum: 5, component: 5 });
      await elapse(1_100);
      expect([await read("short"), await read("long")]).toEqual([
        { sum: 0, component: 0 },
        { sum: 6, component: 6 },
      ]);
      // A cell that expired starts from nothing: all of its components are gone.
      expect(await origin.raise([up("short", 1, "v")])).toEqual([{ sum: 1, component: 1 }]);
    });

    test("an expiry moves forward only: a late raise with an older one does not cut a cell's life short", async () => {
      const { origin, nowMs, elapse, read, up } = await setUp();
      const endMs = Math.ceil(nowMs()) + 500;
      await origin.raise([up("a", 5), { ...up("a", 6), expiresAtMs: endMs }]);
      await elapse(700);
      expect(await read("a")).toEqual({ sum: 6, component: 6 });
    });

    test("any order and any repetition of the same raises gives the same cell", async () => {
      const raise = fc.record({
        key: fc.constantFrom("a", "b"),
        writer: fc.constantFrom("u", "v", "w"),
        total: fc.integer({ min: 0, max: 1_000 }),
      });
      const history = fc.array(raise, { maxLength: 12 });
      const shuffled = history.chain((one) =>
        fc.tuple(
          fc.constant(one),
          fc.array(fc.nat({ max: Math.max(0, one.length - 1) }), { maxLength: 2 * one.length }),
          fc.shuffledSubarray(one, { minLength: one.length }),
        ),
      );
      let run = 0;
      const { origin, up, of } = await setUp();
      const property = fc.asyncProperty(shuffled, async ([one, again, other]) => {
        run++;
        const components = (side: string) =>
          ["a", "b"].flatMap((key) => ["u", "v", "w"].map((writer) => of(`${run}${side}${key}`, writer)));
        for (const { key, writer, total } of one) await origin.raise([up(`${run}l${key}`, total, writer)]);
        const repeated = [...other, ...again.flatMap((i) => one[i] ?? [])];
        await origin.raise(repeated.map(({ key, writer, total }) => up(`${run}r${key}`, total, writer)));
        const left = await origin.read(components("l"));
        expect(await origin.read(components("r"))).toEqual(left);
        const highest = (key: string, writer: string) =>
          Math.max(0, ...one.flatMap((r) => (r.key === key && r.writer === writer ? [r.total] : [])));
        const expected = ["a", "b"].flatMap((key) => {
          const parts = ["u", "v", "w"].map((writer) => highest(key, writer));
          return parts.map((component) => ({ sum: parts.reduce((a, b) => a + b), component }));
        });
        expect(left).toEqual(expected);
      });
      await fc.assert(property, { numRuns: 100 });
    });

    test("calls that are made together do not disturb each other", async () => {
      const { origin, up, read } = await setUp();
      const writers = Array.from({ length: 20 }, (_, i) => `w${i}`);
      await Promise.all(writers.flatMap((writer) => [1, 3, 2].map((total) => origin.raise([up("a", total, writer)]))));
      expect(await read("a", "w7")).toEqual({ sum: 60, component: 3 });
    });

    test("close settles, also twice", async () => {
      const { origin } = await setUp();
      await origin.close();
      await expect(origin.close()).resolves.toBeUndefined();
    });
  });
}
