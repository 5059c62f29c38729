import fc from "fast-check";
import type { Decision } from "sluice";
import { describe, expect, test } from "vitest";
import type { NamespaceRecord } from "../admin/records.ts";
import { mergedUsage, NAMESPACES_MAX, UsageTally } from "./usage-tally.ts";

const namespace = (id: string, workspaceId = "default"): NamespaceRecord => ({
  id,
  workspaceId,
  name: id,
  isShadow: false,
  createdAtMs: 0,
  deletedAtMs: null,
});
const decision = (success: boolean, more: Partial<Decision> = {}): Decision => ({
  success,
  limit: 10,
  remaining: 0,
  reset: 0,
  retryAfterMs: 0,
  current: 0,
  reason: success ? "allowed" : "limit",
  source: "local",
  degraded: false,
  ...more,
});
const asked = (cost = 1) => ({ cost, limit: 10, duration: 60_000 });

describe("usage tally", () => {
  test("a minute has every decision once, in its namespace and in its workspace", () => {
    const outcome = fc.constantFrom("allowed", "denied", "shadowed", "batch") as fc.Arbitrary<
      "allowed" | "denied" | "shadowed" | "batch"
    >;
    const check = fc.record({
      at: fc.constantFrom("a", "b", "c"),
      cost: fc.integer({ min: 0, max: 9 }),
      outcome,
      isDegraded: fc.boolean(),
      turns: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(check, { maxLength: 60 }), (checks) => {
        const tally = new UsageTally();
        const written = new Map<string, number[]>();
        const expected = new Map<string, number[]>();
        const turn = () => {
          for (const { subjectId, allowed, denied, shadowed, degraded, cost } of tally.turn()) {
            const sums = [allowed, denied, shadowed, degraded, cost];
            written.set(
              subjectId,
              sums.map((sum, i) => sum + (written.get(subjectId)?.[i] ?? 0)),
            );
          }
        };
        for (const { at, cost, outcome: came, isDegraded, turns } of checks) {
          const workspaceId = at === "c" ? "ws_2" : "ws_1";
          const isFit = came === "allowed" || came === "batch";
          const reason = came === "batch" ? "batch" : isFit ? "allowed" : "limit";
          tally.decided(
            namespace(at, workspaceId),
            asked(cost),
            decision(isFit, { reason, degraded: isDegraded }),
            came === "shadowed",
          );
          for (const subject of [at, workspaceId]) {
            const sums = expected.get(subject) ?? [0, 0, 0, 0, 0];
            const place = came === "allowed" ? 0 : came === "shadowed" ? 2 : 1;
            sums[place] = sums[place]! + 1;
            if (isDegraded) sums[3] = sums[3]! + 1;
            if (came === "allowed") sums[4] = sums[4]! + cost;
            expected.set(subject, sums);
          }
          if (turns) turn();
        }
        turn();
        expect(written).toEqual(expected);
      }),
      { seed: 21 },
    );
  });

  test("a minute without a check has nothing", () => {
    const tally = new UsageTally();
    tally.decided(namespace("a"), asked(), decision(true), false);
    expect(tally.turn()).toHaveLength(2);
    expect(tally.turn()).toEqual([]);
  });

  test("beyond its cap, namespaces are in the sum of their workspace alone, and are counted as missing", () => {
    const tally = new UsageTally();
    for (let i = 0; i < NAMESPACES_MAX + 5; i++) tally.decided(namespace(`n${i}`), asked(), decision(true), false);
    expect(tally.uncounted).toBe(5);
    const subjects = tally.turn();
    expect(subjects).toHaveLength(NAMESPACES_MAX + 1);
    expect(subjects.find(({ subjectId }) => subjectId === "default")?.allowed).toBe(NAMESPACES_MAX + 5);
    tally.decided(namespace("n1"), asked(), decision(true), false);
    expect(tally.turn()).toHaveLength(2);
  });

  test("the busiest namespaces are those of this minute and the one before it, of their workspace alone", () => {
    const tally = new UsageTally();
    tally.decided(namespace("a"), asked(), decision(false), false);
    tally.turn();
    tally.decided(namespace("a"), { cost: 1, limit: 7, duration: 1_000 }, decision(false), false);
    tally.decided(namespace("b"), asked(3), decision(true), false);
    tally.decided(namespace("x", "ws_other"), asked(), decision(true), false);
    const { totals, namespaces } = tally.read("default", 10);
    expect(totals).toEqual({ allowed: 1, denied: 2, shadowed: 0, degraded: 0, cost: 3 });
    expect(namespaces.map(({ namespaceId, denied, rule }) => [namespaceId, denied, rule?.limit])).toEqual([
      ["a", 2, 7],
      ["b", 0, undefined],
    ]);
    tally.turn();
    tally.turn();
    expect(tally.read("default", 10).namespaces).toEqual([]);
    expect(tally.read("default", 10).totals.denied).toBe(2);
  });

  test("what several processes know is their sum, the busiest first", () => {
    const parts = [1, 2].map((times) => {
      const tally = new UsageTally();
      for (let i = 0; i < times; i++) tally.decided(namespace("a"), asked(), decision(true), false);
      tally.decided(namespace(`own${times}`), asked(), decision(true), false);
      return tally.read("default", 10);
    });
    const { totals, namespaces } = mergedUsage(parts, 2);
    expect(totals.allowed).toBe(5);
    expect(namespaces.map(({ namespaceId, allowed }) => [namespaceId, allowed])).toEqual([
      ["a", 3],
      ["own1", 1],
    ]);
  });
});
