/**
 * The queue before the admin store: what clients ask of it waits here, and one piece of work runs at a time.
 *
 * Invariant: a client makes this process hold at most WAITING_MAX pieces of work, and WAITING_OF_ONE_MAX per workspace; what is beyond is
 * refused at once. Workspaces take turns, so one that fills its share delays another by one piece of work, not by its whole queue.
 *
 * Work without a workspace comes from the operator (commands, the start of a server) and is never refused. The queue knows nothing of SQL:
 * sql-link.ts runs the work, and the reads of the directory do not pass through here.
 */
import type { Environment } from "../system/system.ts";
import { TooManyChanges } from "./admin-store.ts";

/** A change takes 1 to 5 ms, so the last of them waits for some seconds at most. */
const WAITING_MAX = 1_000;
const WAITING_OF_ONE_MAX = 100;
/** A store that fails slowly must not make the last of the queue wait for the sum of all timeouts. */
const WAIT_MAX_MS = 5_000;
/** What took longer than this waited for the lock of another process, most likely, and did not block this one. */
const PAUSE_MAX_MS = 100;
/** The operator's lane: no workspace has an empty id. */
const OPERATOR = "";

export interface ChangeQueueOptions {
  /**
   * The store's statements block this process: after each piece of work the others get as much time as it took, and another process that
   * waits for the lock of the file gets its chance.
   */
  readonly isBlocking: boolean;
}

export class ChangeQueue {
  readonly #environment: Environment;
  readonly #isBlocking: boolean;
  /** By workspace, in the order of their turns. A lane that is empty is deleted. */
  readonly #lanes = new Map<string, (() => void)[]>();
  #waiting = 0;
  #isBusy = false;

  constructor(environment: Environment, { isBlocking }: ChangeQueueOptions) {
    this.#environment = environment;
    this.#isBlocking = isBlocking;
  }

  /** @param workspaceId null: the operator. Rejects with TooManyChanges, before the work has begun, or with what the work rejects with. */
  async run<T>(workspaceId: string | null, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#environment;
    const askedMs = clock.monoMs();
    if (this.#isBusy) await this.#turn(workspaceId ?? OPERATOR);
    this.#isBusy = true;
    const beganMs = clock.monoMs();
    try {
      if (workspaceId !== null && beganMs - askedMs > WAIT_MAX_MS) {
        throw new TooManyChanges(`it waited more than ${WAIT_MAX_MS / 1_000} s for earlier changes`);
      }
      return await work();
    } finally {
      this.#passOn(clock.monoMs() - beganMs);
    }
  }

  #turn(lane: string): Promise<void> {
    const others = this.#lanes.get(lane) ?? [];
    if (lane !== OPERATOR) {
      if (others.length >= WAITING_OF_ONE_MAX) {
        throw new TooManyChanges(`${WAITING_OF_ONE_MAX} changes of this workspace are waiting, which is the maximum`);
      }
      if (this.#waiting >= WAITING_MAX)
        throw new TooManyChanges(`${WAITING_MAX} changes are waiting, which is the maximum`);
    }
    this.#waiting++;
    return new Promise((begin) => {
      others.push(begin);
      this.#lanes.set(lane, others);
    });
  }

  /** On a store that blocks it stays busy for the pause, even if nothing waits yet: requests that arrive together would run in one go. */
  #passOn(tookMs: number): void {
    if (this.#isBlocking) this.#environment.timers.set(() => this.#beginNext(), Math.min(tookMs, PAUSE_MAX_MS), true);
    else this.#beginNext();
  }

  /** The first of the first lane; that lane goes to the end. */
  #beginNext(): void {
    const first = this.#lanes.entries().next().value;
    if (first === undefined) {
      this.#isBusy = false;
      return;
    }
    const [lane, others] = first;
    this.#lanes.delete(lane);
    const begin = others.shift()!;
    if (others.length > 0) this.#lanes.set(lane, others);
    this.#waiting--;
    begin();
  }
}
