/**
 * Keys whose last call to the origin failed. For a short time no request waits for the same failure again: memory decides it.
 *
 * Bounded in number and in bytes: the oldest are forgotten first, and are then called again a little too early.
 */
import { textBytes } from "../engine/name-budget.ts";

const RETRY_AFTER_MS = 300;
const FAILURES_MAX = 10_000;
const FAILURES_MAX_BYTES = 8 * 2 ** 20;
/** A failure beside the text of its key. */
const FAILURE_BYTES = 100;

export class RecentFailures {
  /** When the last call of a key failed, oldest first. Monotonic clock. */
  readonly #failedAtMs = new Map<string, number>();
  bytes = 0;

  get isEmpty(): boolean {
    return this.#failedAtMs.size === 0;
  }

  /** `text`: the encoded key. */
  keep(text: string, nowMs: number): void {
    this.forget(text);
    this.#failedAtMs.set(text, nowMs);
    this.bytes += failureBytes(text);
    for (const [oldest, failedAtMs] of this.#failedAtMs) {
      const isOver = this.#failedAtMs.size > FAILURES_MAX || this.bytes > FAILURES_MAX_BYTES;
      if (!isOver && nowMs - failedAtMs < RETRY_AFTER_MS) return;
      this.forget(oldest);
    }
  }

  forget(text: string): void {
    if (this.#failedAtMs.delete(text)) this.bytes -= failureBytes(text);
  }

  has(text: string, nowMs: number): boolean {
    const failedAtMs = this.#failedAtMs.get(text);
    return failedAtMs !== undefined && nowMs - failedAtMs < RETRY_AFTER_MS;
  }
}

function failureBytes(text: string): number {
  return FAILURE_BYTES + textBytes(text);
}
