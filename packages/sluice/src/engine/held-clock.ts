/**
 * The wall clock as the engine uses it: whole milliseconds that do not go back.
 *
 * A backward jump of up to 5 s holds the clock, so that no window is entered twice: the clock advances at half the speed of
 * the monotonic clock until the wall clock has caught up, after twice the size of the jump. A clock that stood still instead
 * would make a full window of 1 s last for seconds. A larger jump is followed (somebody set the clock), counted, and reported
 * to the layers: what they know may belong to another time.
 */
import { CLOCK_HOLD_MAX_MS, WALL_MAX_MS } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";

export class HeldClock {
  /** Times the clock was followed backwards. */
  followed = 0;
  /** Times the clock was held. A further jump while it is held does not count. */
  held = 0;
  /** Called when the clock is followed backwards, before the new time is used. */
  onFollow: (backMs: number) => void = () => {};
  /** What `read` found last. A field, because a number that a call returns is boxed wherever the call is not inlined. */
  lastMs = 0;
  readonly #clock: Clock;
  #isHolding = false;
  /** The held time and both clocks when the hold began, or when the wall clock last went back during it. */
  #fromMs = 0;
  #fromWallMs = 0;
  #fromMonoMs = 0;
  /** The wall clock at the last reading of the hold. */
  #wallMs = 0;
  /** The wall time at which the monotonic clock was last read, and what it said. */
  #monoAtMs = -1;
  #monoMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The monotonic clock, read again only when the wall clock has moved: both are exact to a millisecond, and a reading costs
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

  /** Reads the wall clock into `lastMs`. The monotonic clock is read only while the clock is held. */
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
    if (this.#isHolding) this.#release();
  }

  #back(wallMs: number): void {
    if (this.lastMs - wallMs > CLOCK_HOLD_MAX_MS) {
      this.followed++;
      this.onFollow(this.lastMs - wallMs);
      this.lastMs = wallMs;
      this.#release();
    } else if (!this.#isHolding) {
      this.#isHolding = true;
      this.held++;
      this.#anchor(wallMs, this.#clock.monoMs());
    } else {
      this.#advance(wallMs, this.#clock.monoMs());
    }
  }

  /** Half of what both clocks agree has passed. The wall clock must agree too: an invalid monotonic clock cannot carry the time away. */
  #advance(wallMs: number, monoMs: number): void {
    if (wallMs < this.#wallMs) {
      this.#anchor(wallMs, monoMs);
      return;
    }
    this.#wallMs = wallMs;
    const passedMs = Math.min(monoMs - this.#fromMonoMs, wallMs - this.#fromWallMs);
    const heldMs = this.#fromMs + Math.floor(passedMs / 2);
    // False for NaN: without a usable monotonic clock the time stands still.
    if (heldMs > this.lastMs) this.lastMs = Math.min(heldMs, WALL_MAX_MS);
  }

  #anchor(wallMs: number, monoMs: number): void {
    this.#fromMs = this.lastMs;
    this.#fromWallMs = wallMs;
    this.#fromMonoMs = monoMs;
    this.#wallMs = wallMs;
  }

  /** A reading of the monotonic clock for the same wall time may be from before the hold. */
  #release(): void {
    this.#isHolding = false;
    this.#monoAtMs = -1;
  }
}
