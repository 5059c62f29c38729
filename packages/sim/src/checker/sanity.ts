/** The invariants "Sanity" and "Batch", and of "Bounds" what concerns the stores: sane numbers and whole batches. */
import type { DecisionEvent } from "sluice";
import type { HistoryLine, WorldEvent } from "../model/history.ts";
import { sanity } from "../model/invariants.ts";
import { type CheckerPart, isOfOtherWindow, type Problem, usedBy } from "./part.ts";
import type { Truth } from "./truth.ts";

type Answer = Extract<WorldEvent, { kind: "answer" }>;
type Stored = Extract<WorldEvent, { kind: "stored" | "row" }>;

export class Sanity implements CheckerPart {
  /** The wall clock of each process as of its last decision. */
  readonly #wallMs = new Map<string, number>();
  /** When a read was last answered, by process and key, on the monotonic clock of the process. */
  readonly #readMs = new Map<string, number>();
  /** The batch that is being told, and by whom. */
  #batch: DecisionEvent[] = [];
  #teller = "";

  check({ process, event }: HistoryLine, truth: Truth): Problem {
    const problem = this.#endBatch(process, event);
    if (problem !== undefined) return problem;
    if (event.kind === "read" && event.isAnswered) this.#readMs.set(`${process} ${event.key}`, event.monoMs);
    if (event.kind === "decision") return this.#decision(process, event, truth);
    if (event.kind === "answer") return this.#answer(process, event);
    if (event.kind === "stored" || event.kind === "row") return this.#expiry(event, truth);
    return undefined;
  }

  /** Bounds: a store keeps a cell as long as it matters, and no longer: it holds two windows of a key. */
  #expiry({ key, sequence, expiresAtMs }: Stored, truth: Truth): Problem {
    const durationMs = truth.durations.get(key);
    if (durationMs === undefined || expiresAtMs === (sequence + 2) * durationMs) return undefined;
    return `bounds: stored until ${expiresAtMs} instead of ${(sequence + 2) * durationMs}`;
  }

  #decision(process: string, event: DecisionEvent, truth: Truth): Problem {
    this.#wallMs.set(process, event.wallMs);
    const { own, others, foreign, previous, effective, cost, limit, success, reason, sequence, durationMs } = event;
    for (const count of [own, others, foreign, previous, effective]) {
      if (!Number.isSafeInteger(count) || count < 0) return `sanity: a count of ${count}`;
    }
    const isOther = isOfOtherWindow(event);
    if (sequence !== Math.floor(event.wallMs / durationMs) && !isOther)
      return `sanity: sequence ${sequence} at ${event.wallMs}`;
    // By a call a request may be allowed beside a batch that was counted meanwhile.
    const isWithin = effective <= limit || event.call !== 0;
    if (reason === "allowed" && !(success && event.isCounted === cost > 0 && isWithin)) {
      return "sanity: allowed and not";
    }
    if ((reason === "limit" || reason === "cost") && (success || event.isCounted || effective <= limit)) {
      return `sanity: denied with ${effective} of ${limit}`;
    }
    if (event.batch !== 0) {
      this.#batch.push(event);
      this.#teller = process;
    }
    // What was read for a key without a slot is in the effective count alone, not in the slot that a batch then makes. So is what memory
    // held when a batch arrived, of a key that was evicted while other items were read.
    // After a clock that was followed back, the decision rests on a slot of a later window, which is given up for a new one.
    // A read beside a call has the call's cost in its sum, and memory has not.
    const isCalling = [sequence, sequence - 1].some((at) => truth.cell(event.key, at).pendingOf(process) > 0);
    // A read from an origin that accepts no writes counts as failed, but what it brought counts. A batch may wait on for its other items.
    const readMs = this.#readMs.get(`${process} ${event.key}`) ?? Number.NEGATIVE_INFINITY;
    const hasRead = event.source === "origin" || readMs >= event.arrivedMs;
    const mayKnowMore =
      (hasRead && isCalling) ||
      (hasRead && event.batch !== 0) ||
      ((hasRead || event.batch !== 0) && own + others + foreign === 0) ||
      (event.batch !== 0 && truth.life(process).evicted > 0) ||
      truth.life(process).followed > 0;
    if (isOther) return undefined;
    const expected = usedBy(event) + (reason === "batch" ? 0 : truth.together(process, event));
    if (effective < expected || (effective > expected && !mayKnowMore))
      return `sanity: effective ${effective} instead of ${expected}`;
    return undefined;
  }

  /** Batch: all items of a batch stand together in the history; either all are counted or none. Duplicates: Truth.together. */
  #endBatch(process: string, event: HistoryLine["event"]): Problem {
    const items = this.#batch;
    const first = items[0];
    if (first === undefined) return undefined;
    if (event.kind === "alarm" || event.kind === "held" || event.kind === "breaker") return undefined;
    if (event.kind === "decision" && process === this.#teller && event.batch === first.batch) return undefined;
    this.#batch = [];
    const isCounted = items.some((item) => item.isCounted && item.cost > 0);
    for (const item of items) {
      if (isCounted && !item.success) return "batch: counted although an item was denied";
      if (isCounted && item.cost > 0 && !item.isCounted && item.reason !== "full") return "batch: counted in part";
    }
    return undefined;
  }

  #answer(process: string, event: Answer): Problem {
    const { limit, cost, durationMs, success, remaining, reset, current, reason, degraded, retryAfterMs } = event;
    const nowMs = this.#wallMs.get(process) ?? 0;
    const decision = { success, limit, remaining, reset, current, reason: reason as "allowed", degraded, retryAfterMs };
    return sanity({ limit, cost, durationMs, nowMs, decision: { ...decision, source: "local" } });
  }
}
