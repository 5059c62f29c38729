/**
 * Virtual time: what happens next, in order of time and, at the same time, in order of insertion.
 *
 * Invariant: time never goes back, and the order depends on nothing but what was put in. Real promises of the code under
 * test are run to their end after every event that touched it (`touched`), before the next event.
 *
 * A binary heap of small objects. It knows nothing of processes or faults.
 */
import { assert } from "../model/internals.ts";
import { microtasksDone } from "./microtasks.ts";

/** Events between two breaths: some milliseconds of real time. */
const BREATHE_EVERY = 512;

interface Scheduled {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class EventQueue {
  /** World time, milliseconds since the Unix epoch: what a perfect clock would show. */
  nowMs: number;
  /** Events run so far. */
  count = 0;
  /** Awaited now and then, so that whoever runs the world can let the real event loop turn. Changes nothing in the world. */
  breathe: (() => Promise<void>) | undefined;
  readonly #heap: Scheduled[] = [];
  #inserted = 0;
  #isTouched = false;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Runs `run` at `atMs`, or now if that is past. */
  at(atMs: number, run: () => void): void {
    assert(!Number.isNaN(atMs), "an event at no time");
    const event = { atMs: Math.max(atMs, this.nowMs), order: this.#inserted++, run };
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = event;
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.nowMs + delayMs, run);
  }

  /** Code under test ran: its promises may have something to do. */
  touched(): void {
    this.#isTouched = true;
  }

  /** Runs everything up to `untilMs`, and leaves the time there; ends early when `isOver`. */
  async runUntil(untilMs: number, isOver: () => boolean): Promise<void> {
    await microtasksDone();
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#takeFirst();
      this.nowMs = next.atMs;
      this.count++;
      next.run();
      if (this.#isTouched) {
        this.#isTouched = false;
        await microtasksDone();
      }
      if (this.breathe !== undefined && this.count % BREATHE_EVERY === 0) await this.breathe();
      if (isOver()) return;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  #takeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= heap.length) break;
      const child = left + 1 < heap.length && isBefore(heap[left + 1]!, heap[left]!) ? left + 1 : left;
      if (!isBefore(heap[child]!, last)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
