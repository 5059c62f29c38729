/** Time by hand: a clock and timers that move only by `advance`. For tests, of this library's users too (`sluice/testing`). */
import type { Clock, Timers } from "../core/clock.ts";
import { nextTurn } from "../core/turns.ts";
import { systemTimers } from "./system.ts";

/** 2027-01-15T00:00:00Z: the start of a minute, an hour and a day. */
const START_MS = 1_800_057_600_000;

interface Pending {
  readonly atMs: number;
  readonly callback: () => void;
}

export class ManualTime {
  readonly clock: Clock = { wallMs: () => this.#startMs + this.#passedMs, monoMs: () => this.#passedMs };
  readonly timers: Timers = {
    set: (callback, delayMs) => {
      this.#pending.set(++this.#handles, { atMs: this.#passedMs + Math.max(0, delayMs), callback });
      return this.#handles;
    },
    clear: (handle) => {
      this.#pending.delete(handle as number);
    },
  };
  readonly #startMs: number;
  readonly #pending = new Map<number, Pending>();
  #handles = 0;
  #passedMs = 0;

  constructor(startMs: number = START_MS) {
    this.#startMs = startMs;
  }

  /** Unix milliseconds. */
  get nowMs(): number {
    return this.clock.wallMs();
  }

  /** Lets this much time pass. Timers that fall due run in order, each at its own moment, and promises settle in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#passedMs + ms;
    await nextTurn(systemTimers);
    for (let due = this.#nextDue(endMs); due !== undefined; due = this.#nextDue(endMs)) {
      const [handle, { atMs, callback }] = due;
      this.#pending.delete(handle);
      this.#passedMs = Math.max(this.#passedMs, atMs);
      callback();
      await nextTurn(systemTimers);
    }
    this.#passedMs = endMs;
  }

  /** The earliest timer up to `endMs`; of two at one moment, the one that was set first. */
  #nextDue(endMs: number): [number, Pending] | undefined {
    let next: [number, Pending] | undefined;
    for (const entry of this.#pending) {
      if (entry[1].atMs <= endMs && (next === undefined || entry[1].atMs < next[1].atMs)) next = entry;
    }
    return next;
  }
}
