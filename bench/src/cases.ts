/** What is measured: one line of traffic after another, each in processes of its own. */

export type CaseName = "hot-allowed" | "hot-denied" | "keys-100k" | "keys-1m" | "rebuilt-100k" | "fresh" | "batch-4";

export interface Case {
  readonly name: CaseName;
  readonly title: string;
  /** Distinct keys in the table before the clock starts. */
  readonly keysHeld: number;
  readonly answer: "allowed" | "denied";
  /**
   * held: the very string objects the table was filled with, whose hash is cached in the string and whose comparison is
   * one of pointers. It flatters whatever keeps the string as a `Map` key, the floor first.
   * rebuilt: the same keys in new string objects, as each HTTP request brings them.
   * fresh: keys that were never seen.
   */
  readonly strings: "held" | "rebuilt" | "fresh";
  /** Keys asked per measured operation. */
  readonly batchSize: 1 | 4;
  /**
   * Slices run untimed before each timed one. Taking turns empties the processor's caches: where one contender's table
   * would stay in them if it had the process to itself, it is first given time to come back.
   */
  readonly slicesLeadIn: number;
}

export const cases: readonly Case[] = [
  {
    name: "hot-allowed",
    title: "one key, allowed",
    keysHeld: 1,
    answer: "allowed",
    strings: "held",
    batchSize: 1,
    slicesLeadIn: 0,
  },
  {
    name: "hot-denied",
    title: "one key, denied",
    keysHeld: 1,
    answer: "denied",
    strings: "held",
    batchSize: 1,
    slicesLeadIn: 0,
  },
  {
    name: "keys-100k",
    title: "100k keys",
    keysHeld: 100_000,
    answer: "allowed",
    strings: "held",
    batchSize: 1,
    slicesLeadIn: 2,
  },
  {
    name: "keys-1m",
    title: "1M keys",
    keysHeld: 1_000_000,
    answer: "allowed",
    strings: "held",
    batchSize: 1,
    slicesLeadIn: 0,
  },
  {
    name: "rebuilt-100k",
    title: "100k keys, new strings",
    keysHeld: 100_000,
    answer: "allowed",
    strings: "rebuilt",
    batchSize: 1,
    slicesLeadIn: 2,
  },
  {
    name: "fresh",
    title: "never-seen keys",
    keysHeld: 0,
    answer: "allowed",
    strings: "fresh",
    batchSize: 1,
    slicesLeadIn: 0,
  },
  {
    name: "batch-4",
    title: "batch of 4 of 100k keys",
    keysHeld: 100_000,
    answer: "allowed",
    strings: "held",
    batchSize: 4,
    slicesLeadIn: 2,
  },
];

/** Never reached by a run. */
export const LIMIT_ALLOWED = 1_000_000_000;

/** Exhausted before the clock starts. Small, so that a log of hits is short: the kind choice for those that keep one. */
export const LIMIT_DENIED = 10;
