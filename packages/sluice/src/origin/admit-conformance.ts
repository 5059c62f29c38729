/**
 * What `admit` must do at every origin, as a part of origin-conformance.ts: the rules one by one, and random calls against a model.
 *
 * Support for tests: no entry of the build leads here.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AdmitModel } from "./admit-model.ts";
import type { Admit, Admitted, OriginCount } from "./origin.ts";
import type { OriginUnderTest } from "./origin-conformance.ts";

/** Longer than any run of the suite. */
const LONG_MS = 3_600_000;
const MONTH_MS = 30 * 86_400_000;
/** How many keys one call names here: more than one command of a driver takes. */
const KEYS = 100;

/** An `admit` in short: half of the window is left, and each cost has the same limit unless `limits` names one for each. */
interface Short extends Partial<Omit<Admit, "requests">> {
  readonly limit?: number;
  readonly limits?: readonly number[];
  readonly costs?: readonly number[];
}

/** The requests that were counted as digits, or `repeated`; then sum and component of the cell, and of the cell before it. */
function inShort({ allowed, current, previous }: Admitted): readonly (string | number)[] {
  const digits = allowed === null ? "repeated" : allowed.map((isAllowed) => (isAllowed ? "1" : "0")).join("");
  return [digits, current.sum, current.component, previous.sum, previous.component];
}

