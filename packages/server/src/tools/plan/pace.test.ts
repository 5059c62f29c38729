import { expect, test } from "vitest";
import { Pace, type PaceOptions } from "./pace.ts";

/** A run of 102 s of the world, 2 s of them the lead, told at once. */
function setUp(options: Partial<PaceOptions> = {}) {
  const time = { ms: 0 };
  const told: string[] = [];
  const notices: string[] = [];
  const pace = new Pace({
    nowMs: () => time.ms,
    report: (line) => told.push(line),
    notice: (text) => notices.push(text),
    isStopped: () => false,
    totalMs: 102_000,
    leadMs: 2_000,
    rhythmMs: 0,
    isTerminal: true,
    ...options,
  });
  pace.next();
  const breathe = (realMs: number, worldMs: number, events: number) => {
    time.ms = realMs;
    return pace.breathe(worldMs, events);
  };
  return { pace, time, told, notices, breathe };
}

test("what is left of the lead is not taken for work done", async () => {
  // Seen: a breath every so many events came at 0.1 s of the world and the next at 2.1 s, and a twentieth counted as done.
  const { told, notices, breathe } = setUp();
  await breathe(10, 100, 10);
  await breathe(1_010, 2_100, 10_000);
  // A second of real time for a tenth of a second of the world: 1,000 s.
  expect(notices).toEqual([expect.stringMatching(/^this plan takes about 17 minutes: about [\d,]+ events/)]);
  expect(told.at(-1)).toBe("simulating: 0 %, 10,000 events, about 999 s left");
});

test("a run that turns out longer on its way says so then, once", async () => {
  const { notices, breathe } = setUp();
  await breathe(0, 1_000, 1);
  for (let step = 1; step <= 10; step++) await breathe(step * 500, 2_000 + step * 1_000, step);
  expect(notices, "50 s in all").toEqual([]);
  for (let step = 1; step <= 10; step++) await breathe(5_000 + step * 2_000, 12_000 + step * 100, step);
  expect(notices).toHaveLength(1);
});

test("a run of less than a minute says nothing", async () => {
  const { notices, told, pace, breathe } = setUp();
  for (let step = 0; step <= 102; step++) await breathe(step * 500, step * 1_000, step);
  pace.done();
  expect(notices).toEqual([]);
  expect(told.at(-1)).toBe("simulating: 100 %, 102 events");
});

test("what a herd costs is judged after a whole window, or after five seconds", async () => {
  const slow = setUp({ rhythmMs: 10_000 });
  await slow.breathe(0, 1_000, 1);
  await slow.breathe(4_000, 2_100, 1);
  expect([slow.notices, slow.told.at(-1)]).toEqual([[], "simulating: 0 %, 1 events"]);
  await slow.breathe(5_000, 2_100, 1);
  expect(slow.notices).toHaveLength(1);
  const calm = setUp({ rhythmMs: 10_000 });
  await calm.breathe(0, 1_000, 1);
  await calm.breathe(4_000, 2_100, 1);
  await calm.breathe(4_500, 12_000, 1);
  expect(calm.notices).toEqual([]);
});
