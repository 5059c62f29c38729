/**
 * `admit`, explored exhaustively: the rules hold in every state, and every planted mistake is found.
 *
 * Here the spaces of up to 100,000 states, which is most of the mistakes; with CI=true those of up to a million; in the lab (part `models`) all of
 * them, 43.8 million states.
 */
import { describe, expect, test } from "vitest";
import { byLength } from "../rig/length.ts";
import { admitModel } from "./admit-model.ts";
import { PLANTED_SPACES, SOUND_SPACES } from "./admit-spaces.ts";
import { explore } from "./explorer.ts";

const STATES_MAX = byLength({ fast: 20_000, short: 100_000, ci: 1_000_000, lab: Number.POSITIVE_INFINITY });
const TIMEOUT_MS = 1_800_000;

describe("the model of admit", { timeout: TIMEOUT_MS }, () => {
  test.each(SOUND_SPACES.filter(({ states }) => states <= STATES_MAX))("holds: $name", ({ space, states }) => {
    expect(explore(admitModel(space))).toMatchObject({ found: null, states });
  });

  test.each(PLANTED_SPACES.filter(({ states }) => states <= STATES_MAX))("finds: $name", (planted) => {
    const { found, steps, states } = explore(admitModel(planted.space));
    expect({ found: found?.problem, steps, states }).toEqual({
      found: planted.found,
      steps: planted.steps,
      states: planted.states,
    });
  });

  test("tells the way to a mistake step by step", () => {
    const { space } = PLANTED_SPACES.find(({ name }) => name === "a lost reply is answered with a denial")!;
    expect(explore(admitModel({ ...space, named: true }), { trace: true }).found?.way).toEqual([
      "request 0.0 of cost 1 arrives",
      "the origin executes call 0.0 (base 0, requests 1)",
      "the deadline of call 0.0 passes",
    ]);
  });
});
