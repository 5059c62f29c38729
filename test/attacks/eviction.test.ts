/**
 * Eviction under attack: invented identifiers against a table of 100,000 keys, while 1,000 honest keys go about their
 * business. Every honest decision is the same as in a run without the attack.
 *
 * First 5 million in the lab, fewer in the tests, of the honest keys' own rule, where each is the emptiest there is; then of rules with low limits, where
 * one request is a third of the limit or all of it, and recency alone protects busy keys.
 */
import { type Decision, type Duration, Limiter } from "sluice";
import { describe, expect, test } from "vitest";
import * as invariants from "../../packages/sim/src/model/invariants.ts";
import { byLength, figure } from "../rig/length.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const CELLS_MAX = 100_000;
const HONEST = 1_000;
const INVENTED = byLength({ short: 500_000, ci: 2_000_000, lab: 5_000_000 });
/** An honest request for every ten invented ones. */
const HONEST_REQUESTS = INVENTED / 10;
/** Five minutes: five windows, so that rollovers happen under attack too. */
const STEP_MS = 300_000 / HONEST_REQUESTS;
/** Nine tenths of what an honest key asks for in a window: it meets both answers. */
const LIMIT = Math.round((0.9 * HONEST_REQUESTS) / HONEST / 5);

function run(seed: number, isAttacked: boolean): { honest: Decision[]; limiter: Limiter } {
  const random = new SeededRandom(seed);
  let wallMs = 1_700_000_000_000;
  const limiter = new Limiter({ cellsMax: CELLS_MAX, clock: { wallMs: () => wallMs, monoMs: () => 0 }, random });
  const identifiers = Array.from({ length: HONEST }, (_, i) => `customer_${i}`);
  const rule = limiter.rule({ namespace: "api", limit: LIMIT, duration: "1m" });
  // Another generator: what the attack draws must not shift what the honest keys do.
  const choice = new SeededRandom(seed + 1);
  const honest: Decision[] = [];
  for (let i = 0; i < HONEST_REQUESTS; i++) {
    wallMs += STEP_MS;
    if (isAttacked) for (let j = 0; j < 10; j++) void rule.decide(`invented_${i}_${j}`);
    honest.push(rule.decide(choice.pick(identifiers)) as Decision);
  }
  return { honest, limiter };
}

interface LowLimit {
  readonly limit: number;
  readonly cost: number;
  readonly duration: Duration;
}

const INVENTED_LOW = byLength({ short: 200_000, ci: 500_000, lab: 1_000_000 });
const ROUNDS_LOW = INVENTED_LOW / 10 / HONEST;
/** One minute, 40 s of it before a rollover: the table is full within the first window, while no invented key has faded. */
const STEP_LOW_MS = 60_000 / (ROUNDS_LOW * HONEST);
/** Heavy customers ask for 10 % more than their 90 in those 40 s; light ones stay below a third of it while it matters. */
const COST_HEAVY = Math.ceil((90 * 1.1) / ((ROUNDS_LOW * 2) / 3));

/**
 * Every honest key asks once a round, in another order each time: at most 2 rounds, 20,000 new keys, pass between two of
 * its requests. That is less than the half of the table (50,000) that counts as lately.
 */
function runLow(seed: number, attack: LowLimit | undefined): { honest: Decision[]; limiter: Limiter } {
  let wallMs = 1_700_000_000_000;
  const clock = { wallMs: () => wallMs, monoMs: () => 0 };
  const limiter = new Limiter({ cellsMax: CELLS_MAX, clock, random: new SeededRandom(seed) });
  const rule = limiter.rule({ namespace: "api", limit: 90, duration: "1m" });
  const { limit = 1, duration = "1m", cost = 1 } = attack ?? {};
  const other = limiter.rule({ namespace: "login", limit, duration });
  const order = Array.from({ length: HONEST }, (_, i) => ({
    identifier: `customer_${i}`,
    cost: i % 2 === 0 ? 1 : COST_HEAVY,
  }));
  const choice = new SeededRandom(seed + 1);
  const honest: Decision[] = [];
  for (let round = 0; round < ROUNDS_LOW; round++) {
    for (let i = HONEST - 1; i >= 0; i--) {
      // One step of a shuffle: whoever is drawn asks now, and is not drawn again in this round.
      const drawn = choice.below(i + 1);
      [order[i], order[drawn]] = [order[drawn]!, order[i]!];
      wallMs += STEP_LOW_MS;
      if (attack !== undefined) for (let j = 0; j < 10; j++) void other.decide(`invented_${round}_${i}_${j}`, { cost });
      const customer = order[i]!;
      honest.push(rule.decide(customer.identifier, { cost: customer.cost }) as Decision);
    }
  }
  return { honest, limiter };
}

describe("a full cell table", () => {
  test(`under ${INVENTED} invented identifiers, 1,000 busy keys are decided as without them`, () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const alone = run(seed, false);
    const attacked = run(seed, true);
    expect(invariants.sameAnswers(alone.honest, attacked.honest), `seed ${seed}`).toBeUndefined();
    expect(invariants.bounded(attacked.limiter.stats())).toBeUndefined();
    // The attack was one, and the honest keys met both answers.
    const { evicted } = attacked.limiter.stats().cells;
    figure(
      `${INVENTED} invented identifiers, ${evicted} cells evicted, ${alone.honest.length} honest decisions unchanged`,
    );
    expect(evicted).toBeGreaterThan(INVENTED / 2);
    expect(new Set(alone.honest.map(({ success }) => success)).size).toBe(2);
  }, 300_000);

  test.each<LowLimit>([
    { limit: 3, cost: 1, duration: "1m" },
    { limit: 1, cost: 1, duration: "1h" },
    { limit: 5, cost: 5, duration: "15m" },
  ])(
    `under ${INVENTED_LOW} invented identifiers of a limit of $limit per $duration at cost $cost, busy keys are decided as without`,
    (attack) => {
      // Found so: an invented key of a low limit is at a third of it or more after one request, so that a customer at a
      // tenth of a high one was the emptiest in every sample, and lost its count again and again.
      const seed = Math.floor(Math.random() * 2 ** 32);
      const alone = runLow(seed, undefined);
      const attacked = runLow(seed, attack);
      expect(invariants.sameAnswers(alone.honest, attacked.honest), `seed ${seed}`).toBeUndefined();
      expect(invariants.bounded(attacked.limiter.stats())).toBeUndefined();
      // The attack was one: it took the table over more than once, and the honest keys met both answers.
      expect(attacked.limiter.stats().cells.live).toBe(CELLS_MAX);
      expect(attacked.limiter.stats().cells.evicted).toBeGreaterThan(CELLS_MAX / 2);
      expect(new Set(alone.honest.map(({ success }) => success)).size).toBe(2);
    },
    300_000,
  );
});
