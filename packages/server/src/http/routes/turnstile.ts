/**
 * Lets expensive reads through one after the other, so that other requests are answered in between.
 *
 * Workspaces take turns: one with many reads delays another workspace by one read, not by all of them.
 *
 * Bounded: a workspace can have a few of them waiting, all workspaces together some more, and the rest are refused. It does not make a read
 * cheap: one that runs long in one piece still holds everybody up for as long.
 */
import { setImmediate as turn } from "node:timers/promises";
import { Problem } from "../../contract/problem.ts";

/** The one that runs included. */
const WORKSPACE_MAX = 8;
const ALL_MAX = 64;
const RETRY_AFTER_S = 1;

export class Turnstile {
  /** By workspace, in the order of their turns: what begins each read that waits. A workspace without one is not in here. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** By workspace: how many run or wait. */
  readonly #present = new Map<string, number>();
  #all = 0;

  /** @throws Problem (rejects with it) if too many wait. */
  async run<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    const present = this.#present.get(workspaceId) ?? 0;
    if (present >= WORKSPACE_MAX || this.#all >= ALL_MAX) {
      const detail = "Too many requests of this kind are waiting. Try again.";
      throw new Problem("unavailable", detail, { retryAfterS: RETRY_AFTER_S });
    }
    this.#count(workspaceId, 1);
    if (this.#all > 1) await this.#turn(workspaceId);
    try {
      return await work();
    } finally {
      // Even after a failure, the next one begins only when the requests that have arrived by then were handled.
      void turn().then(() => {
        this.#count(workspaceId, -1);
        this.#beginNext();
      });
    }
  }

  #turn(workspaceId: string): Promise<void> {
    const others = this.#waiting.get(workspaceId) ?? [];
    this.#waiting.set(workspaceId, others);
    return new Promise((begin) => {
      others.push(begin);
    });
  }

  /** The first of the first workspace; that workspace goes to the end. */
  #beginNext(): void {
    const first = this.#waiting.entries().next().value;
    if (first === undefined) return;
    const [workspaceId, others] = first;
    this.#waiting.delete(workspaceId);
    const begin = others.shift()!;
    if (others.length > 0) this.#waiting.set(workspaceId, others);
    begin();
  }

  #count(workspaceId: string, change: number): void {
    const left = (this.#present.get(workspaceId) ?? 0) + change;
    if (left === 0) this.#present.delete(workspaceId);
    else this.#present.set(workspaceId, left);
    this.#all += change;
  }
}
