/**
 * The heartbeat: how a process notices that its origin restarted, was flushed, or went back to an older state.
 *
 * One cell of its own with two components, raised in turn, a little higher each time. The answer to a raise shows the sum
 * of both: if the one that was confirmed the time before is missing or lower, so may be everything else. A third, the anchor,
 * is raised once and expected ever after: no later message carries it, so a repeated beat that arrives after a loss cannot
 * make the sum look whole. Entries in a raise that is sent anyway, and no read.
 */
import type { OriginCount, Raise } from "./origin.ts";

/** The anchor is a multiple of this, raised after every loss; beats stay below it for a year and a half of flushes. */
const ANCHOR_UNIT = 2 ** 30;

/** The cell outlives pauses of this length; after a longer one, everything is replayed once for nothing. */
const LIFE_MS = 600_000;

export class Heartbeat {
  readonly #incarnation: string;
  #beats = 0;
  /** The component that was confirmed last. */
  #confirmed: { readonly writer: string; readonly total: number } = { writer: "a", total: 0 };

  /** The number of the anchor, and whether the origin has confirmed it. */
  #anchor = 1;
  #isAnchored = false;

  constructor(incarnation: string) {
    this.#incarnation = incarnation;
  }

  /** The next beat: of the component that was not confirmed last. Its key cannot be one of a limit: those begin with a digit. */
  next(wallMs: number): Raise {
    this.#beats++;
    return this.#raise(this.#confirmed.writer === "a" ? "b" : "a", this.#beats, wallMs);
  }

  /** The anchor, to be sent before the beat of the same call until one was answered. */
  anchor(wallMs: number): Raise[] {
    return this.#isAnchored ? [] : [this.#raise("anchor", this.#anchor * ANCHOR_UNIT, wallMs)];
  }

  #raise(writer: string, total: number, wallMs: number): Raise {
    const expiresAtMs = Math.floor(wallMs) + LIFE_MS;
    return { key: `heartbeat:${this.#incarnation}`, sequence: 0, writer, total, expiresAtMs };
  }

  /** Whether the answer to a beat (sent behind what `anchor` gave) shows that the origin has lost something it had confirmed. */
  hasLost({ writer, total }: Raise, answer: OriginCount): boolean {
    const isLost = answer.sum < total + this.#confirmed.total + this.#anchor * ANCHOR_UNIT;
    this.#confirmed = { writer, total };
    this.#isAnchored = !isLost;
    if (isLost) this.#anchor++;
    return isLost;
  }
}
