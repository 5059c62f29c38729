/**
 * Settlements, releases and cancels on their way to the origin: sent at once, and sent again until they are answered.
 *
 * Invariant: an item is repeated for at most 9 minutes, less than the origin remembers an ended hold (10 to 20 minutes), so a repetition is never
 * taken for something new.
 *
 * Bounded: PENDING_MAX items wait. Beyond that the oldest is dropped, and counted as lost.
 */
import type { Clock, Timers } from "../core/clock.ts";
import { Alarm } from "../core/repeat.ts";
import type { FreedItem } from "./hold.ts";
import type { FreeItem, HoldClient } from "./hold-client.ts";

const FIRST_RETRY_MS = 300;
const RETRY_MAX_MS = 10_000;
const GIVE_UP_MS = 9 * 60_000;
const PENDING_MAX = 10_000;
/** Items of one command. */
const ITEMS_MAX = 64;

interface Pending {
  readonly item: FreeItem;
  readonly untilMs: number;
  retryMs: number;
  dueMs: number;
}

export class PendingFrees {
  /** Items that were dropped without an answer, and what their settlements would have counted. */
  lost = 0;
  lostCost = 0;
  readonly #client: HoldClient;
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  #waiting: Pending[] = [];
  /** Items that are under way again. */
  #sending = 0;

  constructor(client: HoldClient, clock: Clock, timers: Timers) {
    this.#client = client;
    this.#clock = clock;
    this.#alarm = new Alarm(timers);
  }

  get size(): number {
    return this.#waiting.length + this.#sending;
  }

  /** Sends these once, and goes on in the background with those that were not answered, which are null. */
  async send(items: readonly FreeItem[]): Promise<readonly (FreedItem | null)[]> {
    const answers = await this.#client.free(items);
    const freed = answers === "refused" ? items.map(() => null) : answers;
    const nowMs = this.#clock.monoMs();
    items.forEach((item, i) => {
      if (freed[i] !== null || item.verb === "renew") return;
      this.#waiting.push({ item, untilMs: nowMs + GIVE_UP_MS, retryMs: FIRST_RETRY_MS, dueMs: nowMs + FIRST_RETRY_MS });
    });
    for (const { item } of this.#waiting.splice(0, Math.max(0, this.#waiting.length - PENDING_MAX))) this.#lose(item);
    this.#arm();
    return freed;
  }

  /** Sends everything that waits once more. Answers what its settlements would have counted, if the origin does not answer. */
  async close(deadlineMs: number): Promise<number> {
    this.#alarm.clear();
    const endMs = this.#clock.monoMs() + deadlineMs;
    while (this.#waiting.length > 0 && this.#clock.monoMs() < endMs) {
      const before = this.#waiting.length;
      await this.#sendOnce(this.#waiting.splice(0, ITEMS_MAX));
      if (this.#waiting.length >= before) break;
    }
    for (const { item } of this.#waiting.splice(0)) this.#lose(item);
    return this.lostCost;
  }

  #arm(): void {
    if (this.#waiting.length === 0 || this.#sending > 0) return;
    const dueMs = this.#waiting.reduce((earliest, one) => Math.min(earliest, one.dueMs), Number.POSITIVE_INFINITY);
    this.#alarm.clear();
    this.#alarm.set(() => this.#sendDue(), Math.max(0, dueMs - this.#clock.monoMs()));
  }

  #sendDue(): void {
    const nowMs = this.#clock.monoMs();
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= nowMs).slice(0, ITEMS_MAX);
    if (due.length === 0) {
      this.#arm();
      return;
    }
    const taken = new Set(due);
    this.#waiting = this.#waiting.filter((one) => !taken.has(one));
    this.#sending = due.length;
    void this.#sendOnce(due).then(() => {
      this.#sending = 0;
      this.#arm();
    });
  }

  async #sendOnce(due: readonly Pending[]): Promise<void> {
    const answers = await this.#client.free(due.map(({ item }) => item)).catch(() => "refused" as const);
    const nowMs = this.#clock.monoMs();
    due.forEach((one, i) => {
      if (answers !== "refused" && answers[i] !== null) return;
      if (nowMs >= one.untilMs) {
        this.#lose(one.item);
        return;
      }
      one.retryMs = Math.min(RETRY_MAX_MS, 2 * one.retryMs);
      one.dueMs = nowMs + one.retryMs;
      this.#waiting.push(one);
    });
  }

  #lose({ verb, actual }: FreeItem): void {
    this.lost++;
    if (verb === "settle") this.lostCost += actual;
  }
}
