/** An origin so far away that reads come too late is a legal world: what it makes degraded is honest, and stays so. */
import { describe, expect, test } from "vitest";
import { SCENARIOS } from "../campaign/scenarios.ts";
import type { HistoryLine } from "../model/history.ts";
import type { WorldOptions } from "../model/options.ts";
import { runWorld } from "../world/world.ts";
import { Freshness } from "./freshness.ts";
import { Settlement } from "./settlement.ts";
import { Truth } from "./truth.ts";

const SEED = 8;
const DURATION_MS = 60_000;

/** One region in calm; a read is given up after 300 ms, and a message takes up to one and a half times its mean. */
function calmWorld(rttMs: number): WorldOptions {
  return {
    ...SCENARIOS[0]!.options,
    regions: 1,
    processes: 2,
    safetyMs: 2 * DURATION_MS,
    keys: [{ workspace: "acme", namespace: "api", identifier: "user", durationMs: DURATION_MS, limit: 1_000 }],
    traffic: { shape: "even", perSecond: 4, costMax: 1, batches: 0, peeks: 0 },
    hasGlobal: false,
    readTimeoutMs: 300,
    originDelayMs: rttMs / 2,
    timeoutMs: Math.max(1_000, 3 * rttMs),
  };
}

type IsMeant = (cost: number, phase: string, sinceMs: number) => boolean;

/** What is said of a true history in which the first answer that `isMeant` names is told as degraded. */
async function problemOf(rttMs: number, isMeant: IsMeant) {
  const truth = new Truth();
  const parts = [new Freshness(), new Settlement()];
  const problems: string[] = [];
  let phase = "";
  let isDone = false;
  const observe = (line: HistoryLine) => {
    const { event } = line;
    if (event.kind === "phase") phase = event.phase;
    const isTold =
      !isDone &&
      event.kind === "decision" &&
      event.reason === "allowed" &&
      isMeant(event.cost, phase, event.wallMs % DURATION_MS);
    isDone ||= isTold;
    const told = isTold ? ({ ...line, event: { ...event, degraded: true } } as HistoryLine) : line;
    for (const part of parts) problems.push(part.check(told, truth) ?? "");
    truth.apply(told);
  };
  const { problem } = await runWorld(SEED, { options: calmWorld(rttMs), observe });
  expect({ problem, isDone }).toEqual({ problem: undefined, isDone: true });
  return problems.find((text) => text !== "");
}

describe("a degraded answer in calm", () => {
  const isFirst = (cost: number, phase: string) => cost > 0 && phase === "safety";
  const isPeek = (cost: number, phase: string) => cost === 0 && phase === "peeking";

  test.each([1, 150, 199])("is a defect where the origin is %i ms away: its answers come in time", async (rttMs) => {
    expect(await problemOf(rttMs, isFirst)).toBe("honesty: degraded, and nothing is wrong");
    expect(await problemOf(rttMs, isPeek)).toMatch(/degraded/);
  });

  test("is a defect at 99 ms even where a window has just begun, and honest at 100 ms", async () => {
    const isRollover = (cost: number, phase: string, sinceMs: number) =>
      cost > 0 && phase === "safety" && sinceMs < 600;
    expect(await problemOf(99, isRollover)).toBe("honesty: degraded, and nothing is wrong");
    expect(await problemOf(100, isRollover)).toBeUndefined();
    const isLater = (cost: number, phase: string, sinceMs: number) => cost > 0 && phase === "safety" && sinceMs > 601;
    expect(await problemOf(199, isLater)).toBe("honesty: degraded, and nothing is wrong");
  });

  test.each([200, 201])("is honest where it is %i ms away: the slowest reply comes with the timeout", async (rttMs) => {
    expect(await problemOf(rttMs, isFirst)).toBeUndefined();
    expect(await problemOf(rttMs, isPeek)).toBeUndefined();
  });
});

describe("a calm world", () => {
  // Seen: an origin 250 ms away was reported as "liveness: degraded long after the last fault", a defect of Sluice.
  test.each([199, 200, 250, 400, 1_000])("with an origin %i ms away keeps every invariant", async (rttMs) => {
    const { problem, decisions } = await runWorld(SEED, { options: calmWorld(rttMs) });
    expect(problem).toBeUndefined();
    expect(decisions).toBeGreaterThan(100);
  });

  // Seen from 100 ms on: a read that ends after its window says nothing of the new one, and a second one comes too late.
  test.each([100, 130, 150, 199])(
    "with an origin %i ms away may run out of time where a window ends",
    async (rttMs) => {
      const calm = calmWorld(rttMs);
      const keys = calm.keys.map((key) => ({ ...key, durationMs: 1_000, limit: 100 }));
      const traffic = { ...calm.traffic, perSecond: 60 };
      const { problem } = await runWorld(SEED, { options: { ...calm, keys, traffic } });
      expect(problem).toBeUndefined();
    },
  );

  // Seen: "excess: 17 over 20, E = 16". Reads that come too late open a breaker, and what its process accepts waits for it.
  test("with an origin 400 ms away owes no more than breakers keep back", async () => {
    const calm = calmWorld(400);
    const [key] = calm.keys;
    const keys = ["a", "b", "c"].map((identifier) => ({ ...key!, identifier, durationMs: 2_000, limit: 20 }));
    const traffic = { ...calm.traffic, perSecond: 60, peeks: 0.1 };
    const { problem, marks } = await runWorld(244, { options: { ...calm, safetyMs: 20_000, keys, traffic } });
    expect(problem).toBeUndefined();
    expect(marks["breaker-opened"]).toBeGreaterThan(10);
  });
});
