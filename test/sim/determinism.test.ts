/** The invariant "Deterministic", and that the checker can fail: it notices a history that is wrong. */
import { createHash } from "node:crypto";
import { Checker, drawOptions, type HistoryLine, runWorld } from "@sluice/sim";
import { describe, expect, test } from "vitest";
import { byLength } from "../rig/length.ts";

const SEEDS = byLength({ fast: [3, 17], short: [3, 17, 42], ci: [3, 17, 42, 99, 1234], lab: [3, 17, 42, 99, 1234] });

async function traceOf(seed: number): Promise<{ hash: string; lines: number }> {
  const hash = createHash("sha256");
  let lines = 0;
  await runWorld(seed, {
    sink: (line) => {
      hash.update(line);
      lines++;
    },
  });
  return { hash: hash.digest("hex"), lines };
}

describe("a seed", () => {
  test("gives the same trace, to the byte, whatever else runs and however long it takes", {
    timeout: 120_000,
  }, async () => {
    for (const seed of SEEDS) {
      const [alone, [first, second]] = [await traceOf(seed), await Promise.all([traceOf(seed), traceOf(seed)])];
      expect(alone.lines).toBeGreaterThan(100);
      expect(first).toEqual(alone);
      expect(second).toEqual(alone);
    }
  });

  test("draws other worlds than its neighbour", () => {
    expect(JSON.stringify(drawOptions(1))).not.toBe(JSON.stringify(drawOptions(2)));
  });
});

/** A true history, and what becomes of it when one line is told otherwise. */
async function problemWith(
  change: (line: HistoryLine) => HistoryLine,
  admits: "none" | "life" = "life",
): Promise<string | undefined> {
  const checker = new Checker();
  const options = {
    features: [],
    regions: 1,
    processes: 2,
    hasOrigin: true,
    admits,
    hasGlobal: false,
    faults: [],
    safetyMs: 20_000,
  } as const;
  await runWorld(5, {
    options,
    sink: (text) => {
      const { atMs, process, ...event } = JSON.parse(text) as { atMs: number; process: string };
      checker.observe(change({ atMs, process, event } as HistoryLine));
    },
  });
  return checker.problem;
}

type Change = (event: HistoryLine["event"]) => HistoryLine["event"];

/** Changes the first event that `change` makes another of. */
function once(change: Change): (line: HistoryLine) => HistoryLine {
  let isDone = false;
  return (line) => {
    const event = isDone ? line.event : change(line.event);
    isDone ||= event !== line.event;
    return { ...line, event };
  };
}

describe("the checker", () => {
  test("finds nothing in a true history", async () => {
    expect(await problemWith((line) => line)).toBeUndefined();
  });

  const LIES: readonly { name: string; found: RegExp; change: Change; admits?: "none" }[] = [
    {
      name: "a denial that the truth would have allowed",
      found: /false denial|lower bound/,
      admits: "none",
      change: (event) =>
        event.kind === "decision" && event.reason === "allowed" && event.cost > 0 && event.batch === 0
          ? { ...event, success: false, isCounted: false, reason: "limit", limit: event.effective - 1, writer: "" }
          : event,
    },
    {
      name: "a view above the truth",
      found: /lower bound/,
      change: (event) =>
        event.kind === "decision" && event.batch === 0
          ? { ...event, others: event.others + 1_000, effective: event.effective + 1_000, limit: event.limit + 1_000 }
          : event,
    },
    {
      name: "a component above what its owner accepted",
      found: /stored/,
      change: (event) =>
        event.kind === "stored" && /^\d+:/.test(event.key) ? { ...event, total: event.total + 1 } : event,
    },
    {
      name: "an allow that rests on nothing",
      found: /fresh|strict/,
      admits: "none",
      change: (event) => (event.kind === "read" && event.isAnswered ? { ...event, isAnswered: false } : event),
    },
    {
      name: "a cost that the origin counted and nobody accepted",
      found: /admission: the origin counted/,
      change: (event) => (event.kind === "admitted" && event.cost > 0 ? { ...event, cost: event.cost + 1 } : event),
    },
    {
      name: "an allow by a call that the origin did not count",
      found: /admission: allowed|lower bound/,
      change: (event) => (event.kind === "admitted" && event.cost > 0 ? { ...event, cost: event.cost - 1 } : event),
    },
    {
      name: "a call that carried more than fits",
      found: /admission: a call carried/,
      change: (event) =>
        event.kind === "admit" && event.isAnswered ? { ...event, total: event.total + 1_000 } : event,
    },
    {
      name: "a count that fell",
      found: /own|monotone/,
      change: (event) =>
        event.kind === "decision" && event.own > 0 && event.isCounted
          ? { ...event, own: event.own - 1, effective: event.effective - 1 }
          : event,
    },
    {
      name: "a message that was heard and not merged",
      found: /join: others/,
      change: (event) =>
        event.kind === "raise" && event.isAnswered && event.total > 0 ? { ...event, sum: event.sum + 1_000 } : event,
    },
    {
      name: "a count that no message told",
      found: /join: foreign|lower bound/,
      change: (event) =>
        event.kind === "decision" && event.reason === "allowed" && event.others > 0
          ? { ...event, others: 0, foreign: event.others + event.foreign }
          : event,
    },
    {
      name: "statistics that do not add up",
      found: /honesty: deniedLimit/,
      change: (event) => (event.kind === "gauges" ? { ...event, deniedLimit: event.deniedLimit + 1 } : event),
    },
    {
      name: "a call that was not counted",
      found: /honesty: \d+ calls/,
      change: (event) => (event.kind === "gauges" ? { ...event, originCalls: event.originCalls - 1 } : event),
    },
    {
      name: "a key that is read twice at once",
      found: /bounds: \d+ reads/,
      change: (event) => (event.kind === "gauges" ? { ...event, readsInFlight: 7 } : event),
    },
    {
      name: "an answer from memory that did I/O",
      found: /bounds: 1 messages/,
      change: (event) => (event.kind === "answer" && event.waitedMs === 0 ? { ...event, sent: 1 } : event),
    },
    {
      name: "an id used by two processes",
      found: /single writer|own/,
      change: (event) =>
        event.kind === "decision" && event.isCounted && event.own > 0 ? { ...event, writer: "another" } : event,
    },
  ];

  for (const { name, found, change, admits } of LIES) {
    test(`finds ${name}`, async () => {
      expect(await problemWith(once(change), admits)).toMatch(found);
    });
  }
});
