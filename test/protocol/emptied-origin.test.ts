/** What the model of an emptied origin shows: docs/decisions/0020-an-emptied-origin-is-not-refilled.md rests on it. */
import { describe, expect, test } from "vitest";
import { explore, type ModelBounds, type RestoreRule } from "./emptied-origin-model.ts";

const SMALL: ModelBounds = { accepts: 2, losses: 1, starts: 1 };
/** Two losses and two restarts: 250,000 states without a restore, 405,000 with origins kept apart; a quarter of a minute each. */
const LARGE: ModelBounds = { accepts: 2, losses: 2, starts: 2 };
/** For a starved machine. */
const TIMEOUT_MS = 600_000;
const bounds = process.env["CI"] === "true" ? LARGE : SMALL;

describe("an emptied origin", () => {
  test.each<RestoreRule>(["none", "apart"])(
    "rule %s: no view, sum or row is ever above the truth",
    (rule) => {
      const { states, counterexample } = explore(rule, bounds);
      expect(counterexample).toBeNull();
      expect(states).toBeGreaterThan(10_000);
    },
    TIMEOUT_MS,
  );

  test.each<RestoreRule>(["row", "rest", "when-empty"])(
    "rule %s: a process that survived the loss reads its own count back as another's",
    (rule) => {
      expect(explore(rule, SMALL).counterexample).toEqual([
        "p0 accepts 1",
        "p0 publishes 1",
        "the origin is emptied",
        "p2 starts",
        "p2 imports",
        "p2 restores 1",
        "p0 reads 1",
      ]);
    },
  );

  test("even if nobody survived: a message that a killed process had sent arrives after the restore", () => {
    const { counterexample } = explore("nobody-survived", SMALL);
    expect(counterexample?.slice(-4)).toEqual([
      "p2 starts",
      "p2 imports",
      "p2 restores 1",
      "the origin executes 1/0 = 1",
    ]);
  });
});
