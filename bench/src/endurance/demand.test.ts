/** The checker of an endurance run can fail: it is given answers that no server should give. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Demand, DURATION_MS } from "./demand.ts";

const answer = (success: boolean) => ({ status: 200, body: JSON.stringify({ data: { success } }), isLast: false });
/** Requests of one busy identifier: every thousandth. */
const busy = (turn: number) => 1 + 1_000 * turn;
const BEGIN_MS = 1_000_000 * DURATION_MS;

beforeEach(() => {
  vi.useFakeTimers({ now: BEGIN_MS });
});
afterEach(() => {
  vi.useRealTimers();
});

/** So many requests of one busy identifier, answered at once. */
function ask(demand: Demand, from: number, count: number, success: boolean): void {
  for (let turn = from; turn < from + count; turn++) {
    demand.bodyOf(busy(turn));
    demand.answered(busy(turn), answer(success));
  }
}

describe("demand", () => {
  test("is for users, busy ones and newcomers, six to three to one", () => {
    const demand = new Demand();
    const names = Array.from({ length: 1_000 }, (_, i) => /"identifier":"([a-z]+)_/.exec(demand.bodyOf(i))![1]!);
    const count = (name: string) => names.filter((one) => one === name).length;
    expect([count("user"), count("busy"), count("new")]).toEqual([600, 300, 100]);
  });

  test("300 allowed and then denied is right, and so is the share of the window before", () => {
    const demand = new Demand();
    ask(demand, 0, 300, true);
    ask(demand, 300, 5, false);
    vi.setSystemTime(BEGIN_MS + 1.5 * DURATION_MS);
    ask(demand, 305, 150, true);
    ask(demand, 455, 5, false);
    expect(demand).toMatchObject({ allowed: 450, denied: 10, falseDenials: 0, excess: 0 });
  });

  test("a denial below the limit is false", () => {
    const demand = new Demand();
    ask(demand, 0, 299, true);
    ask(demand, 299, 1, false);
    expect(demand.falseDenials).toBe(1);
  });

  test("a denial is not false while an open request may have been counted", () => {
    const demand = new Demand();
    ask(demand, 0, 299, true);
    demand.bodyOf(busy(299));
    ask(demand, 300, 1, false);
    expect(demand.falseDenials).toBe(0);
  });

  test("a denial of somebody far below the limit is false", () => {
    const demand = new Demand();
    demand.bodyOf(5);
    demand.answered(5, answer(false));
    expect(demand.falseDenials).toBe(1);
  });

  test("an allow above the limit is excess, whether by this window or the one before", () => {
    const demand = new Demand();
    ask(demand, 0, 301, true);
    expect(demand.excess).toBe(1);
    vi.setSystemTime(BEGIN_MS + 1.5 * DURATION_MS);
    ask(demand, 301, 151, true);
    expect(demand.excess).toBe(2);
  });
});
