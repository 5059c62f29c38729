import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { Duration } from "../core/duration.ts";
import { Limiter } from "../limiter/limiter.ts";
import type { LimiterOptions } from "../limiter/options.ts";
import type { LimitRequest } from "../limiter/request.ts";
import type { BatchDecision, Decision } from "./decision.ts";

/** The start of a minute and of an hour. */
const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

function setUp(options: LimiterOptions = {}) {
  const time = { ms: START_MS };
  const clock = { wallMs: () => time.ms, monoMs: () => time.ms };
  const timers = { set: () => 1, clear: () => {} };
  const limiter = new Limiter({ cellsMax: 2_000, clock, timers, ...options });
  const decide = (request: LimitRequest) => limiter.decide(request) as Decision;
  const decideMany = (requests: readonly LimitRequest[]) => limiter.decideMany(requests) as BatchDecision;
  const own = (identifier: string) => limiter.inspect(ask(identifier)).current.own;
  return { limiter, time, decide, decideMany, own };
}

function ask(identifier: string, fields: Partial<LimitRequest> = {}): LimitRequest {
  return { namespace: "api", identifier, limit: 10, duration: "1m", ...fields };
}

const many = (count: number) => Array.from({ length: count }, (_, i) => ask(`user_${i}`));

const duration: fc.Arbitrary<Duration> = fc.constantFrom<Duration[]>("1s", "1m", MINUTE_MS, "1h");
const request: fc.Arbitrary<LimitRequest> = fc.record(
  {
    workspace: fc.constantFrom("acme", "other"),
    namespace: fc.constantFrom("api", "mail"),
    identifier: fc.constantFrom("a", "b", "😀"),
    duration,
    limit: fc.integer({ min: 0, max: 12 }),
    cost: fc.integer({ min: 0, max: 4 }),
  },
  { requiredKeys: ["namespace", "identifier", "duration", "limit"] },
);
const traffic = fc.array(fc.tuple(request, fc.integer({ min: 0, max: 40_000 })), { maxLength: 12 });
const batch = fc.array(request, { minLength: 1, maxLength: 8 });

