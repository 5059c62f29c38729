/** The two clocks of one life of a process: skewed, drifting and jumping as faults.ts says. Both run at one rate. */
import type { Clock } from "sluice";
import type { EventQueue } from "./event-queue.ts";

export class SimClock implements Clock {
  /** Called after it was set, or its rate changed. */
  onChange: () => void = () => {};
  readonly #queue: EventQueue;
  /** Process milliseconds per world millisecond. */
  #rate = 1;
  #sinceMs: number;
  #wallMs: number;
  #monoMs: number;
  #latestMs: number;

  constructor(queue: EventQueue, monoMs: number) {
    this.#queue = queue;
    this.#sinceMs = queue.nowMs;
    this.#wallMs = queue.nowMs;
    this.#monoMs = monoMs;
    this.#latestMs = queue.nowMs;
  }

  get rate(): number {
    return this.#rate;
  }

  /** Whether it shows the world's time, at the world's rate. */
  get isRight(): boolean {
    return this.#rate === 1 && this.wallMs() === this.#queue.nowMs;
  }

  /** The latest wall time that it has ever shown. */
  get latestMs(): number {
    return Math.max(this.#latestMs, this.wallMs());
  }

  wallMs(): number {
    return this.#wallMs + (this.#queue.nowMs - this.#sinceMs) * this.#rate;
  }

  monoMs(): number {
    return this.#monoMs + (this.#queue.nowMs - this.#sinceMs) * this.#rate;
  }

  /** How much world time passes while this clock's shows `ms`. */
  worldMs(ms: number): number {
    return ms / this.#rate;
  }

  drift(rate: number): void {
    this.#rebase();
    this.#rate = rate;
    this.onChange();
  }

  jump(byMs: number): void {
    this.#latestMs = this.latestMs;
    this.#wallMs += byMs;
    this.onChange();
  }

  /** What an administrator does: the right time, the right rate. */
  correct(): void {
    this.#latestMs = this.latestMs;
    this.#rebase();
    this.#rate = 1;
    this.#wallMs = this.#queue.nowMs;
    this.onChange();
  }

  #rebase(): void {
    this.#wallMs = this.wallMs();
    this.#monoMs = this.monoMs();
    this.#sinceMs = this.#queue.nowMs;
  }
}
