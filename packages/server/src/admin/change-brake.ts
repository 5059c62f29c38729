/**
 * How fast a workspace may make changes, or new namespaces: a bucket of tokens for each workspace, which fills up again with time.
 *
 * Every server holds all namespaces in memory, and each change costs a transaction with a flush of the disk and a row of the audit trail, so
 * a client must not make them as fast as it can send requests. A full bucket is forgotten: only workspaces that made changes within the last
 * seconds take memory.
 */
import type { Clock } from "sluice";
import { TooManyChanges } from "./admin-store.ts";

export interface BrakeOptions {
  /** Infinity: no brake. */
  readonly perSecond: number;
  /** How many at once. */
  readonly burst: number;
  /** What is slowed down, for the message. */
  readonly what: string;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class ChangeBrake {
  readonly #options: BrakeOptions;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: BrakeOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** @throws TooManyChanges */
  take(workspaceId: string): void {
    const { perSecond, burst, what } = this.#options;
    if (perSecond === Number.POSITIVE_INFINITY) return;
    const nowMs = this.#clock.monoMs();
    this.#forgetFull(nowMs);
    const bucket = this.#buckets.get(workspaceId) ?? { tokens: burst, atMs: nowMs };
    const tokens = this.#tokensOf(bucket, nowMs);
    if (tokens < 1) {
      throw new TooManyChanges(`the workspace makes more than ${perSecond} ${what} per second`);
    }
    // Deleted first: the map stays in the order of the last use.
    this.#buckets.delete(workspaceId);
    this.#buckets.set(workspaceId, { tokens: tokens - 1, atMs: nowMs });
  }

  #tokensOf({ tokens, atMs }: Bucket, nowMs: number): number {
    const { perSecond, burst } = this.#options;
    return Math.min(burst, tokens + ((nowMs - atMs) / 1_000) * perSecond);
  }

  #forgetFull(nowMs: number): void {
    for (const [workspaceId, bucket] of this.#buckets) {
      if (this.#tokensOf(bucket, nowMs) < this.#options.burst) return;
      this.#buckets.delete(workspaceId);
    }
  }
}