export function admitConformance(name: string, makeOrigin: () => Promise<OriginUnderTest>): void {
  describe(`origin conformance: admit: ${name}`, () => {
    /** A fresh origin with short ways to ask it. */
    async function setUp() {
      const under = await makeOrigin();
      const { origin } = under;
      const expiresAtMs = Math.ceil(under.nowMs()) + LONG_MS;
      const callOf = ({ limit = 3, limits, costs = [1], ...more }: Short): Admit => ({
        key: "a",
        sequence: 7,
        writer: "w",
        total: 0,
        previousTotal: 0,
        expiresAtMs,
        previousExpiresAtMs: expiresAtMs - 1,
        foreign: 0,
        previousForeign: 0,
        leftMs: 500,
        durationMs: 1_000,
        requests: costs.map((cost, i) => ({ limit: limits?.[i] ?? limit, cost })),
        call: 1,
        ...more,
      });
      const admitAll = async (calls: readonly Short[]) => (await origin.admit!(calls.map(callOf))).map(inShort);
      const admit = async (call: Short) => (await admitAll([call]))[0]!;
      const raise = (total: number, writer: string, sequence: number, key = "a") =>
        origin.raise([{ key, sequence, writer, total, expiresAtMs }]);
      const read = async (writer = "w", sequence = 7, key = "a"): Promise<OriginCount> =>
        (await origin.read([{ key, sequence, writer }]))[0]!;
      return { ...under, callOf, admitAll, admit, raise, read };
    }

    test("requests are counted up to the limit, under the caller's component", async () => {
      const { admit, read } = await setUp();
      expect(await admit({})).toEqual(["1", 1, 1, 0, 0]);
      expect(await admit({ total: 1 })).toEqual(["1", 2, 2, 0, 0]);
      expect(await admit({ writer: "v" })).toEqual(["1", 3, 1, 0, 0]);
      expect(await admit({ writer: "u" })).toEqual(["0", 3, 0, 0, 0]);
      expect([await read("w"), await read("v"), await read("u")].map(({ component }) => component)).toEqual([2, 1, 0]);
    });

    test("a call that is executed again counts nothing and answers that it was repeated", async () => {
      const { admit, read } = await setUp();
      await admit({ costs: [1, 1] });
      for (let i = 0; i < 3; i++) expect(await admit({ costs: [1, 1] })).toEqual(["repeated", 2, 2, 0, 0]);
      expect(await admit({ total: 2 })).toEqual(["1", 3, 3, 0, 0]);
      // Older copies, late by two calls, and one with a cost that would still fit.
      expect(await admit({ costs: [1, 1], limit: 100 })).toEqual(["repeated", 3, 3, 0, 0]);
      expect(await admit({ total: 2, limit: 100 })).toEqual(["repeated", 3, 3, 0, 0]);
      expect(await read()).toEqual({ sum: 3, component: 3 });
    });

    test("a call that a replay has overtaken answers that it was repeated", async () => {
      const { admit, raise, read } = await setUp();
      await raise(2, "w", 7);
      expect(await admit({ total: 1, limit: 100 })).toEqual(["repeated", 2, 2, 0, 0]);
      expect(await read()).toEqual({ sum: 2, component: 2 });
    });

    test("a repeated call still raises the total of the previous cell", async () => {
      const { admit, raise } = await setUp();
      await raise(2, "w", 7);
      expect(await admit({ total: 1, previousTotal: 5 })).toEqual(["repeated", 2, 2, 5, 5]);
    });

    test("what is written is the caller's total plus what was admitted, not the component plus that", async () => {
      const { admit, raise, read } = await setUp();
      await raise(1, "w", 7);
      // The replay of the other four is on its way.
      expect(await admit({ total: 5, limit: 6, costs: [1, 1] })).toEqual(["10", 6, 6, 0, 0]);
      expect(await read()).toEqual({ sum: 6, component: 6 });
    });

    test("the caller's totals are raised even if every request is denied", async () => {
      const { admit, read } = await setUp();
      expect(await admit({ total: 4, previousTotal: 2 })).toEqual(["0", 4, 4, 2, 2]);
      expect(await admit({ writer: "v", total: 2, previousTotal: 1 })).toEqual(["0", 6, 2, 3, 1]);
      expect([await read(), await read("w", 6)]).toEqual([
        { sum: 6, component: 4 },
        { sum: 3, component: 2 },
      ]);
    });

    test("a denial counts nothing: what fitted before it fits after it", async () => {
      const { admit, read } = await setUp();
      await admit({ costs: [2] });
      for (let i = 0; i < 3; i++) expect(await admit({ writer: "v", costs: [2] })).toEqual(["0", 2, 0, 0, 0]);
      expect(await read("v")).toEqual({ sum: 2, component: 0 });
      expect(await admit({ writer: "v" })).toEqual(["1", 3, 1, 0, 0]);
    });

    test("a request fits up to the limit, the limit itself included", async () => {
      const { admitAll } = await setUp();
      const costs = [2, 3, 4];
      const answers = await admitAll(costs.map((cost) => ({ key: `k${cost}`, costs: [cost] })));
      expect(answers.map(([digits]) => digits)).toEqual(["1", "1", "0"]);
    });

    test("requests are decided in order of arrival, and one that is denied does not block those behind it", async () => {
      const { admitAll } = await setUp();
      expect(
        await admitAll([
          { key: "a", costs: [1, 2, 1, 1] },
          { key: "b", costs: [2, 2, 1] },
          { key: "c", costs: [4, 3, 1] },
          { key: "d", costs: [1, 1, 1] },
        ]),
      ).toEqual([
        ["1100", 3, 3, 0, 0],
        ["101", 3, 3, 0, 0],
        ["010", 3, 3, 0, 0],
        ["111", 3, 3, 0, 0],
      ]);
    });

    test("each request is checked against its own limit", async () => {
      const { admit } = await setUp();
      expect(await admit({ costs: [2, 1, 1, 1], limits: [3, 2, 3, 100] })).toEqual(["1011", 4, 4, 0, 0]);
    });

    test("the previous cell counts by what is left of the window, rounded down", async () => {
      const { admitAll, raise } = await setUp();
      const weights = [
        [1_000, 0],
        [999, 1],
        [500, 4],
        [143, 6],
        [142, 7],
        [0, 7],
      ] as const;
      for (const [leftMs] of weights) await raise(7, "v", 6, `k${leftMs}`);
      const answers = await admitAll(
        weights.map(([leftMs]) => ({ key: `k${leftMs}`, leftMs, limit: 7, costs: Array<number>(8).fill(1) })),
      );
      expect(answers).toEqual(
        weights.map(([, fits]) => ["1".repeat(fits) + "0".repeat(8 - fits), fits, fits === 0 ? 0 : fits, 7, 0]),
      );
    });

    test("the caller's total of the previous cell is raised before the check", async () => {
      const { admit, raise } = await setUp();
      await raise(2, "v", 6);
      expect(await admit({ previousTotal: 4, leftMs: 500, costs: [1] })).toEqual(["0", 0, 0, 6, 4]);
      // A lower total changes nothing.
      expect(await admit({ previousTotal: 1, leftMs: 0 })).toEqual(["1", 1, 1, 6, 4]);
    });

    test("foreign counts are part of the check, and are not stored", async () => {
      const { admit, read } = await setUp();
      expect(await admit({ foreign: 2, costs: [1, 1] })).toEqual(["10", 1, 1, 0, 0]);
      expect(await admit({ total: 1, previousForeign: 3, costs: [1, 1] })).toEqual(["10", 2, 2, 0, 0]);
      expect(await admit({ total: 2, foreign: 1 })).toEqual(["0", 2, 2, 0, 0]);
      expect(await admit({ total: 2 })).toEqual(["1", 3, 3, 0, 0]);
      expect([await read(), await read("w", 6)]).toEqual([
        { sum: 3, component: 3 },
        { sum: 0, component: 0 },
      ]);
    });

    test("what this region and the others counted in the previous cell is weighed together", async () => {
      const { admit, raise } = await setUp();
      await raise(1, "v", 6);
      // The shares of 1 and 1 are 0 each; the share of 2 is 1.
      expect(await admit({ previousForeign: 1, costs: [1, 1, 1] })).toEqual(["110", 2, 2, 1, 0]);
    });

    test("64 requests are decided in one call", async () => {
      const { admit } = await setUp();
      const costs = Array.from({ length: 64 }, (_, i) => 1 + (i % 3));
      let [count, digits] = [0, ""];
      for (const cost of costs) {
        const fits = count + cost <= 100;
        digits += fits ? "1" : "0";
        if (fits) count += cost;
      }
      expect(await admit({ limit: 100, costs })).toEqual([digits, count, count, 0, 0]);
      expect(await admit({ key: "b", limit: 64, costs: costs.map(() => 1) })).toEqual(["1".repeat(64), 64, 64, 0, 0]);
    });

    test("the largest limits, costs, totals and sums are exact", async () => {
      const { admit, raise } = await setUp();
      const large = 2 ** 40;
      expect(await admit({ limit: large, costs: [large, 1] })).toEqual(["10", large, large, 0, 0]);
      expect(await admit({ key: "b", limit: large, costs: [large - 1, 2, 1] })).toEqual(["101", large, large, 0, 0]);
      for (let i = 0; i < 16; i++) await raise(large - i, `w${i}`, 7, "c");
      const sum = 16 * large - 120;
      expect(await admit({ key: "c", limit: large })).toEqual(["0", sum, 0, 0, 0]);
      expect(await admit({ key: "c", total: large - 7 })).toEqual(["0", sum + large - 7, large - 7, 0, 0]);
      expect(await admit({ key: "d", foreign: 2 ** 44, limit: large })).toEqual(["0", 0, 0, 0, 0]);
      const most = Number.MAX_SAFE_INTEGER;
      const full = { limit: large, foreign: most, previousForeign: most, leftMs: 1_000 };
      expect(await admit({ key: "e", ...full })).toEqual(["0", 0, 0, 0, 0]);
    });

    test("cells whose sums have reached the largest exact integer are checked like any other", async () => {
      const { admit, raise } = await setUp();
      const most = Number.MAX_SAFE_INTEGER;
      for (const sequence of [6, 7]) {
        for (let i = 0; i < 513; i++) await raise(2 ** 44, `w${i}`, sequence, "a");
      }
      expect(await admit({ key: "a", limit: 2 ** 40 })).toEqual(["0", most, 0, most, 0]);
      expect(await admit({ key: "a", limit: 2 ** 40, total: 2 ** 44 })).toEqual(["0", most, 2 ** 44, most, 0]);
    });

    test("the share of a large previous cell is exact in windows of a month", async () => {
      const { admit, raise } = await setUp();
      const shapes = [
        [2 ** 40, 1_234_567_891],
        [2 ** 40 - 1, MONTH_MS - 1],
        [2 ** 44 - 12_345, 65_535],
        [2 ** 44, 65_536],
      ] as const;
      for (const [i, [count, leftMs]] of shapes.entries()) {
        const share = Number((BigInt(count) * BigInt(leftMs)) / BigInt(MONTH_MS));
        const call = { key: `k${i}`, limit: share + 1_000, leftMs, durationMs: MONTH_MS };
        await raise(count, "v", 6, call.key);
        expect(await admit({ ...call, costs: [1_001, 1_000, 1] })).toEqual(["010", 1_000, 1_000, count, 0]);
      }
    });

    test("a denial of a key that nobody counted leaves no trace of it", async () => {
      const { admit, admitAll, read } = await setUp();
      expect(await admit({ limit: 0 })).toEqual(["0", 0, 0, 0, 0]);
      expect(await admitAll([{ costs: [4] }, { costs: [4, 5], sequence: 8 }])).toEqual([
        ["0", 0, 0, 0, 0],
        ["00", 0, 0, 0, 0],
      ]);
      expect(await read()).toEqual({ sum: 0, component: 0 });
    });

    test("many keys at once are answered in order, and none of them disturbs another", async () => {
      const { admitAll, raise } = await setUp();
      await raise(2, "v", 7, "k1");
      const calls = Array.from({ length: KEYS }, (_, i) => ({ key: `k${i}`, costs: i % 2 === 0 ? [1] : [1, 1, 3, 1] }));
      const answers = await admitAll(calls);
      expect(answers).toEqual(
        calls.map((_, i) => {
          if (i === 1) return ["1000", 3, 1, 0, 0];
          return i % 2 === 0 ? ["1", 1, 1, 0, 0] : ["1101", 3, 3, 0, 0];
        }),
      );
    });

    test("the same key several times in one call is decided in order", async () => {
      const { admitAll } = await setUp();
      const answers = await admitAll([
        { limit: 2, costs: [1] },
        { limit: 2, writer: "v", costs: [1, 1] },
        { limit: 2, costs: [1] },
        { limit: 5, total: 1, sequence: 8, previousTotal: 1, leftMs: 1_000, costs: [1, 2] },
      ]);
      expect(answers).toEqual([
        ["1", 1, 1, 0, 0],
        ["10", 2, 1, 0, 0],
        ["repeated", 2, 1, 0, 0],
        ["10", 2, 2, 2, 1],
      ]);
    });

    test("an empty list is answered with an empty list", async () => {
      expect(await (await setUp()).admitAll([])).toEqual([]);
    });

    test("calls that are made together count no more than the limit, and each component is what its caller was told", async () => {
      const { admit, read } = await setUp();
      const writers = Array.from({ length: 20 }, (_, i) => `w${i}`);
      const accepted = await Promise.all(
        writers.map(async (writer) => {
          let total = 0;
          for (let i = 0; i < 10; i++) if ((await admit({ writer, total, limit: 50 }))[0] === "1") total++;
          return total;
        }),
      );
      expect(accepted.reduce((a, b) => a + b)).toBe(50);
      for (const [i, writer] of writers.entries()) {
        expect(await read(writer)).toEqual({ sum: 50, component: accepted[i] });
      }
    });

    test("both cells are there until each expires, and gone soon after", async () => {
      const { admit, nowMs, elapse, read } = await setUp();
      const beganMs = Math.ceil(nowMs());
      const expiries = { previousExpiresAtMs: beganMs + 1_500, expiresAtMs: beganMs + 3_000 };
      expect(await admit({ previousTotal: 2, ...expiries })).toEqual(["1", 1, 1, 2, 2]);
      await elapse(800);
      expect([(await read()).sum, (await read("w", 6)).sum]).toEqual([1, 2]);
      await elapse(beganMs + 1_600 - nowMs());
      expect([(await read()).sum, (await read("w", 6)).sum]).toEqual([1, 0]);
      await elapse(beganMs + 3_100 - nowMs());
      expect((await read()).sum).toBe(0);
      expect(await admit({ writer: "v" })).toEqual(["1", 1, 1, 0, 0]);
    });

    test("an expiry moves forward only", async () => {
      const { admit, nowMs, elapse, read } = await setUp();
      const endMs = Math.ceil(nowMs()) + 500;
      const early = { previousExpiresAtMs: endMs, expiresAtMs: endMs };
      await admit({ previousTotal: 1 });
      expect(await admit({ total: 1, previousTotal: 2, ...early })).toEqual(["1", 2, 2, 2, 2]);
      // A later one takes the place of an earlier one.
      await admit({ key: "b", previousTotal: 1, ...early });
      await admit({ key: "b", total: 1, previousTotal: 2 });
      await elapse(700);
      expect([await read(), await read("w", 6), await read("w", 7, "b"), await read("w", 6, "b")]).toEqual(
        Array(4).fill({ sum: 2, component: 2 }),
      );
    });

    test("random calls, a third of them repetitions of earlier ones, are answered as the model answers them", async () => {
      const { origin, callOf } = await setUp();
      const fresh = fc.record({
        writer: fc.constantFrom("u", "v", "w"),
        ahead: fc.constantFrom(0, 0, 0, 1, 2),
        aheadBefore: fc.constantFrom(0, 0, 0, 0, 1, 3),
        foreign: fc.constantFrom(0, 0, 0, 1),
        previousForeign: fc.constantFrom(0, 0, 0, 3),
        leftMs: fc.integer({ min: 0, max: 1_000 }),
        requests: fc.array(
          fc.record({ limit: fc.integer({ min: 2, max: 12 }), cost: fc.integer({ min: 1, max: 3 }) }),
          { minLength: 1, maxLength: 4 },
        ),
        sequence: fc.constantFrom(7, 7, 7, 8),
      });
      const step = fc.oneof({ weight: 2, arbitrary: fresh }, { weight: 1, arbitrary: fc.nat({ max: 40 }) });
      let run = 0;
      const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const key = `run${++run}`;
        const model = new AdmitModel();
        const sent: Admit[] = [];
        for (const one of steps) {
          const again = typeof one === "number" ? sent[one % Math.max(1, sent.length)] : undefined;
          if (typeof one === "number" && again === undefined) continue;
          let call = again;
          if (typeof one !== "number") {
            const { ahead, aheadBefore, writer, sequence, ...rest } = one;
            const total = model.component(sequence, writer) + ahead;
            const previousTotal = model.component(sequence - 1, writer) + aheadBefore;
            call = { ...callOf({ key, writer, sequence, total, previousTotal }), ...rest };
          }
          sent.push(call!);
          expect((await origin.admit!([call!])).map(inShort)).toEqual([inShort(model.admit(call!))]);
        }
      });
      await fc.assert(property, { numRuns: 100 });
    });

    test("its life does not change while nothing happens to it, and is a number or not known", async () => {
      const { origin, admit } = await setUp();
      const before = origin.life?.();
      await admit({});
      expect(origin.life?.()).toBe(before);
      expect(["number", "undefined"]).toContain(typeof before);
    });
  });
}
