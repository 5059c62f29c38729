/**
 * Time by hand: a clock and timers that move only when a test says so.
 *
 * `advance` runs the timers that fall due, in order, each at its own moment, and lets every promise settle in between. A
 * turn of the real event loop is what drains the promises; no real time is waited for.
 */
import type { Clock, Timers } from "sluice";

interface Pending {
  readonly atMs: number;
  readonly callback: () => void;
}

/** The start of a minute, an hour and a day. */
const START_MS = 1_800_057_600_000;

/** Away from 0, so that a deadline is never mistaken for "none". */
const MONO_START_MS = 1_000_000;

export class ManualTime {
  #monoMs = MONO_START_MS;
  #wallMs = START_MS;
  #pending = new Map<number, Pending>();
  #handles = 0;

  readonly clock: Clock = { wallMs: () => this.#wallMs, monoMs: () => this.#monoMs };

  readonly timers: Timers = {
    set: (callback, delayMs) => {
      this.#pending.set(++this.#handles, { atMs: this.#monoMs + Math.max(0, delayMs), callback });
      return this.#handles;
    },
    clear: (handle) => {
      this.#pending.delete(handle as number);
    },
  };

  get wallMs(): number {
    return this.#wallMs;
  }

  get monoMs(): number {
    return this.#monoMs;
  }

  /** A wall clock that nobody jumps: what a server elsewhere goes by. */
  get trueMs(): number {
    return START_MS + this.#monoMs - MONO_START_MS;
  }

  /** Timers that are set and neither due nor cleared. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Sets the wall clock alone: somebody changed it. */
  jumpWall(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** Time passes, and no timer gets to run: a process that is busy or frozen. */
  pass(ms: number): void {
    this.#wallMs += ms;
    this.#monoMs += ms;
  }

  /** What has to be over before time goes on: the answers of real stores. Undefined: nothing. */
  readonly waits: (() => Promise<unknown> | undefined)[] = [];

  /** Lets every promise settle that needs no time. */
  async settle(): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      const answers = this.waits.map((wait) => wait()).filter((answer) => answer !== undefined);
      if (answers.length === 0) return;
      await Promise.all(answers);
    }
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#monoMs + ms;
    await this.settle();
    for (;;) {
      const due = this.#nextDue(endMs);
      if (due === undefined) break;
      const [handle, { atMs, callback }] = due;
      this.#pending.delete(handle);
      this.pass(Math.max(0, atMs - this.#monoMs));
      callback();
      await this.settle();
    }
    this.pass(endMs - this.#monoMs);
  }

  /** The same with no promise settling in between: a process that finds several timers due at once. */
  advanceAtOnce(ms: number): void {
    const endMs = this.#monoMs + ms;
    for (let due = this.#nextDue(endMs); due !== undefined; due = this.#nextDue(endMs)) {
      const [handle, { atMs, callback }] = due;
      this.#pending.delete(handle);
      this.pass(Math.max(0, atMs - this.#monoMs));
      callback();
    }
    this.pass(endMs - this.#monoMs);
  }

  /** Advances to the moment at which a window of this length begins. */
  async advanceToWindow(durationMs: number): Promise<void> {
    await this.advance(durationMs - (this.#wallMs % durationMs));
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
