/**
 * The wall clock as the engine uses it: whole milliseconds that do not go back.
 *
 * A backward jump of up to 5 s holds the clock until real time has caught up, so a sequence is not entered twice. A larger
 * one is followed (somebody set the clock), counted, and told to the layers: all they know may be of another time.
 */
import { CLOCK_HOLD_MAX_MS, WALL_MAX_MS } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";

export class HeldClock {
  /** Times the clock was followed backwards. */
  followed = 0;
  /** Separate backward jumps that were held. */
  held = 0;
  /** Called when the clock is followed backwards, before the new time is given out. */
  onFollow: (backMs: number) => void = () => {};
  /** What `read` found last. A field, because a number that a call returns is boxed wherever the call is not inlined. */
  lastMs = 0;
  readonly #clock: Clock;
  #isHolding = false;
  /** The wall time at which the monotonic clock was last read, and what it said. */
  #monoAtMs = -1;
  #monoMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The monotonic clock, read anew only when the wall clock has moved: both are exact to a millisecond, and a reading costs
   * as much as half a decision.
   */
  monoMs(): number {
    if (this.lastMs !== this.#monoAtMs || this.#isHolding) {
      this.#monoAtMs = this.lastMs;
      this.#monoMs = this.#clock.monoMs();
    }
    return this.#monoMs;
  }

  nowMs(): number {
    this.read();
    return this.lastMs;
  }

  /** Reads the wall clock into `lastMs`. */
  read(): void {
    const given = this.#clock.wallMs();
    if (typeof given !== "number" || !(given >= 0 && given <= WALL_MAX_MS)) {
      throw new SluiceError("RL_CLOCK_INVALID", "clock", given);
    }
    const wallMs = Math.floor(given);
    if (wallMs < this.lastMs) {
      this.#back(wallMs);
      return;
    }
    this.lastMs = wallMs;
    this.#isHolding = false;
  }

  #back(wallMs: number): void {
    if (this.lastMs - wallMs > CLOCK_HOLD_MAX_MS) {
      this.followed++;
      this.onFollow(this.lastMs - wallMs);
      this.#isHolding = false;
      this.lastMs = wallMs;
    } else if (!this.#isHolding) {
      this.#isHolding = true;
      this.held++;
    }
  }
}
