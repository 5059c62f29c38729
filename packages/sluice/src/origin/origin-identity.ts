/**
 * Which origin this is: a number that all processes of an origin agree on, and no other origin has.
 *
 * Kept as a component of a cell of the origin's own, so it needs nothing of the port: the first process draws it, and where two
 * draw at once the larger stays. A process that knows it raises it again, so it outlives an origin that was emptied.
 */
import { DURATION_MAX_MS, WALL_MAX_MS } from "../core/bounds.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { OriginCalls } from "./origin-calls.ts";

/** No key of a limit: those begin with a digit. */
const CELL = { key: "identity", sequence: 0, writer: "id" } as const;
/** Longer than any cell lives: a region that was stopped for weeks and then renamed must still be known by its origin. */
const LIFE_MS = 2 * DURATION_MAX_MS + 86_400_000;
const DEADLINE_MS = 1_000;
const RANDOM_BITS = 10;

export class OriginIdentity {
  readonly #calls: OriginCalls;
  readonly #clock: Clock;
  readonly #random: Random;
  #id = 0;
  /** Whether the origin held no identity when this process first asked: a new origin, or one that lost everything. */
  wasEmpty = false;

  constructor(calls: OriginCalls, clock: Clock, random: Random) {
    this.#calls = calls;
    this.#clock = clock;
    this.#random = random;
  }

  /** Null if the origin cannot be asked. */
  async readOnce(): Promise<string | null> {
    if (this.#id === 0) {
      const found = await this.#calls.read([CELL], DEADLINE_MS);
      if (found?.[0] === undefined || found[0] === null) return null;
      const drawn = this.#draw();
      this.wasEmpty = found[0].component === 0;
      this.#id = this.wasEmpty ? drawn : found[0].component;
    }
    const expiresAtMs = Math.floor(this.#clock.wallMs()) + LIFE_MS;
    const answers = await this.#calls.raise([{ ...CELL, total: this.#id, expiresAtMs }], DEADLINE_MS);
    if (answers?.[0] === undefined || answers[0] === null) return null;
    this.#id = Math.max(this.#id, answers[0].component);
    return String(this.#id);
  }

  /**
   * The larger of two stays, so a number that falls with time lets the first process to draw win, even if the message of a later one is
   * delayed. Up to 52 bits, so that it is exact everywhere; never 0. The lowest 10 are random: two origins whose first processes
   * draw in the same millisecond are taken for one in one case of 1,024, and only the larger of their counts is seen.
   */
  #draw(): number {
    const leftMs = Math.max(0, WALL_MAX_MS - Math.floor(this.#clock.wallMs()));
    return leftMs * 2 ** RANDOM_BITS + (this.#random.uint32() >>> (32 - RANDOM_BITS)) + 1;
  }
}
