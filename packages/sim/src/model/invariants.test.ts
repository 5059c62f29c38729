/** Each check is fed a good history and bad ones: a check that reports nothing of a bad one checks nothing. */

import type { BatchDecision, CellInspection, Decision, Inspection, Stats } from "sluice";
import { describe, expect, test } from "vitest";
import * as invariants from "./invariants.ts";

const NOW_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

const allowed: Decision = {
  success: true,
  limit: 10,
  remaining: 7,
  reset: NOW_MS + MINUTE_MS,
  current: 3,
  reason: "allowed",
  source: "local",
  degraded: false,
  retryAfterMs: 0,
};
const denied: Decision = {
  ...allowed,
  success: false,
  remaining: 0,
  current: 11,
  reason: "limit",
  retryAfterMs: MINUTE_MS,
};
const tooLarge: Decision = { ...denied, reason: "cost" };

function observed(decision: Decision, fields: Partial<invariants.Observed> = {}): invariants.Observed {
  return { limit: 10, cost: 1, durationMs: MINUTE_MS, nowMs: NOW_MS, decision, ...fields };
}

const SEQUENCE = NOW_MS / MINUTE_MS;

function cell(sequence: number, counts: Partial<CellInspection> = {}): CellInspection {
  const { own = 4, others = 3, foreign = 2, published = 1 } = counts;
  return {
    sequence,
    startMs: sequence * MINUTE_MS,
    endMs: (sequence + 1) * MINUTE_MS,
    own,
    others,
    foreign,
    view: own + others + foreign,
    replayed: 0,
    published,
    freshForMs: 0,
  };
}

function inspection(current: CellInspection, previous = cell(current.sequence - 1)): Inspection {
  return {
    workspace: "default",
    namespace: "api",
    identifier: "user_1",
    durationMs: MINUTE_MS,
    isKnown: true,
    current,
    previous,
    weight: 1,
    leftMs: MINUTE_MS,
    previousShare: previous.view,
    effective: current.view + previous.view,
    strictForMs: 0,
    limit: 10,
    reserved: { cost: 0, inMemory: 0, earliestMs: null },
    remaining: 0,
  };
}

describe("sanity", () => {
  test.each<[string, invariants.Observed]>([
    ["an allow", observed(allowed)],
    ["an allow that resets in the next millisecond", observed({ ...allowed, reset: NOW_MS + 1 })],
    ["the last allow of a limit", observed({ ...allowed, remaining: 0, current: 10 })],
    ["a denial", observed(denied)],
    [
      "a denial until the end of the next window",
      observed({ ...denied, reset: NOW_MS + 2 * MINUTE_MS, retryAfterMs: 2 * MINUTE_MS }),
    ],
    ["a cost above the limit", observed(tooLarge)],
    ["an item of a batch that failed", observed({ ...allowed, reason: "batch" })],
  ])("%s is sane", (_, history) => {
    expect(invariants.sanity(history)).toBeUndefined();
  });

  test.each<[string, invariants.Observed, RegExp]>([
    ["a negative count", observed({ ...allowed, current: -1 }), /current -1/],
    ["a broken count", observed({ ...allowed, current: 2.5 }), /current 2.5/],
    ["a count that is none", observed({ ...allowed, current: Number.NaN }), /current NaN/],
    ["a count past the safe integers", observed({ ...denied, current: 2 ** 53 }), /current/],
    ["a negative rest", observed({ ...allowed, remaining: -1 }), /remaining -1/],
    ["a broken rest", observed({ ...allowed, remaining: 0.5 }), /remaining 0.5/],
    ["a rest above the limit", observed({ ...allowed, remaining: 11 }), /remaining 11/],
    ["another limit than was asked", observed({ ...allowed, limit: 12 }), /asked with 10, answered with 12/],
    ["a reset that is now", observed({ ...allowed, reset: NOW_MS }), /reset/],
    ["a reset that is past", observed({ ...denied, reset: NOW_MS - 1 }), /reset/],
    ["a broken reset", observed({ ...allowed, reset: NOW_MS + 0.5 }), /reset/],
    ["an allow beyond its window", observed({ ...allowed, reset: NOW_MS + MINUTE_MS + 1 }), /beyond/],
    ["a cost beyond its window", observed({ ...tooLarge, reset: NOW_MS + MINUTE_MS + 1 }), /beyond/],
    ["a denial beyond the next window", observed({ ...denied, reset: NOW_MS + 2 * MINUTE_MS + 1 }), /beyond/],
    ["an allow above the limit", observed({ ...allowed, current: 11 }), /allowed with 11 of 10/],
    ["an allow that is none", observed({ ...allowed, success: false }), /allowed with/],
    ["a denial that is an allow", observed({ ...denied, success: true }), /denied with/],
    ["a denial within the limit", observed({ ...denied, current: 10 }), /denied with 10 of 10/],
    ["a cost that fits", observed({ ...tooLarge, current: 10 }), /cost 1 denied within 10/],
    ["a cost that is an allow", observed({ ...tooLarge, success: true }), /cost 1 denied/],
    ["an allow that is to be retried", observed({ ...allowed, retryAfterMs: 1 }), /retry after 1 ms instead of 0/],
    [
      "a retry before the reset",
      observed({ ...denied, retryAfterMs: 59_999 }),
      /retry after 59999 ms instead of 60000/,
    ],
  ])("%s is reported", (_, history, problem) => {
    expect(invariants.sanity(history)).toMatch(problem);
  });
});

