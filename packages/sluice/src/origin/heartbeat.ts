/**
 * The heartbeat: how a process notices that its origin restarted, was flushed, or went back to an older state.
 *
 * One cell of its own with several components, raised in turn, each time higher than all before. A raise lifts the cell's sum by
 * exactly what its component rises: an answer that shows less has lost something, and so may everything else have.
 *
 * A beat that the network repeats after a loss brings its own component back, and what was sent with it. To hide a loss, all
 * of the last `COMPONENTS - 1` beats would have to be repeated after it and before the next. After every loss the cell is a
 * new one: a state from before that loss may hold more of the old one than is known to be left. An entry in a raise that is
 * sent anyway, and no read.
 *
 * The heartbeat expires after every cell that it was sent with: a store that evicts the keys which expire first (`volatile-ttl` of Redis)
 * evicts those cells before it. Otherwise an eviction would look like a loss of everything.
 */
import type { OriginCount, Raise } from "./origin.ts";

/**
 * Fifteen beats are three quarters of a second of regular flushes, and a third of a second where keys of short windows go ahead of
 * them: longer than repeated messages are under way together.
 */
const COMPONENTS = 16;

/**
 * The cell outlives pauses of this length, and the cells that it was sent with by as much; after a longer pause, everything is replayed
 * once for nothing.
 */
const LIFE_MS = 600_000;

export class Heartbeat {
  readonly #incarnation: string;
  #beats = 0;
  #losses = 0;
  /** The component that is raised next: the same one until it is confirmed. */
  #turn = 0;
  /** What each component was confirmed to hold, and the cell's sum as last answered. */
  readonly #confirmed: number[] = Array<number>(COMPONENTS).fill(0);
  #sum = 0;
  /** The latest expiry among the cells of all beats so far. Unix milliseconds. */
  #coveredUntilMs = 0;

  constructor(incarnation: string) {
    this.#incarnation = incarnation;
  }

  /** The next beat, sent together with these cells. Its key cannot be one of a limit: those begin with a digit. */
  next(wallMs: number, covered: readonly Raise[]): Raise {
    this.#beats++;
    for (const { expiresAtMs } of covered) this.#coveredUntilMs = Math.max(this.#coveredUntilMs, expiresAtMs);
    return {
      key: `heartbeat:${this.#incarnation}.${this.#losses}`,
      sequence: 0,
      writer: String(this.#turn),
      total: this.#beats,
      expiresAtMs: Math.ceil(Math.max(wallMs, this.#coveredUntilMs)) + LIFE_MS,
    };
  }

  /** Whether the answer to a beat shows that the origin has lost something it had confirmed. */
  hasLost({ total }: Raise, answer: OriginCount): boolean {
    const isLost = answer.sum < this.#sum + total - this.#confirmed[this.#turn]!;
    this.#sum = answer.sum;
    this.#confirmed[this.#turn] = total;
    this.#turn = (this.#turn + 1) % COMPONENTS;
    if (isLost) this.#beginAnew();
    return isLost;
  }

  /** Nothing is confirmed from here on: what has been accepted is all sent again, behind the beats of the new cell. */
  #beginAnew(): void {
    // Stryker disable next-line UpdateOperator: any number that was not used before names a new cell
    this.#losses++;
    this.#confirmed.fill(0);
    this.#sum = 0;
  }
}
