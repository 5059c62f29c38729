/**
 * How long news travels, from a world's options: the terms of E in docs/guarantees.md, and the settling times.
 *
 * The library's constants are written down once more: a checker that took its own from what it judges would follow every
 * mistake there. test/sim/copied-constants.test.ts holds each to its original.
 */
import type { DecisionEvent } from "sluice";
import { freshnessMs } from "../model/internals.ts";
import type { WorldOptions } from "../model/options.ts";

export interface Horizons {
  /** From an accept until every process of the region that asks has it, without the freshness interval. */
  readonly regionalMs: number;
  /** From an accept until the origin has it: how much a call may not know of. */
  readonly storedMs: number;
  /** From an accept until every other region has it, without the freshness interval. */
  readonly globalMs: number;
  /** From the end of a fault until things are as if it had not been. */
  readonly healMs: number;
  /** From a process's start until it has imported: until then its allows in windows that regions share are degraded. */
  readonly joinMs: number;
  /** From a row's rise until every region has imported it. */
  readonly importMs: number;
  /** From a loss of rows until they are published again and heard of everywhere. */
  readonly fullPassMs: number;
  /** The part of a limit that a region may keep to itself. */
  readonly floor: number;
}

/** A message takes up to this many times its link's mean delay. */
export const DELAY_WORST = 1.5;
/** A rhythm is late by up to a tenth, and a round that is under way when the next is due makes it wait once more. */
export const ROUND_WORST = 2.2;
/** A breaker stays open for a second; a read that failed is not repeated for 300 ms; a call to the global store is given up after 10 s. */
const BREAKER_MS = 1_000;
const RETRY_MS = 300;
const CALL_DEADLINE_MS = 10_000;
/** Every eighth import reads everything; the one after a loss may just have been such a one. */
const FULL_EVERY = 8;
/** With two live regions and the default error budget of 0.02: 0.02 / (2 * (2 - 1)). */
const FLOOR_DEFAULT = 0.01;

/** How long a call to the origin takes at most, if nothing is wrong. */
export function originCallMs({ originDelayMs }: WorldOptions): number {
  return 2 * DELAY_WORST * originDelayMs;
}

export function horizonsOf(options: WorldOptions): Horizons {
  const { flushMs, publishMs, importMs, globalDelayMs, timeoutMs } = options;
  const callMs = originCallMs(options);
  const globalCallMs = 2 * DELAY_WORST * globalDelayMs;
  // Accepted, flushed (a flush that is under way is waited for), stored; then read by somebody.
  const regionalMs = 2 * flushMs + 3 * callMs + 1;
  const storedMs = 2 * flushMs + callMs + 1;
  const globalMs = 2 * regionalMs + ROUND_WORST * (publishMs + importMs) + 2 * globalCallMs;
  const roundMs = Math.max(timeoutMs, CALL_DEADLINE_MS);
  const hasGlobal = options.hasGlobal;
  const healMs = timeoutMs + 2 * BREAKER_MS + RETRY_MS + 3 * regionalMs + (hasGlobal ? roundMs + globalMs : 0);
  const fullPassMs = (FULL_EVERY * ROUND_WORST * importMs) / 2 + globalCallMs + globalMs;
  const importedMs = ROUND_WORST * importMs + globalCallMs;
  // Which origin it is (a read and a raise), then to the store: a registration, all counts, all denials.
  const joinMs = 2 * callMs + 3 * globalCallMs + 1;
  return {
    regionalMs,
    storedMs,
    globalMs,
    healMs,
    joinMs,
    importMs: importedMs,
    fullPassMs,
    floor: options.floor ?? FLOOR_DEFAULT,
  };
}

/**
 * How many reads a request may have to wait for, one after another: its own, and before it one that is under way and too old for it,
 * because it is of the window before, or began before the key's last denial. In a batch that may be so for any of the items.
 */
const READS_MAX = 2;
/** With a strict key and an origin that admits: a call that is under way, its own, and another if the window's weight fell during that. */
const CALLS_MAX = 3;

/** Whether a single read may be given up with nothing wrong: where that happens often, breakers open. */
export function isOriginFar(options: WorldOptions): boolean {
  return originCallMs(options) >= options.readTimeoutMs;
}

/**
 * Whether the origin is so far away that a request may run out of time with nothing wrong: its answer is degraded then, and
 * honest. Replies that take the worst and come with the timeout count as late: sums of floating-point clocks may make them so.
 */
export function mayReadLate(
  options: WorldOptions,
  { wallMs, sequence, durationMs, batch }: DecisionEvent,
  isStrict = false,
): boolean {
  const { readTimeoutMs, admits = "none" } = options;
  // A read of the window before began before its end; whoever waits for it began before it was over, and waits no longer itself.
  const hasJustBegun = wallMs - sequence * durationMs <= 2 * readTimeoutMs;
  const callMs = originCallMs(options);
  // What a call brings to those who wait behind it is as old as the call: too old if it took longer than the freshness interval.
  const isStaleBehind = admits !== "none" && callMs >= freshnessMs(durationMs);
  const most = isStrict && admits !== "none" ? CALLS_MAX : READS_MAX;
  const reads = hasJustBegun || isStrict || isStaleBehind || batch !== 0 ? most : 1;
  return reads * callMs >= readTimeoutMs;
}
