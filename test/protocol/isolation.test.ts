/** The invariants "Join laws" and "Isolation" over random traffic: merges commute, and no tenant's traffic changes another's decisions. */
import fc from "fast-check";
import { type Decision, Limiter } from "sluice";
import { describe, expect, test } from "vitest";
import * as invariants from "../../packages/sim/src/model/invariants.ts";
import type { DurationMs, Sequence } from "../../packages/sluice/src/core/brands.ts";
import { CellTable } from "../../packages/sluice/src/engine/cell-table.ts";
import { SeededRandom } from "../support/seeded-random.ts";

interface Ask {
  readonly workspace: string;
  readonly identifier: string;
  readonly cost: number;
  readonly waitMs: number;
}

/** The answers one tenant gets in a run of these requests. */
function answersOf(tenant: string, asks: readonly Ask[]): Decision[] {
  let wallMs = 1_700_000_000_000;
  const clock = { wallMs: () => wallMs, monoMs: () => 0 };
  const limiter = new Limiter({ clock, random: new SeededRandom(1), cellsMax: 1_000 });
  const answers: Decision[] = [];
  for (const { workspace, identifier, cost, waitMs } of asks) {
    wallMs += waitMs;
    if (workspace === "") continue;
    const answer = limiter.decide({ workspace, namespace: "n", identifier, limit: 20, duration: "1s", cost });
    if (workspace === tenant) answers.push(answer as Decision);
  }
  return answers;
}

describe("isolation", () => {
  test("removing all other tenants' traffic leaves a tenant's decisions unchanged", () => {
    const ask = fc.record({
      workspace: fc.constantFrom("a", "b", "a\u0000", "aa"),
      identifier: fc.constantFrom("x", "y", "ax", "\u0000x"),
      cost: fc.integer({ min: 0, max: 8 }),
      waitMs: fc.integer({ min: 0, max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(ask, { maxLength: 300 }), (asks) => {
        const alone = asks.map((one) => (one.workspace === "a" ? one : { ...one, workspace: "" }));
        return invariants.sameAnswers(answersOf("a", asks), answersOf("a", alone)) === undefined;
      }),
      { numRuns: 300 },
    );
  });
});

describe("merges", () => {
  const DURATION = 60_000 as DurationMs;
  const message = fc.record({
    field: fc.constantFrom("others" as const, "foreign" as const, "published" as const, "replayed" as const),
    sequence: fc.constantFrom(99, 100, 101, 98),
    count: fc.nat({ max: 1_000 }),
  });

  function stateAfter(messages: readonly { field: string; sequence: number; count: number }[]): string {
    const table = new CellTable(4);
    const slot = table.claim(1, 2, 3, DURATION, 100 as Sequence);
    for (const { field, sequence, count } of messages) {
      const at = sequence as Sequence;
      if (field === "others") table.raiseOthers(slot, at, count);
      else if (field === "foreign") table.raiseForeign(slot, at, count);
      else if (field === "published") table.raisePublished(slot, at, count);
      else table.raiseReplayed(slot, at, count);
    }
    const read = (at: Sequence) => [
      table.others(slot, at),
      table.foreign(slot, at),
      table.published(slot, at),
      table.view(slot, at),
    ];
    return JSON.stringify([read(100 as Sequence), read(99 as Sequence), read(101 as Sequence)]);
  }

  test("any order and any repetition of the same messages gives the same state", () => {
    fc.assert(
      fc.property(
        fc
          .array(message, { minLength: 1, maxLength: 20 })
          .chain((messages) =>
            fc.tuple(
              fc.constant(messages),
              fc.shuffledSubarray(messages, { minLength: messages.length }),
              fc.array(fc.constantFrom(...messages), { maxLength: 20 }),
            ),
          ),
        ([messages, shuffled, repeated]) => {
          const orders = [messages, shuffled, [...shuffled, ...repeated], [...repeated, ...messages]];
          expect(invariants.joinLaw(orders, stateAfter, (a, b) => a === b)).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });
});
