/**
 * The reference model: an obviously correct, slow limiter of one process, to compare the engine with.
 *
 * A `Map` of every key's cells, arithmetic in BigInt, the reset found by searching. It shares no code with the engine, only
 * the types of its answers. It has no bound: what the engine's table evicts, the test tells it with `forget`.
 */
import type { BatchDecision, Decision } from "sluice";

export interface ModelRequest {
  readonly workspace: string;
  readonly namespace: string;
  readonly identifier: string;
  readonly durationMs: number;
  readonly limit: number;
  readonly cost: number;
}

type Cells = Map<number, bigint>;

const HOLD_MAX_MS = 5_000;

export class ReferenceModel {
  readonly #keys = new Map<string, Cells>();
  #nowMs = 0;
  #wallMs = 0;
  /** The time and both clocks since which the clock is held; null: it is not. */
  #hold: { readonly nowMs: number; readonly wallMs: number; readonly monoMs: number } | null = null;

  decide(request: ModelRequest, wallMs: number, monoMs: number): Decision {
    this.observe(wallMs, monoMs);
    const answer = this.#answer(request, 0n);
    if (answer.success) this.#count(request);
    return answer;
  }

  decideMany(requests: readonly ModelRequest[], wallMs: number, monoMs: number): BatchDecision {
    this.observe(wallMs, monoMs);
    const spent = new Map<string, bigint>();
    const answers = requests.map((request) => {
      const earlier = spent.get(keyOf(request)) ?? 0n;
      const answer = this.#answer(request, earlier);
      if (answer.success) spent.set(keyOf(request), earlier + BigInt(request.cost));
      return answer;
    });
    if (answers.every(({ success }) => success)) {
      for (const request of requests) this.#count(request);
      return { success: true, decisions: answers };
    }
    const decisions = answers.map((answer, i) => (answer.success ? this.#unspent(requests[i]!) : answer));
    return { success: false, decisions };
  }

  /** What the cell table evicted is not remembered. */
  forget(request: Omit<ModelRequest, "limit" | "cost">): void {
    this.#keys.delete(keyOf(request));
  }

  /** The count of the sliding window for a cost of 0. */
  effective(request: Omit<ModelRequest, "limit" | "cost">): number {
    return Number(this.#effectiveAt(this.#cells(request), request.durationMs, this.#nowMs));
  }

  /**
   * Reads the clock. Small backward jumps hold it: it advances by half of what passes on both clocks, counted from the last
   * jump. Larger ones are followed.
   */
  observe(wallMs: number, monoMs: number): void {
    const hasJumped = wallMs < this.#wallMs;
    this.#wallMs = wallMs;
    if (wallMs >= this.#nowMs || this.#nowMs - wallMs > HOLD_MAX_MS) {
      this.#nowMs = wallMs;
      this.#hold = null;
      return;
    }
    if (this.#hold === null || hasJumped) this.#hold = { nowMs: this.#nowMs, wallMs, monoMs };
    const passedMs = Math.min(wallMs - this.#hold.wallMs, monoMs - this.#hold.monoMs);
    this.#nowMs = this.#hold.nowMs + Math.floor(passedMs / 2);
  }

  #answer(request: ModelRequest, earlier: bigint): Decision {
    const { durationMs, limit, cost } = request;
    const cells = this.#cells(request);
    const together = earlier + BigInt(cost);
    const effective = this.#effectiveAt(cells, durationMs, this.#nowMs) + together;
    const success = effective <= BigInt(limit);
    const reason = success ? "allowed" : together > BigInt(limit) ? "cost" : "limit";
    const reset = reason === "limit" ? this.#firstFitMs(cells, durationMs, limit, together) : this.#endMs(durationMs);
    return {
      success,
      limit,
      remaining: success ? limit - Number(effective) : 0,
      reset,
      current: Number(effective),
      reason,
      source: "local",
      degraded: false,
      retryAfterMs: success ? 0 : reset - this.#nowMs,
    };
  }

  /** An item that fits, in a batch that failed: the answer with nothing spent. */
  #unspent(request: ModelRequest): Decision {
    return { ...this.#answer({ ...request, cost: 0 }, 0n), success: true, reason: "batch", retryAfterMs: 0 };
  }

  #count(request: ModelRequest): void {
    if (request.cost === 0) return;
    const sequence = Math.floor(this.#nowMs / request.durationMs);
    const cells = this.#cells(request);
    cells.set(sequence, (cells.get(sequence) ?? 0n) + BigInt(request.cost));
    // A key has two windows, the current one and the one before: after a clock that went back, later ones are forgotten.
    for (const old of cells.keys()) if (old !== sequence && old !== sequence - 1) cells.delete(old);
    this.#keys.set(keyOf(request), cells);
  }

  #cells(request: Omit<ModelRequest, "limit" | "cost">): Cells {
    return this.#keys.get(keyOf(request)) ?? new Map();
  }

  #effectiveAt(cells: Cells, durationMs: number, atMs: number): bigint {
    const sequence = Math.floor(atMs / durationMs);
    const leftMs = (sequence + 1) * durationMs - atMs;
    const current = cells.get(sequence) ?? 0n;
    const previous = cells.get(sequence - 1) ?? 0n;
    return current + (previous * BigInt(leftMs)) / BigInt(durationMs);
  }

  /** The first millisecond at which the cost fits: the effective count never rises while nothing arrives, so halve. */
  #firstFitMs(all: Cells, durationMs: number, limit: number, cost: bigint): number {
    // Where the clock was followed back, a cell of a later window may be there: it is no part of what is known now.
    const sequence = Math.floor(this.#nowMs / durationMs);
    const cells = new Map([...all].filter(([at]) => at <= sequence));
    let no = this.#nowMs;
    let yes = this.#endMs(durationMs) + durationMs;
    while (yes - no > 1) {
      const middle = Math.floor((no + yes) / 2);
      if (this.#effectiveAt(cells, durationMs, middle) + cost <= BigInt(limit)) yes = middle;
      else no = middle;
    }
    return yes;
  }

  #endMs(durationMs: number): number {
    return (Math.floor(this.#nowMs / durationMs) + 1) * durationMs;
  }
}

function keyOf({ workspace, namespace, identifier, durationMs }: Omit<ModelRequest, "limit" | "cost">): string {
  return JSON.stringify([workspace, namespace, identifier, durationMs]);
}
