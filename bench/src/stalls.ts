/**
 * How long the event loop stands still while a table is filled and swept.
 *
 * A turn does about a millisecond of work and yields; what is recorded is the time from one turn's begin to the next,
 * in which timers, sweeps and the collector run too. The control makes the same keys and has no table; the floor shows
 * what a `Map` does when it grows. Runs in a process of its own per subject.
 */
import { createHistogram } from "node:perf_hooks";
import { FLOOR } from "./contenders.ts";
import { createFloor } from "./floor.ts";
import { keyText } from "./key-feed.ts";

export const stallSubjects = ["no table", FLOOR, "Sluice"] as const;
export type StallSubject = (typeof stallSubjects)[number];

export interface StallOptions {
  readonly keys: number;
  /** The window of Sluice's cells. They are over, and swept, two windows later at the latest. */
  readonly durationMs: number;
  /** How long sweeping is watched after the last key. */
  readonly sweepMs: number;
}

export interface StallFigure {
  readonly subject: StallSubject;
  readonly keys: number;
  /** While the table was filled. */
  readonly fill: Turns;
  /** After the last key, without work of our own, while Sluice's cells end and are swept. */
  readonly sweep: Turns;
  /** Cells that were swept by the end. Only Sluice sweeps here. */
  readonly cellsSwept: number;
}

interface Turns {
  readonly count: number;
  readonly maxMs: number;
  readonly p999Ms: number;
}

/** The work of one turn. */
const TURN_MS = 1;
/** Keys between two looks at the clock: some 50 us of work. */
const KEYS_PER_LOOK = 64;

export async function measureStalls(subject: StallSubject, options: StallOptions): Promise<StallFigure> {
  const table = await openTable(subject, options);
  let next = 0;
  const fill = await recordTurns(() => {
    const endMs = performance.now() + TURN_MS;
    while (next < options.keys && performance.now() < endMs) {
      const until = Math.min(next + KEYS_PER_LOOK, options.keys);
      while (next < until) table.take(keyText(next++));
    }
    return next < options.keys;
  });

  const endMs = performance.now() + options.sweepMs;
  const sweep = await recordTurns(() => performance.now() < endMs);
  const cellsSwept = table.cellsSwept();
  await table.close();
  return { subject, keys: options.keys, fill, sweep, cellsSwept };
}

interface Table {
  take(key: string): unknown;
  cellsSwept(): number;
  close(): void | Promise<void>;
}

async function openTable(subject: StallSubject, { keys, durationMs }: StallOptions): Promise<Table> {
  if (subject === "no table") {
    let characters = 0;
    return { take: (key) => (characters += key.length), cellsSwept: () => 0, close: () => {} };
  }
  if (subject === FLOOR) {
    const floor = createFloor({ keysMax: keys, limit: 1 });
    return { take: floor.call, cellsSwept: () => 0, close: floor.close };
  }
  const { Limiter } = await import("sluice");
  const limiter = new Limiter({ cellsMax: Math.ceil(keys * 1.1) });
  return {
    take: (identifier) => limiter.decide({ namespace: "api", identifier, limit: 100, duration: durationMs, cost: 1 }),
    cellsSwept: () => limiter.stats().cells.expired,
    close: async () => {
      await limiter.close();
    },
  };
}

/** Runs `turn` once per turn of the event loop until it returns false. */
function recordTurns(turn: () => boolean): Promise<Turns> {
  return new Promise((resolve, reject) => {
    // Not an array: idle turns come by the million, and an array that grows is a stall of our own making.
    const gapsNs = createHistogram();
    let beganMs = performance.now();
    const step = (): void => {
      const nowMs = performance.now();
      gapsNs.record(Math.max(1, Math.round((nowMs - beganMs) * 1e6)));
      beganMs = nowMs;
      try {
        if (turn()) setImmediate(step);
        else resolve({ count: gapsNs.count, maxMs: gapsNs.max / 1e6, p999Ms: gapsNs.percentile(99.9) / 1e6 });
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(step);
  });
}
