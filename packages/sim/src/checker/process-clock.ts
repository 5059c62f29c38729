/**
 * What a process may believe the time to be: the range that physics leaves to the clock of its engine.
 *
 * The world says what the wall clock of a process shows (`os`). An engine's clock is that, except while it is held: the wall clock
 * was set back by up to 5 s, and the engine goes on from the latest time it has seen, at half the speed of the monotonic clock,
 * until the wall clock has caught up.
 *
 *    engine's clock ahead by   c ┤╲            c: the correction, at most 5 s
 *                                │ ╲           the lead falls by half a millisecond per millisecond
 *                              0 ┤  ╲______
 *                                0   2c        time since the correction
 *
 * So the engine's clock is at least `os`; it is ahead by no more than what is left of the correction; and while it is held it moves at
 * least at half speed. A denial that lasts for x by the engine's clock lasts for at most 2x of real time, and the hold for 2c: the
 * extra denial is at most c, and only while the clock is held. A clock that stands still has no such bound in terms of a window: every
 * denial of a window of 1 s lasts until the whole correction is over.
 *
 * A wall clock that is wrong by s from the outset is not held, and not judged here: its process counts in the cell that the clock
 * shows. That shifts the edges of its windows by s, so that costs within s of an edge are in the neighbouring cell.
 */
import type { DecisionEvent } from "sluice";
import type { LifeTruth } from "./truth.ts";

/** A copy of the library's constant: a larger jump is followed. */
const CLOCK_HOLD_MAX_MS = 5_000;
/** Whole milliseconds of two clocks, each rounded down. */
const ROUNDING_MS = 2;

/** The times that the engine's clock may show, both ends included. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Seen {
  /** The highest time that the engine's clock can have reached, and when. */
  highMs: number;
  highAtMs: number;
  /** The engine's clock at the last decision, the monotonic clock, and the wall clock of the world's record. */
  engineMs: number;
  monoMs: number;
  osMs: number;
  clock: LifeTruth["clock"];
  followed: number;
}

export class ProcessClocks {
  readonly #seen = new Map<string, Seen>();

  /** The wall clock of a process is about to be set, or to change its speed. */
  changes(atMs: number, process: string, life: LifeTruth): void {
    const seen = this.#at(atMs, process, life);
    seen.highMs = highest(seen, atMs, osAt(atMs, life));
    seen.highAtMs = atMs;
  }

  /** The times that a decision of a process may rest on. */
  rangeOf(atMs: number, process: string, { wallMs, monoMs }: DecisionEvent, life: LifeTruth): TimeRange {
    const seen = this.#at(atMs, process, life);
    const osMs = osAt(atMs, life);
    // The wall clock may have been set back since: what is left of a lead is at most 5 s.
    const highMs = Math.max(osMs, Math.min(highest(seen, atMs, osMs), osMs + CLOCK_HOLD_MAX_MS));
    const isSame = seen.clock === life.clock && seen.followed === life.followed;
    // A wall clock that has passed the last time shown is used as it is.
    const isHeld = seen.engineMs > seen.osMs + ROUNDING_MS && seen.engineMs > osMs;
    const heldMs = isSame && isHeld ? seen.engineMs + (monoMs - seen.monoMs) / 2 : Number.NEGATIVE_INFINITY;
    const fromMs = Math.max(osMs, heldMs) - ROUNDING_MS;
    this.#seen.set(process, {
      highMs,
      highAtMs: atMs,
      engineMs: wallMs,
      monoMs,
      osMs,
      clock: life.clock,
      followed: life.followed,
    });
    return { fromMs, toMs: Math.max(fromMs, highMs + ROUNDING_MS) };
  }

  #at(atMs: number, process: string, life: LifeTruth): Seen {
    let seen = this.#seen.get(process);
    if (seen === undefined) {
      const osMs = osAt(atMs, life);
      const { clock, followed } = life;
      seen = { highMs: osMs, highAtMs: atMs, engineMs: Number.NEGATIVE_INFINITY, monoMs: 0, osMs, clock, followed };
      this.#seen.set(process, seen);
    }
    return seen;
  }
}

function osAt(atMs: number, { clock }: LifeTruth): number {
  return clock.wallMs + (atMs - clock.atMs) * clock.rate;
}

/** A held clock advances at half the speed of the monotonic clock, which may drift by 1 %. */
function highest({ highMs, highAtMs }: Seen, atMs: number, osMs: number): number {
  return Math.max(osMs, highMs + ((atMs - highAtMs) / 2) * 1.01);
}
