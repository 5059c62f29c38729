/**
 * What `hold` and `free` must do at every origin, as a part of origin-conformance.ts: the rules one by one, competing clients, and random
 * calls against a model.
 *
 * Support for tests: no entry of the build leads here.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketAt, type FreedItem, type FreeVerb, type HeldItem, type HoldItem, type NotDone } from "./hold.ts";
import type { OriginUnderTest } from "./origin-conformance.ts";

/** A window that no run of the suite straddles, except where a test lets it end. */
const LONG_MS = 30 * 86_400_000;
const TTL_MS = 60_000;

type ShortItem = Partial<Omit<HoldItem, "sequence">>;

interface ShortHold {
  readonly ttlMs?: number;
  readonly byMs?: number;
  readonly holdsMax?: number;
  readonly items: readonly ShortItem[];
}

interface ShortFree {
  readonly key?: string;
  readonly durationMs?: number;
  readonly actual?: number;
  readonly ttlMs?: number;
  readonly writer?: string;
  readonly known?: number;
}

/** @param isOneStep false in a Cluster: keys of several slots are held one slot after the other, and the caller cancels what was granted. */
export function holdConformance(name: string, makeOrigin: () => Promise<OriginUnderTest>, isOneStep = true): void {
  describe(`origin conformance: hold and free: ${name}`, () => {
    /** A fresh origin with short ways to ask it. A wrong guess of its window is asked again, as a process does. */
    async function setUp() {
      const under = await makeOrigin();
      const { origin } = under;
      const itemOf = (item: ShortItem, nowMs: number): HoldItem => {
        const { durationMs = LONG_MS } = item;
        const none = { total: 0, previousTotal: 0, known: 0, previousKnown: 0, foreign: 0, previousForeign: 0 };
        const limits = { key: "1:k", limit: 3, cost: 1, writer: "w", heldInMemory: 0 };
        return { ...limits, ...none, durationMs, ...item, sequence: Math.floor(nowMs / durationMs) };
      };
      const holdAll = async (id: string, hold: ShortHold, nowMs = under.nowMs()): Promise<readonly HeldItem[]> => {
        const { ttlMs = TTL_MS, byMs = nowMs + 10_000, holdsMax = 1_000, items } = hold;
        const all = items.map((item) => itemOf(item, nowMs));
        const answer = await origin.hold!({ id, ttlMs, atMs: nowMs, byMs, holdsMax, items: all });
        if (answer.code === "done") return answer.items.map((item) => item!);
        return holdAll(id, hold, answer.nowMs);
      };
      const hold = async (id: string, cost: number, item: ShortItem = {}, more: Partial<ShortHold> = {}) =>
        (await holdAll(id, { ...more, items: [{ cost, ...item }] }))[0]!;
      const freeAll = async (
        id: string,
        verb: FreeVerb,
        frees: readonly ShortFree[],
        nowMs = under.nowMs(),
      ): Promise<readonly FreedItem[]> => {
        const answer = await origin.free!(
          frees.map(({ key = "1:k", durationMs = LONG_MS, actual = 0, ttlMs = TTL_MS, writer = "p.s", known = 0 }) => {
            const sequence = Math.floor(nowMs / durationMs);
            return { key, durationMs, sequence, id, verb, actual, ttlMs, writer, known };
          }),
          nowMs,
        );
        return answer.code === "done" ? answer.items.map((item) => item!) : freeAll(id, verb, frees, answer.nowMs);
      };
      const free = async (id: string, verb: FreeVerb, free: ShortFree = {}) => (await freeAll(id, verb, [free]))[0]!;
      const settle = (id: string, actual: number, more: ShortFree = {}) => free(id, "settle", { actual, ...more });
      const look = (item: ShortItem = {}) => hold("", 0, item);
      /** The cost of the living holds, and the sum of the cell. */
      const state = async (item: ShortItem = {}) => {
        const { holds, current } = await look(item);
        return [holds.cost, current.sum];
      };
      /** Nothing is done: what the origin says of the whole call. */
      const refused = async (byMs: number, item: ShortItem, nowMs: number): Promise<NotDone | "done"> =>
        (await origin.hold!({ id: "r", ttlMs: TTL_MS, atMs: nowMs, byMs, holdsMax: 10, items: [itemOf(item, nowMs)] }))
          .code;
      return { ...under, holdAll, hold, freeAll, free, settle, look, state, refused };
    }

    test("holds are granted up to the limit, the limit itself included", async () => {
      const { hold, state } = await setUp();
      expect((await hold("a", 2)).code).toBe("granted");
      expect((await hold("b", 1)).code).toBe("granted");
      expect((await hold("c", 1)).code).toBe("reserved");
      expect(await state()).toEqual([3, 0]);
    });

    test("a cost above what the counts leave is refused for the limit, not for the holds", async () => {
      const { hold, state } = await setUp();
      await hold("a", 1);
      expect((await hold("b", 4)).code).toBe("limit");
      expect(await state()).toEqual([1, 0]);
    });

    test("a repeated hold is held once", async () => {
      const { hold, state } = await setUp();
      await hold("a", 2);
      for (let i = 0; i < 3; i++) expect((await hold("a", 2)).code).toBe("again");
      expect((await hold("a", 1)).code).toBe("again");
      expect(await state()).toEqual([2, 0]);
    });

    test("a hold is enlarged to a total, and stays as it was if that does not fit", async () => {
      const { hold, state } = await setUp();
      await hold("a", 1);
      await hold("b", 1);
      expect((await hold("a", 3)).code).toBe("reserved");
      expect(await state()).toEqual([2, 0]);
      expect((await hold("a", 2)).code).toBe("granted");
      expect((await hold("a", 2)).code).toBe("again");
      expect(await state()).toEqual([3, 0]);
    });

    test("a settlement frees the hold and counts the truth in one step, more or less than was held", async () => {
      const { hold, settle, state } = await setUp();
      await hold("a", 2);
      await hold("b", 1);
      expect(await settle("a", 1)).toMatchObject({ code: "settled", counted: 1, current: { sum: 1, component: 1 } });
      expect(await state()).toEqual([1, 1]);
      expect(await settle("b", 5)).toMatchObject({ code: "settled", counted: 5, holds: { cost: 0, earliestMs: 0 } });
      expect(await state()).toEqual([0, 6]);
      expect((await hold("c", 1)).code).toBe("limit");
    });

    test("a settlement that is repeated, even by another process, counts once", async () => {
      const { hold, settle, state } = await setUp();
      await hold("a", 2);
      await settle("a", 2);
      for (const writer of ["p.s", "q.s"]) {
        expect(await settle("a", 2, { writer })).toMatchObject({ code: "settled-before", counted: 2 });
      }
      expect(await settle("a", 3)).toMatchObject({ code: "settled-before", counted: 2 });
      expect(await state()).toEqual([0, 2]);
    });

    test("a settlement of 0 counts nothing and is remembered", async () => {
      const { hold, settle, state } = await setUp();
      await hold("a", 2);
      expect(await settle("a", 0)).toMatchObject({ code: "settled", counted: 0 });
      expect(await settle("a", 0)).toMatchObject({ code: "settled-before", counted: 0 });
      expect(await state()).toEqual([0, 0]);
    });

    test("a release frees the hold and counts nothing, and can be repeated", async () => {
      const { hold, free, settle, state } = await setUp();
      await hold("a", 2);
      expect((await free("a", "release")).code).toBe("released");
      expect((await free("a", "release")).code).toBe("released-before");
      expect((await settle("a", 2)).code).toBe("released-before");
      expect(await state()).toEqual([0, 0]);
    });

    test("an ended hold never lives again: a late copy of its hold changes nothing", async () => {
      const { hold, free, settle, state } = await setUp();
      await hold("a", 1);
      await free("a", "release");
      await hold("b", 1);
      await settle("b", 0);
      expect((await hold("a", 1)).code).toBe("ended");
      expect((await hold("b", 1)).code).toBe("ended");
      expect((await free("a", "renew")).code).toBe("released-before");
      expect((await free("b", "renew")).code).toBe("settled-before");
      expect(await state()).toEqual([0, 0]);
    });

    test("an unknown id is unknown to every verb but cancel, and nothing is counted", async () => {
      const { settle, free, state } = await setUp();
      expect((await settle("a", 2)).code).toBe("unknown");
      expect((await free("a", "release")).code).toBe("unknown");
      expect((await free("a", "renew")).code).toBe("unknown");
      expect(await state()).toEqual([0, 0]);
    });

    test("a cancel that overtakes its hold stops it", async () => {
      const { hold, free, state } = await setUp();
      expect((await free("a", "cancel")).code).toBe("released");
      expect((await hold("a", 1)).code).toBe("ended");
      await hold("b", 1);
      expect((await free("b", "cancel")).code).toBe("released");
      expect(await state()).toEqual([0, 0]);
    });

    test("one call holds all of its items or none", async () => {
      const { holdAll, state, freeAll } = await setUp();
      const both = (x: number, y: number) => ({
        items: [
          { key: "x", limit: 2, cost: x },
          { key: "y", limit: 5, cost: y },
        ],
      });
      const codes = async (id: string, x: number, y: number) => (await holdAll(id, both(x, y))).map(({ code }) => code);
      expect(await codes("a", 1, 1)).toEqual(["granted", "granted"]);
      const partly = async (id: string, x: number, y: number) => {
        const answer = await codes(id, x, y);
        if (isOneStep || !answer.includes("granted")) return answer;
        await freeAll(id, "cancel", [{ key: "x" }, { key: "y" }]);
        return answer.map((code) => (code === "granted" ? "fits" : code));
      };
      expect(await partly("b", 2, 1)).toEqual(["reserved", "fits"]);
      expect(await partly("c", 1, 6)).toEqual(["fits", "limit"]);
      expect([await state({ key: "x" }), await state({ key: "y" })]).toEqual([
        [1, 0],
        [1, 0],
      ]);
      const settled = await freeAll("a", "settle", [
        { key: "x", actual: 2 },
        { key: "y", actual: 0 },
      ]);
      expect(settled.map(({ code }) => code)).toEqual(["settled", "settled"]);
      expect([await state({ key: "x" }), await state({ key: "y" })]).toEqual([
        [0, 2],
        [0, 0],
      ]);
    });

    test("items of one key add up", async () => {
      const { holdAll, state } = await setUp();
      const twice = async (id: string, ...costs: number[]) =>
        (await holdAll(id, { items: costs.map((cost) => ({ limit: 5, cost })) })).map(({ code }) => code);
      expect(await twice("a", 3, 3)).toEqual(["fits", "limit"]);
      expect(await twice("a", 2, 2)).toEqual(["granted", "granted"]);
      expect(await twice("a", 2, 2)).toEqual(["again", "again"]);
      expect(await twice("b", 1, 1)).toEqual(["fits", "reserved"]);
      expect(await state()).toEqual([4, 0]);
    });

    test("the caller's totals go along, and what it knows of others, of other regions and of its memory counts", async () => {
      const { hold, look } = await setUp();
      const item = { limit: 10 };
      expect((await hold("a", 1, { ...item, total: 7 })).current).toEqual({ sum: 7, component: 7 });
      await hold("p", 1, { key: "p", previousTotal: 2 });
      expect((await look({ key: "p" })).previous).toEqual({ sum: 2, component: 2 });
      expect((await hold("b", 2, { ...item, known: 9 })).code).toBe("limit");
      expect((await hold("b", 1, { ...item, known: 9 })).code).toBe("reserved");
      expect((await hold("b", 1, { ...item, foreign: 3 })).code).toBe("limit");
      expect((await hold("b", 1, { ...item, heldInMemory: 2 })).code).toBe("reserved");
      expect((await hold("b", 1, { ...item, heldInMemory: 1 })).code).toBe("granted");
    });

    test("the previous window counts by its share, with what the caller knows of it", async () => {
      const { hold, look, nowMs } = await setUp();
      const left = (LONG_MS - (nowMs() % LONG_MS)) / LONG_MS;
      // Far from a rounding boundary whenever the suite runs: the share of n falls by 1 in a month / n.
      const share = Math.floor(1_000 * left);
      expect((await hold("a", 1_000 - share + 5, { limit: 1_000, previousKnown: 1_000 })).code).toBe("limit");
      expect((await hold("a", 1_000 - share + 5, { limit: 1_000, previousForeign: 1_000 })).code).toBe("limit");
      const code = (await hold("a", Math.max(1, 1_000 - share - 5), { limit: 1_000, previousTotal: 1_000 })).code;
      expect(code).toBe(share > 995 ? "limit" : "granted");
      expect((await look()).previous.sum).toBe(1_000);
    });

    test("a key has at most holdsMax living holds", async () => {
      const { hold, free } = await setUp();
      const of = (id: string) => hold(id, 1, { limit: 100 }, { holdsMax: 2 });
      expect([(await of("a")).code, (await of("b")).code, (await of("c")).code]).toEqual([
        "granted",
        "granted",
        "full",
      ]);
      expect((await of("a")).code).toBe("again");
      await free("a", "release");
      expect((await of("c")).code).toBe("granted");
    });

    test("a call that arrives too late, or names a time too far ahead, does nothing", async () => {
      const { refused, nowMs, state } = await setUp();
      expect(await refused(nowMs() - 50, {}, nowMs())).toBe("stale");
      expect(await refused(nowMs() + 70_000, {}, nowMs())).toBe("stale");
      expect(await state()).toEqual([0, 0]);
    });

    test("a call for another window than that of the origin's clock does nothing", async () => {
      const { refused, nowMs, state, origin } = await setUp();
      expect(await refused(nowMs() + 5_000, {}, nowMs() + LONG_MS)).toBe("window");
      const name = { key: "k", durationMs: LONG_MS, sequence: 7, id: "a", verb: "cancel" } as const;
      expect((await origin.free!([{ ...name, actual: 0, ttlMs: 0, writer: "p.s", known: 0 }], nowMs())).code).toBe(
        "window",
      );
      expect(await state()).toEqual([0, 0]);
    });

    test("a hold expires at its deadline, by the origin's clock, rounded up to 256 ms", async () => {
      const { hold, nowMs, elapse, free, state } = await setUp();
      const before = nowMs();
      const { deadlineMs } = await hold("a", 2, {}, { ttlMs: 400 });
      expect([deadlineMs % 256, deadlineMs >= Math.floor(before) + 400, deadlineMs <= nowMs() + 656]).toEqual([
        0,
        true,
        true,
      ]);
      expect((await hold("b", 2)).code).toBe("reserved");
      expect(await free("a", "renew", { ttlMs: 1_500 })).toMatchObject({ code: "renewed" });
      await elapse(deadlineMs - nowMs() + 20);
      expect((await hold("b", 2)).code).toBe("reserved");
      await elapse(1_800);
      expect((await hold("b", 2)).code).toBe("granted");
      expect((await free("a", "renew")).code).toBe("expired");
      expect((await hold("a", 1)).code).toBe("ended");
      expect(await state()).toEqual([2, 0]);
    });

    test("renewing never moves a deadline back", async () => {
      const { hold, free } = await setUp();
      const { deadlineMs } = await hold("a", 1, {}, { ttlMs: 60_000 });
      expect(await free("a", "renew", { ttlMs: 1_000 })).toMatchObject({ code: "renewed", deadlineMs });
    });

    test("a settlement after the deadline still counts, once, and says that it was late", async () => {
      const { hold, settle, free, elapse, nowMs, state } = await setUp();
      for (const id of ["a", "b", "c"]) await hold(id, 1, {}, { ttlMs: 300 });
      const { holds } = await hold("a", 1);
      await elapse(holds.earliestMs - nowMs() + 300);
      // Nobody has noticed yet that they expired.
      expect(await settle("a", 1)).toMatchObject({ code: "late", counted: 1 });
      expect(await state()).toEqual([0, 1]);
      await hold("d", 2);
      expect(await settle("b", 4)).toMatchObject({ code: "late", counted: 4 });
      expect(await settle("b", 4)).toMatchObject({ code: "settled-before", counted: 4 });
      expect((await free("c", "release")).code).toBe("released");
      expect(await state()).toEqual([2, 5]);
    });

    test("a hold has no window: it is counted in the window in which it is settled", async () => {
      const { hold, settle, look, elapse, nowMs } = await setUp();
      const durationMs = 1_000;
      await elapse(durationMs - (nowMs() % durationMs) + 20);
      await hold("a", 4, { durationMs, limit: 10 });
      await elapse(2 * durationMs);
      expect((await look({ durationMs })).holds.cost).toBe(4);
      const settled = await settle("a", 9, { durationMs });
      expect(settled).toMatchObject({ code: "settled", current: { sum: 9, component: 9 } });
    });

    test("a caller's known total is continued by an origin that has forgotten it", async () => {
      const { hold, settle } = await setUp();
      await hold("a", 1);
      expect((await settle("a", 2, { known: 5 })).current).toEqual({ sum: 7, component: 7 });
      await hold("b", 1, { limit: 100 });
      expect((await settle("b", 1, { known: 7 })).current).toEqual({ sum: 8, component: 8 });
    });

    test("what is settled saturates at 2^44", async () => {
      const { hold, settle } = await setUp();
      const most = 2 ** 44;
      for (const id of ["a", "b"]) await hold(id, 1, { limit: 2 ** 40 });
      await settle("a", 2 ** 40, { known: most - 5 });
      expect((await settle("b", 2 ** 40)).current).toEqual({ sum: most, component: most });
    });

    test("a read and a raise tell the living holds of the key", async () => {
      const { hold, settle, origin, nowMs } = await setUp();
      const sequence = Math.floor(nowMs() / LONG_MS);
      const name = { key: "1:k", sequence, writer: "w" };
      await hold("a", 2);
      const raised = { ...name, total: 1, expiresAtMs: (sequence + 2) * LONG_MS };
      for (const [count] of [await origin.raise([raised]), await origin.read([name])]) {
        expect(count).toMatchObject({ sum: 1, component: 1, holds: { cost: 2 } });
      }
      await settle("a", 1);
      const [after] = await origin.raise([raised]);
      expect([after!.sum, after!.holds?.cost ?? 0]).toEqual([2, 0]);
    });

    test("an admit counts only what fits beside the living holds, and tells them", async () => {
      const { hold, origin, nowMs, free } = await setUp();
      const sequence = Math.floor(nowMs() / LONG_MS);
      const expiresAtMs = (sequence + 2) * LONG_MS;
      const none = { foreign: 0, previousForeign: 0, previousTotal: 0, previousExpiresAtMs: expiresAtMs };
      const call = { key: "1:k", sequence, writer: "w", expiresAtMs, ...none, leftMs: 1, durationMs: LONG_MS, call: 1 };
      const admit = async (total: number) =>
        (await origin.admit!([{ ...call, total, requests: [1, 1].map((cost) => ({ limit: 3, cost })) }]))[0]!;
      await hold("a", 2);
      expect(await admit(0)).toMatchObject({ allowed: [true, false], current: { sum: 1, holds: { cost: 2 } } });
      await free("a", "release");
      expect((await admit(1)).allowed).toEqual([true, true]);
    });

    test("versions grow with every change of the holds, even if the key had none in between", async () => {
      const { hold, free } = await setUp();
      const versions: number[] = [];
      for (let i = 0; i < 4; i++) {
        versions.push((await hold(`${i}`, 1)).holds.version);
        versions.push((await free(`${i}`, "release")).holds.version);
      }
      expect(versions.every((version, i) => i === 0 || version > versions[i - 1]!)).toBe(true);
    });

    test("clients that compete for one key never hold more than its limit, and each ends its holds once", async () => {
      const { hold, settle, free, state } = await setUp();
      const limit = 20;
      let counted = 0;
      let grants = 0;
      const living = new Map<string, number>();
      await Promise.all(
        Array.from({ length: 8 }, async (_, client) => {
          for (let i = 0; i < 25; i++) {
            const [id, cost] = [`${client}.${i}`, 1 + ((client + i) % 6)];
            if ((await hold(id, cost, { limit })).code !== "granted") continue;
            grants++;
            living.set(id, cost);
            // Each of them was granted, and no end of it was sent.
            expect(counted + [...living.values()].reduce((a, b) => a + b)).toBeLessThanOrEqual(limit);
            living.delete(id);
            const actual = i % 25 === 0 && client < 4 ? 1 : 0;
            const ended = i % 3 === 0 ? await settle(id, actual) : await free(id, "release");
            expect(["settled", "released"]).toContain(ended.code);
            if (ended.code === "settled") counted += actual;
          }
        }),
      );
      expect(grants).toBeGreaterThan(8);
      expect(await state()).toEqual([0, counted]);
    });

    test("random calls of few ids are answered as the model answers them", async () => {
      const { hold, free, state } = await setUp();
      const verbs = ["hold", "hold", "hold", "settle", "release", "cancel", "renew"] as const;
      const step = fc.record({
        verb: fc.constantFrom(...verbs),
        id: fc.constantFrom("i", "j", "k", "l"),
        cost: fc.integer({ min: 1, max: 2 }),
      });
      let run = 0;
      const steps = fc.array(step, { minLength: 10, maxLength: 30 });
      const property = fc.asyncProperty(fc.integer({ min: 2, max: 4 }), steps, async (limit, steps) => {
        const key = `run${++run}`;
        const model = new HoldModel(limit);
        for (const { verb, id, cost } of steps) {
          const { code } =
            verb === "hold" ? await hold(id, cost, { key, limit }) : await free(id, verb, { key, actual: cost - 1 });
          expect(code).toBe(verb === "hold" ? model.hold(id, cost) : model.free(id, verb, cost - 1));
        }
        expect(await state({ key })).toEqual([model.living, model.count]);
      });
      await fc.assert(property, { numRuns: 60 });
    });

    test("a bucket is ten minutes, so an ended hold is remembered for at least that long", () => {
      expect([bucketAt(599_999), bucketAt(600_000)]).toEqual([0, 1]);
    });
  });
}

/** One key without time: what each call is answered. */
class HoldModel {
  count = 0;
  readonly #limit: number;
  readonly #living = new Map<string, number>();
  readonly #ended = new Map<string, "settled" | "released">();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get living(): number {
    return [...this.#living.values()].reduce((sum, cost) => sum + cost, 0);
  }

  hold(id: string, cost: number): string {
    const had = this.#living.get(id) ?? 0;
    if (this.#ended.has(id)) return "ended";
    if (cost <= had) return "again";
    if (this.count + cost > this.#limit) return "limit";
    if (this.count + this.living + cost - had > this.#limit) return "reserved";
    this.#living.set(id, cost);
    return "granted";
  }

  free(id: string, verb: FreeVerb, actual: number): string {
    const ended = this.#ended.get(id);
    if (ended !== undefined) return `${ended}-before`;
    if (!this.#living.has(id) && verb !== "cancel") return "unknown";
    if (verb === "renew") return "renewed";
    const code = verb === "settle" ? "settled" : "released";
    if (code === "settled") this.count += actual;
    this.#living.delete(id);
    this.#ended.set(id, code);
    return code;
  }
}