describe("monotone", () => {
  const before = inspection(cell(SEQUENCE));

  test("counts that stay or rise are monotone, also into the next window", () => {
    expect(invariants.monotone(before, before)).toBeUndefined();
    expect(invariants.monotone(before, inspection(cell(SEQUENCE, { own: 9, foreign: 5 })))).toBeUndefined();
    expect(invariants.monotone(before, inspection(cell(SEQUENCE + 1, { own: 0 }), cell(SEQUENCE)))).toBeUndefined();
  });

  test("a cell that is no longer held says nothing", () => {
    const far = inspection(cell(SEQUENCE + 5, { own: 0 }), cell(SEQUENCE + 4, { own: 0 }));
    expect(invariants.monotone(before, far)).toBeUndefined();
  });

  test.each(["own", "others", "foreign", "published"] as const)("a fallen %s is reported, in either cell", (field) => {
    const fallen = { [field]: 0 };
    const problem = new RegExp(`^monotone: ${field} fell from \\d to 0$`);
    expect(invariants.monotone(before, inspection(cell(SEQUENCE, fallen)))).toMatch(problem);
    expect(invariants.monotone(before, inspection(cell(SEQUENCE), cell(SEQUENCE - 1, fallen)))).toMatch(problem);
    const rolledOver = inspection(cell(SEQUENCE + 1), cell(SEQUENCE, fallen));
    expect(invariants.monotone(before, rolledOver), "as the previous cell").toMatch(problem);
  });
});

describe("join law", () => {
  const orders = [
    [1, 3, 2],
    [3, 2, 1],
    [2, 2, 1, 3, 3],
  ];
  const isEqual = (a: number, b: number) => a === b;

  test("taking the larger keeps it", () => {
    expect(invariants.joinLaw(orders, (counts) => Math.max(...counts), isEqual)).toBeUndefined();
  });

  test("adding and assigning are reported, with the order that differs", () => {
    const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);
    expect(invariants.joinLaw(orders, sum, isEqual), "repetition").toMatch(/^join: order 2 /);
    expect(
      invariants.joinLaw(orders, (counts) => counts.at(-1)!, isEqual),
      "order",
    ).toMatch(/^join: order 1 /);
  });
});

