import { describe, expect, test } from "vitest";
import type { DurationMs } from "../core/brands.ts";
import type { Key } from "../engine/key.ts";
import { RowBudget } from "./row-budget.ts";

const CAPS = { namespaceRowsMax: 4, workspaceRowsMax: 6 };

function keyOf(workspace: string, namespace: string, identifier = "a"): Key {
  return { workspace, namespace, identifier, durationMs: 60_000 as DurationMs };
}

/** One page with so many rows of this region for each key, and rows of other regions that must not count. */
function pageOf(rows: readonly (readonly [Key, number])[], rest?: string) {
  const cells = rows.flatMap(([key, count]) => [
    ...Array.from({ length: count }, () => ({ key, own: 1 })),
    { key, own: 0 },
  ]);
  return rest === undefined ? { cells } : { cells, rest };
}

/** A full pass of one page. */
function pass(budget: RowBudget, ...rows: readonly (readonly [Key, number])[]): void {
  budget.passBegins();
  budget.passed(null, pageOf(rows));
}

/** How many new rows of a key are taken and written, of ten. */
function taken(budget: RowBudget, key: Key): number {
  let count = 0;
  for (let i = 0; i < 10; i++) {
    if (!budget.take(key)) continue;
    budget.written(key);
    count++;
  }
  return count;
}

describe("the row budget", () => {
  test("a namespace, and a workspace, get as many new rows as their maximum", () => {
    const budget = new RowBudget(CAPS);
    expect(taken(budget, keyOf("w", "one"))).toBe(4);
    expect(taken(budget, keyOf("w", "two"))).toBe(2);
    expect([budget.rows, budget.refused, budget.full]).toEqual([6, 6 + 8, 2]);
    expect(budget.refusedKey).toMatchObject({ workspace: "w", namespace: "two" });
  });

  test("another workspace is not affected, even with a namespace of the same name", () => {
    const budget = new RowBudget(CAPS);
    taken(budget, keyOf("w", "one"));
    expect(taken(budget, keyOf("v", "one"))).toBe(4);
  });

  test("rows that a full pass finds count: of other processes, and of an earlier life", () => {
    const budget = new RowBudget(CAPS);
    pass(budget, [keyOf("w", "one"), 3]);
    expect(budget.rows).toBe(3);
    expect(taken(budget, keyOf("w", "one"))).toBe(1);
  });

  test("a row that was not written frees its room", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    budget.take(key);
    expect(taken(budget, key)).toBe(3);
    budget.giveBack(key);
    expect(taken(budget, key)).toBe(1);
  });

  test("expired rows leave the count with the next pass, and refused keys are then worth another look, once", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    taken(budget, key);
    pass(budget, [key, 4]);
    expect([budget.takeFreed(), budget.full, budget.take(key)]).toEqual([false, 1, false]);
    pass(budget, [key, 3]);
    expect([budget.takeFreed(), budget.takeFreed(), budget.full]).toEqual([true, false, 0]);
    expect(taken(budget, key)).toBe(1);
  });

  test("rows added while a pass is read stay counted after it, and those from before it are what it finds", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    for (let i = 0; i < 2; i++) {
      budget.take(key);
      budget.written(key);
    }
    budget.passBegins();
    budget.passed(null, pageOf([[key, 1]], "more"));
    budget.take(key);
    budget.passed("more", pageOf([[key, 1]]));
    expect(budget.rows).toBe(3);
  });

  test("rows that were on their way when a pass began count, found or not", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    budget.take(key);
    pass(budget);
    expect(budget.rows).toBe(1);
    budget.written(key);
    pass(budget, [key, 1]);
    expect(budget.rows).toBe(1);
  });

  test("pages of changes are not counted, not even between two pages of a pass", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    budget.passBegins();
    budget.passed(null, pageOf([[key, 1]], "more"));
    budget.passed("cursor", pageOf([[key, 3]], "more changes"));
    budget.passed("more changes", pageOf([[key, 3]]));
    budget.passed("more", pageOf([[key, 1]]));
    expect(budget.rows).toBe(2);
  });

  test("a pass that failed half way does not count, and the next one begins from zero", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    budget.passBegins();
    budget.passed(null, pageOf([[key, 2]], "more"));
    pass(budget, [key, 3]);
    expect(budget.rows).toBe(3);
  });

  test("a store that was emptied begins a pass", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    pass(budget, [key, 4]);
    budget.passed("cursor", { ...pageOf([[key, 1]]), isAll: true });
    expect(budget.rows).toBe(1);
  });

  test("there is ample room below half of a maximum", () => {
    const budget = new RowBudget(CAPS);
    const key = keyOf("w", "one");
    const seen: boolean[] = [];
    for (let i = 0; i < 3; i++) {
      seen.push(budget.isAmple(key));
      budget.take(key);
    }
    expect(seen).toEqual([true, true, false]);
    expect(budget.isAmple(keyOf("w", "two"))).toBe(false);
    expect(budget.isAmple(keyOf("v", "one"))).toBe(true);
  });
});