describe("batch", () => {
  test("one that fits is counted whole", () => {
    const { limiter, decideMany, own } = setUp();
    const { success, decisions } = decideMany([ask("a", { cost: 3 }), ask("b"), ask("c", { cost: 0 })]);
    expect(success).toBe(true);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([7, 9, 10]);
    expect([own("a"), own("b")]).toEqual([3, 1]);
    expect(limiter.inspect(ask("c")).isKnown, "a peek makes no record").toBe(false);
    expect(limiter.stats().decisions.allowed).toBe(3);
  });

  test("one that does not fit is not counted at all, and each item says whether it fits by itself", () => {
    const { limiter, decide, decideMany, own } = setUp();
    decide(ask("busy", { cost: 9 }));
    decide(ask("calm", { cost: 4 }));
    const { success, decisions } = decideMany([
      ask("calm", { cost: 2 }),
      ask("busy", { cost: 2 }),
      ask("new"),
      ask("new2", { cost: 11 }),
    ]);
    const end = START_MS + MINUTE_MS;
    const common = { limit: 10, source: "local", degraded: false, retryAfterMs: 0 };
    expect(success).toBe(false);
    expect(decisions).toEqual([
      { ...common, success: true, remaining: 6, current: 4, reset: end, reason: "batch" },
      // 9 in this window, room for 8 beside a cost of 2: its share is 8 from 59,999 ms before the next window's end.
      {
        ...common,
        success: false,
        remaining: 0,
        current: 11,
        reset: end + 1,
        reason: "limit",
        retryAfterMs: MINUTE_MS + 1,
      },
      { ...common, success: true, remaining: 10, current: 0, reset: end, reason: "batch" },
      { ...common, success: false, remaining: 0, current: 11, reset: end, reason: "cost", retryAfterMs: MINUTE_MS },
    ]);
    expect([own("calm"), own("busy"), own("new"), own("new2")]).toEqual([4, 9, 0, 0]);
    expect(limiter.stats()).toMatchObject({
      decisions: { allowed: 2, denied: { limit: 1, cost: 1, batch: 2, full: 0 } },
      cells: { live: 2 },
    });
  });

  test("items of one cell add up", () => {
    const { decideMany, own } = setUp();
    const fits = decideMany([ask("a", { cost: 4 }), ask("b"), ask("a", { cost: 6 })]);
    expect(fits.success).toBe(true);
    expect(fits.decisions.map(({ current }) => current)).toEqual([4, 1, 10]);
    expect(own("a")).toBe(10);
    const tooMuch = decideMany([ask("c", { cost: 4 }), ask("c", { cost: 7 }), ask("c", { cost: 6 })]);
    expect(tooMuch.decisions.map(({ success }) => success)).toEqual([true, false, true]);
    expect(own("c")).toBe(0);
  });

  test("a duration written in two ways is one cell, another limit is the same cell, another tenant is not", () => {
    const { decideMany } = setUp();
    const { decisions } = decideMany([
      ask("a", { duration: "1m" }),
      ask("a", { duration: 60_000, limit: 5 }),
      ask("a", { duration: "60s", workspace: "default" }),
      ask("a", { workspace: "acme" }),
      ask("a", { namespace: "mail" }),
      ask("a", { duration: "2m" }),
      ask("b"),
    ]);
    expect(decisions.map(({ current }) => current)).toEqual([1, 2, 3, 1, 1, 1, 1]);
  });

  test.each([1, 100, 1_000])("%i items are decided together", (count) => {
    const { limiter, decideMany } = setUp();
    expect(decideMany(many(count)).decisions).toHaveLength(count);
    expect(limiter.stats()).toMatchObject({ decisions: { allowed: count }, cells: { live: count } });
    const one = many(count).map((item, i) => (i === count - 1 ? { ...item, cost: 10 } : item));
    expect(decideMany(one).success).toBe(false);
    expect(limiter.inspect(many(count)[0]!).current.own).toBe(1);
  });

  test.each([
    ["an empty array", []],
    ["an array of 1001", many(1_001)],
    ["what is no array", { length: 1, 0: ask("a") }],
    ["a text", "requests"],
    ["nothing", undefined],
    ["an iterator", many(2).values()],
  ])("%s is refused", async (_, requests) => {
    const { limiter } = setUp();
    const refused = expect.objectContaining({ code: "RL_BATCH_INVALID", field: "requests", value: requests });
    expect(() => limiter.decideMany(requests as never)).toThrow(refused);
    await expect(limiter.limitMany(requests as never)).rejects.toThrow(
      /^requests must be an array of 1 to 1000 requests; got /,
    );
    expect(limiter.stats().decisions.allowed).toBe(0);
  });

  test("an array with holes is refused as a request that is none", () => {
    const { limiter } = setUp();
    const holes: LimitRequest[] = [ask("a"), ask("b"), ask("c")];
    delete holes[1];
    expect(() => limiter.decideMany(holes)).toThrow(expect.objectContaining({ code: "RL_REQUEST_INVALID" }));
    expect(() => limiter.decideMany(new Array(3))).toThrow(expect.objectContaining({ code: "RL_REQUEST_INVALID" }));
    expect(limiter.stats().cells.live).toBe(0);
  });

  test("a bad item, however late, leaves nothing counted, and its error says which it is", () => {
    const { limiter } = setUp();
    const before = limiter.stats();
    for (const [bad, field] of [
      [{ cost: -1 }, "cost"],
      [{ limit: 0.5 }, "limit"],
      [{ duration: "5 parsecs" }, "duration"],
      [{ identifier: "\ud800" }, "identifier"],
      [{ namespace: "" }, "namespace"],
      [{ workspace: 7 }, "workspace"],
    ] as const) {
      const requests = [...many(999), { ...ask("late"), ...bad } as LimitRequest];
      expect(() => limiter.decideMany(requests)).toThrow(expect.objectContaining({ field: `requests[999].${field}` }));
    }
    expect(limiter.stats()).toEqual(before);
  });

  test("a passing batch answers what its requests answer one after the other, and counts the same", () => {
    let passed = 0;
    fc.assert(
      fc.property(traffic, batch, (earlier, requests) => {
        const [together, apart] = [setUp(), setUp()];
        for (const [one, stepMs] of earlier) {
          for (const { decide, time } of [together, apart]) {
            time.ms += stepMs;
            decide(one);
          }
        }
        const { success, decisions } = together.decideMany(requests);
        const singles = requests.map((one) => apart.decide(one));
        expect(success).toBe(singles.every((one) => one.success));
        if (!success) return;
        passed++;
        expect(decisions).toEqual(singles);
        for (const one of requests) expect(together.limiter.inspect(one)).toEqual(apart.limiter.inspect(one));
        expect(together.limiter.stats().decisions).toEqual(apart.limiter.stats().decisions);
      }),
      { numRuns: 400 },
    );
    // A tenth of 400: the property is about those that pass.
    expect(passed).toBeGreaterThan(40);
  });

  test("a failing batch changes no key, and an item fits exactly if it does on top of the earlier ones that fit", () => {
    let failed = 0;
    fc.assert(
      fc.property(traffic, batch, (earlier, requests) => {
        const { limiter, time, decide, decideMany } = setUp();
        for (const [one, stepMs] of earlier) {
          time.ms += stepMs;
          decide(one);
        }
        const before = requests.map((one) => limiter.inspect(one));
        const { success, decisions } = decideMany(requests);
        if (success) return;
        failed++;
        expect(requests.map((one) => limiter.inspect(one))).toEqual(before);
        const spent = new Map<string, number>();
        for (const [i, { workspace, namespace, identifier, durationMs, effective }] of before.entries()) {
          const { limit, cost = 1 } = requests[i]!;
          const cell = JSON.stringify([workspace, namespace, identifier, durationMs]);
          const fits = effective + (spent.get(cell) ?? 0) + cost <= limit;
          if (fits) spent.set(cell, (spent.get(cell) ?? 0) + cost);
          const { success: itemFits, remaining, current } = decisions[i]!;
          expect(itemFits).toBe(fits);
          expect(remaining).toBe(fits ? limit - effective : 0);
          if (fits) expect(current).toBe(effective);
        }
      }),
      { numRuns: 400 },
    );
    expect(failed).toBeGreaterThan(40);
  });

  test("larger than the table, with whenFull allow: what has room is counted, the rest is allowed and flagged", () => {
    const { limiter, decideMany } = setUp({ cellsMax: 3 });
    const { success, decisions } = decideMany(many(5));
    expect(success).toBe(true);
    expect(decisions.map(({ reason, degraded }) => [reason, degraded])).toEqual([
      ["allowed", false],
      ["allowed", false],
      ["allowed", false],
      ["full", true],
      ["full", true],
    ]);
    expect(limiter.stats()).toMatchObject({ decisions: { allowed: 5, unrecorded: 2 }, cells: { live: 3, evicted: 0 } });
  });

  test("larger than the table, with whenFull deny: nothing is counted and nothing claimed stays", () => {
    const { limiter, decideMany, own } = setUp({ cellsMax: 3, whenFull: "deny" });
    const { success, decisions } = decideMany(many(5));
    expect(success).toBe(false);
    expect(decisions.map((one) => [one.success, one.reason, one.degraded, one.remaining])).toEqual([
      [true, "batch", false, 10],
      [true, "batch", false, 10],
      [true, "batch", false, 10],
      [false, "full", true, 0],
      [false, "full", true, 0],
    ]);
    expect(limiter.stats()).toMatchObject({
      decisions: { allowed: 0, unrecorded: 2, denied: { full: 2, batch: 3 } },
      cells: { live: 0 },
    });
    expect(many(5).map(({ identifier }) => own(identifier))).toEqual([0, 0, 0, 0, 0]);
    expect(decideMany(many(3)).success, "the slots are free again").toBe(true);
  });

  test("making room for an item evicts no other item of the batch", () => {
    const { decide, decideMany, own } = setUp({ cellsMax: 3 });
    for (const identifier of ["a", "b", "c"]) decide(ask(identifier, { cost: identifier === "c" ? 5 : 1 }));
    expect(decideMany([ask("new"), ask("a"), ask("b")]).success).toBe(true);
    expect(["new", "a", "b", "c"].map(own)).toEqual([1, 2, 2, 0]);
  });

  test("making room for an item sweeps no other item of the batch away, whichever comes first", () => {
    for (const identifiers of [
      ["new", "old"],
      ["old", "new"],
    ]) {
      const { time, decide, decideMany, own } = setUp({ cellsMax: 8 });
      decide(ask("old", { cost: 3 }));
      time.ms += 5 * MINUTE_MS;
      expect(decideMany(identifiers.map((identifier) => ask(identifier))).success).toBe(true);
      expect([own("new"), own("old")]).toEqual([1, 1]);
    }
  });

  test("one that is refused for want of room forgets nobody else", () => {
    // Found so: with whenFull deny, the items that did get a slot had evicted others for it. The batch was refused and
    // its slots given back, but the counts of the evicted keys were gone: a denial changed counts.
    const { decide, decideMany, own } = setUp({ cellsMax: 2, whenFull: "deny" });
    decide(ask("a", { cost: 8 }));
    decide(ask("b", { cost: 8 }));
    expect(decideMany(many(3)).success).toBe(false);
    expect([own("a"), own("b")]).toEqual([8, 8]);
  });

  test("one that is refused for want of room changes nothing that eviction goes by", () => {
    // As below, for an item with a cost: its slot was turned into the new window before the batch was refused.
    const { limiter, time, decide, decideMany } = setUp({ cellsMax: 2, whenFull: "deny" });
    const key = { namespace: "api", identifier: "full", duration: "1m" } as const;
    decide(ask("full", { cost: 9 }));
    time.ms += MINUTE_MS;
    const before = limiter.inspect(key);
    expect(decideMany([ask("full"), ...many(2)]).success).toBe(false);
    expect(limiter.inspect(key)).toEqual(before);
  });

  test("a peek in a batch changes nothing that eviction goes by", () => {
    // Found so: a batch turned the slots of its peeks into the new window, which forgets the lowest limit. A key at its
    // limit then counted as unused, and was the first to be evicted.
    const { limiter, time, decide, decideMany } = setUp({ cellsMax: 2 });
    decide(ask("full", { cost: 10 }));
    decide(ask("empty", { cost: 1 }));
    time.ms += MINUTE_MS;
    const before = limiter.inspect({ namespace: "api", identifier: "full", duration: "1m" });
    expect(decideMany([ask("full", { cost: 0 })]).success).toBe(true);
    expect(limiter.inspect({ namespace: "api", identifier: "full", duration: "1m" })).toEqual(before);
    decide(ask("new"));
    expect(["full", "empty"].map((id) => limiter.inspect(ask(id)).isKnown)).toEqual([true, false]);
  });

  /** A table full of clean keys, each at 1 of 10, and what is known of them. */
  function setUpFull(cellsMax: number, whenFull: "allow" | "deny", seed: number) {
    const all = setUp({ cellsMax, whenFull, random: new SeededRandom(seed) });
    const old = Array.from({ length: cellsMax }, (_, i) => `old_${i}`);
    for (const identifier of old) all.decide(ask(identifier));
    expect(all.limiter.stats().cells).toMatchObject({ live: cellsMax, evicted: 0 });
    return { ...all, old };
  }

  test.each([
    [100, 100],
    [100, 99],
    [100, 65],
    [1_000, 1_000],
    [1_000, 999],
    [1_000, 936],
  ])("on a full table of %i clean keys, %i new ones fit, with whenFull deny", (cellsMax, size) => {
    // Found so: a claim tried 64 slots at random. With nearly all slots taken by the batch itself it found none, and a
    // batch that fits was refused, the more often the larger it was.
    for (let seed = 0; seed < (cellsMax === 100 ? 20 : 3); seed++) {
      const { limiter, decideMany, own, old } = setUpFull(cellsMax, "deny", seed);
      const { success, decisions } = decideMany(many(size));
      expect(success, `seed ${seed}`).toBe(true);
      expect(new Set(decisions.map(({ reason }) => reason))).toEqual(new Set(["allowed"]));
      expect(many(size).every(({ identifier }) => own(identifier) === 1)).toBe(true);
      expect(old.filter((identifier) => own(identifier) === 1)).toHaveLength(cellsMax - size);
      expect(limiter.stats().cells).toMatchObject({ live: cellsMax, evicted: size });
    }
  });

  test("on a full table, old and new keys of a batch that together fill it all fit", () => {
    for (let seed = 0; seed < 20; seed++) {
      const { limiter, decideMany, own, old } = setUpFull(100, "deny", seed);
      const kept = old.filter((_, i) => i % 2 === 0);
      // Twice each, which takes no more room, and the new ones first: they must not be given the slots of the old.
      const items = [...many(50), ...kept.map((identifier) => ask(identifier)), ...many(50)];
      expect(decideMany(items).success, `seed ${seed}`).toBe(true);
      expect(kept.every((identifier) => own(identifier) === 2)).toBe(true);
      expect(many(50).every(({ identifier }) => own(identifier) === 2)).toBe(true);
      expect(limiter.stats().cells).toMatchObject({ live: 100, evicted: 50 });
    }
  });

  test("on a full table of 1,000, whenFull allow records every item as well", () => {
    const { limiter, decideMany } = setUpFull(1_000, "allow", 5);
    expect(decideMany(many(1_000)).decisions.every(({ degraded }) => !degraded)).toBe(true);
    expect(limiter.stats()).toMatchObject({ decisions: { unrecorded: 0 }, cells: { live: 1_000, evicted: 1_000 } });
  });

  test.each([
    ["one key more than 100 slots", 100, 101, 0],
    ["one key more than 999 slots", 999, 1_000, 0],
    ["old and new keys, one more than 100 slots", 100, 51, 50],
    ["far more than 100 slots", 100, 1_000, 0],
  ])("one that does not fit evicts nobody, and leaves no slot claimed: %s", (_, cellsMax, fresh, oldAsked) => {
    const { limiter, decideMany, old } = setUpFull(cellsMax, "deny", 3);
    const inspectAll = () => old.map((identifier) => limiter.inspect(ask(identifier)));
    const before = { keys: inspectAll(), cells: limiter.stats().cells };
    const items = [...old.slice(0, oldAsked).map((identifier) => ask(identifier)), ...many(fresh)];
    const { success, decisions } = decideMany(items);
    const beyond = fresh + oldAsked - cellsMax;
    expect(success).toBe(false);
    expect(decisions.filter(({ reason }) => reason === "full")).toHaveLength(beyond);
    expect(decisions.filter(({ reason }) => reason === "batch")).toHaveLength(items.length - beyond);
    expect({ keys: inspectAll(), cells: limiter.stats().cells }).toEqual(before);
    expect(many(fresh).some(({ identifier }) => limiter.inspect(ask(identifier)).isKnown)).toBe(false);
    expect(limiter.stats().decisions).toMatchObject({ allowed: cellsMax, unrecorded: beyond });
  });

  test("one that does not fit a table with some room takes none of it", () => {
    const { limiter, decide, decideMany } = setUp({ cellsMax: 100, whenFull: "deny" });
    for (let i = 0; i < 40; i++) decide(ask(`old_${i}`));
    expect(decideMany(many(101)).success).toBe(false);
    expect(limiter.stats().cells).toMatchObject({ live: 40, evicted: 0 });
    expect(decideMany(many(60)).success, "the room is still there").toBe(true);
    expect(limiter.stats().cells).toMatchObject({ live: 100, evicted: 0 });
  });
});