describe("same answers", () => {
  test("equal answers are the same", () => {
    expect(invariants.sameAnswers([], [])).toBeUndefined();
    expect(invariants.sameAnswers([allowed, denied], [{ ...allowed }, { ...denied }])).toBeUndefined();
  });

  const other: Decision = {
    success: false,
    limit: 11,
    remaining: 6,
    reset: NOW_MS + 1,
    current: 4,
    reason: "full",
    source: "origin",
    degraded: true,
    retryAfterMs: 1,
  };

  test.each(Object.keys(allowed) as (keyof Decision)[])("another %s is reported, with its number", (field) => {
    const changed = { ...allowed, [field]: other[field] };
    const problem = new RegExp(`^answers: number 1 differs in ${field}`);
    expect(invariants.sameAnswers([denied, allowed], [denied, changed])).toMatch(problem);
  });

  test("an answer more or less is reported", () => {
    expect(invariants.sameAnswers([allowed], [allowed, allowed])).toBe("answers: 1 and 2");
    expect(invariants.sameAnswers([allowed], [])).toBe("answers: 1 and 0");
  });

  test("a field that the second answer lacks is reported", () => {
    const { degraded: _, ...short } = allowed;
    expect(invariants.sameAnswers([allowed], [short as Decision])).toMatch(/degraded/);
  });
});

describe("batch", () => {
  const passed: BatchDecision = { success: true, decisions: [allowed, allowed] };
  const failed: BatchDecision = { success: false, decisions: [allowed, denied] };

  test("one that was counted whole, and one that was not counted, are whole", () => {
    expect(invariants.batchWhole(passed, 5, [2, 3])).toBeUndefined();
    expect(invariants.batchWhole(passed, 0, [0, 0])).toBeUndefined();
    expect(invariants.batchWhole(failed, 0, [2, 3])).toBeUndefined();
  });

  test.each<[string, BatchDecision, number, number[], string]>([
    ["one counted in part", passed, 2, [2, 3], "batch: 2 counted instead of 5"],
    ["one counted twice", passed, 10, [2, 3], "batch: 10 counted instead of 5"],
    ["a failed one that was counted in part", failed, 2, [2, 3], "batch: 2 counted instead of 0"],
    ["an answer too few", passed, 6, [1, 2, 3], "batch: 3 asked, 2 answered"],
    [
      "success with an item that failed",
      { ...failed, success: true },
      5,
      [2, 3],
      "batch: success and its items disagree",
    ],
    [
      "failure of items that all fit",
      { ...passed, success: false },
      0,
      [2, 3],
      "batch: success and its items disagree",
    ],
  ])("%s is reported", (_, answer, spent, costs, problem) => {
    expect(invariants.batchWhole(answer, spent, costs)).toBe(problem);
  });
});

describe("time", () => {
  const at = (sequence: number) => inspection(cell(sequence));

  test("a sequence that stays, rises, or was followed back is legal", () => {
    expect(invariants.timeForward(at(SEQUENCE), at(SEQUENCE), false)).toBeUndefined();
    expect(invariants.timeForward(at(SEQUENCE), at(SEQUENCE + 3), false)).toBeUndefined();
    expect(invariants.timeForward(at(SEQUENCE), at(SEQUENCE - 3), true)).toBeUndefined();
  });

  test("a sequence that goes back in silence is reported", () => {
    expect(invariants.timeForward(at(SEQUENCE), at(SEQUENCE - 1), false)).toBe(
      `time: the sequence went back from ${SEQUENCE} to ${SEQUENCE - 1}`,
    );
  });
});

describe("bounds", () => {
  const stats = (live: number) => ({ cells: { live, max: 100, expired: 0, evicted: 0 } }) as Stats;

  test("a table up to its bound keeps it, one beyond is reported", () => {
    expect(invariants.bounded(stats(0))).toBeUndefined();
    expect(invariants.bounded(stats(100))).toBeUndefined();
    expect(invariants.bounded(stats(101))).toBe("bounds: 101 cells of at most 100");
  });
});
