/**
 * Renewal: finds the busy keys of short windows whose freshness would end before the next flush can renew it.
 *
 * Freshness is a twentieth of the window, at least 50 ms. Where that is not clearly longer than a flush interval, the answer to
 * the next flush comes too late, and requests wait for the origin. A key that has accepted cost since it was last sent therefore
 * goes ahead of the flush, when half of its freshness is over: that leaves time for a round trip of a third of it and for late
 * timers. A key that is no longer fresh is left to the read that its next request makes. Renewals get half of the command budget
 * at most, so that they do not hold up the flush of the other keys.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { Alarm } from "../core/repeat.ts";
import type { Engine } from "../engine/engine.ts";
import { windowStartMs } from "../engine/sequence.ts";
import { CommandBudget } from "./command-budget.ts";
import { ANSWER_PART, durationOfMs, freshnessMs } from "./freshness.ts";
import type { Replay } from "./replay.ts";

/** A key is sent when this part of its freshness is left. */
const RENEW_PART = 0.5;
/** Keys that are due within this time go together. */
const GATHER_MS = 10;
/** Keys that can wait for their renewal at a time: looking at them takes less than a millisecond. */
const SLOTS_MAX = 4_096;
/** Half of the commands, and two for each key: its current and its previous cell. */
const KEYS_PER_COMMAND = 1 / 4;

export interface RenewalOptions {
  readonly flushMs: number;
  readonly commandsPerSecond: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Sends `replay.hurried`. */
  readonly flushAhead: () => void;
}

export class Renewal {
  readonly #engine: Engine;
  readonly #replay: Replay;
  readonly #options: RenewalOptions;
  readonly #budget: CommandBudget;
  /** Keys of shorter windows cannot rely on the regular flush. */
  readonly #belowMs: number;
  /** Keys of short windows that have accepted cost since they were last sent. */
  readonly #slots = new Set<Slot>();
  /** When the regular flush comes; infinite: the layer does not run. Monotonic clock, as all times here. */
  #nextFlushMs = Number.POSITIVE_INFINITY;
  readonly #alarm: Alarm;
  /** When the alarm rings, if it is set. */
  #armedMs = 0;

  constructor(engine: Engine, replay: Replay, options: RenewalOptions) {
    this.#engine = engine;
    this.#replay = replay;
    this.#options = options;
    const { commandsPerSecond, flushMs, clock, timers } = options;
    this.#alarm = new Alarm(timers);
    this.#budget = new CommandBudget(commandsPerSecond * KEYS_PER_COMMAND, flushMs, clock.monoMs());
    // A flush that begins a flush interval after the last one, with less than ANSWER_PART of the freshness left, is too late.
    this.#belowMs = durationOfMs(flushMs / (1 - ANSWER_PART));
  }

  /** Cost was added to the slot. Called for every accepted request. */
  accepted(slot: Slot, durationMs: DurationMs): void {
    if (durationMs >= this.#belowMs || this.#slots.has(slot)) return;
    if (this.#nextFlushMs === Number.POSITIVE_INFINITY || this.#slots.size >= SLOTS_MAX) return;
    this.#slots.add(slot);
    // A flush that is under way may carry it: look when the answer is there.
    if (this.#replay.isFlushing) return;
    const monoMs = this.#engine.clock.monoMs();
    this.#arm(this.#dueMs(slot, monoMs), monoMs);
  }

  /** The next regular flush comes in `inMs`. */
  expectFlush(inMs: number): void {
    this.#nextFlushMs = Number.POSITIVE_INFINITY;
    withClock(() => {
      this.#nextFlushMs = this.#options.clock.monoMs() + inMs;
    });
  }

  /** The regular flush begins: it carries all of them. */
  clear(): void {
    this.#slots.clear();
    this.#alarm.clear();
  }

  stop(): void {
    this.clear();
    this.#nextFlushMs = Number.POSITIVE_INFINITY;
  }

  /** Sends the keys that are due, and arms the timer for the next. Called when the timer fires and when a flush has ended. */
  look(): void {
    this.#alarm.clear();
    if (this.#slots.size > 0 && !this.#replay.isFlushing) withClock(() => this.#look());
  }

  #look(): void {
    const monoMs = this.#options.clock.monoMs();
    const keysMax = this.#budget.cellsOfFlush(monoMs);
    let keys = 0;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const slot of this.#slots) {
      const dueMs = this.#dueMs(slot, monoMs);
      if (dueMs > monoMs + GATHER_MS) {
        nextMs = Math.min(nextMs, dueMs);
        continue;
      }
      this.#slots.delete(slot);
      if (dueMs === Number.NEGATIVE_INFINITY || keys >= keysMax) continue;
      this.#replay.hurried.add(slot);
      keys++;
    }
    this.#budget.spend(keys);
    if (keys > 0) this.#options.flushAhead();
    else this.#arm(nextMs, monoMs);
  }

  /** When the slot is to be sent: never (infinite) if the regular flush is in time, minus infinity if it is too late. */
  #dueMs(slot: Slot, monoMs: number): number {
    const { table, clock } = this.#engine;
    if (table.isFree(slot) || monoMs < table.strictUntilMs(slot)) return Number.NEGATIVE_INFINITY;
    const durationMs = table.durationMs(slot);
    const freshMs = freshnessMs(durationMs);
    const sequence = table.sequence(slot);
    // A window younger than its freshness needs no answer about itself (regional-layer.ts).
    const youngUntilMs = clock.monoMs() + windowStartMs(sequence, durationMs) + freshMs - clock.lastMs;
    const currentUntilMs = Math.max(youngUntilMs, table.freshUntilMs(slot, sequence));
    const untilMs = Math.min(currentUntilMs, table.freshUntilMs(slot, (sequence - 1) as Sequence));
    if (untilMs <= monoMs) return Number.NEGATIVE_INFINITY;
    if (untilMs >= this.#nextFlushMs + ANSWER_PART * freshMs) return Number.POSITIVE_INFINITY;
    return untilMs - RENEW_PART * freshMs;
  }

  #arm(atMs: number, monoMs: number): void {
    if (!Number.isFinite(atMs) || (this.#alarm.isSet && atMs >= this.#armedMs)) return;
    this.#alarm.clear();
    this.#armedMs = atMs;
    this.#alarm.set(() => this.look(), Math.max(0, atMs - monoMs));
  }
}

/** Nobody waits for a timer: an error of the clock is dropped here, and the next decision's caller receives it. */
function withClock(run: () => void): void {
  try {
    run();
  } catch {
    // Keys are not renewed: their requests read the origin.
  }
}
