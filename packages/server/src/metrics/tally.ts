/**
 * What the API has answered, counted on the way of requests: plain numbers in arrays and maps of bounded size, nothing per request.
 *
 * A namespace beyond the first hundred is told together with the others: labels must not grow with what callers invent.
 */
import type { Decision, Reason } from "sluice";
import type { NamespaceRecord } from "../admin/records.ts";

const REASONS: readonly Reason[] = ["allowed", "limit", "cost", "batch", "full"];
export const NAMESPACES_MAX = 100;
/** Upper ends of the buckets of a request's time, in seconds. */
export const BUCKETS_S: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

export interface DecisionCount {
  readonly outcome: "allowed" | "denied";
  readonly reason: Reason;
  readonly source: "local" | "origin";
  readonly count: number;
}

export interface NamespaceCount {
  /** Empty: all beyond the first ones. */
  readonly workspace: string;
  readonly namespace: string;
  readonly allowed: number;
  readonly denied: number;
  /** Would have been denied, in a namespace or by an override that only counts. */
  readonly shadowed: number;
}

export interface RequestCount {
  readonly operation: string;
  readonly status: number;
  readonly count: number;
}

/** Everything that was counted, as a message can carry it. */
export interface TallyReading {
  readonly decisions: readonly DecisionCount[];
  readonly namespaces: readonly NamespaceCount[];
  readonly requests: readonly RequestCount[];
  /** Requests by time, a bucket each and one for those above the last; and the sum of all times. */
  readonly buckets: readonly number[];
  readonly seconds: number;
}

type Counts = { -readonly [Name in keyof NamespaceCount]: NamespaceCount[Name] };

/** Whether its cost was counted. An item that fits in a batch that failed was not. */
export function isAccepted({ success, reason }: Decision): boolean {
  return success && reason !== "batch";
}

export class Tally {
  /** By success, reason and source. */
  readonly #decisions = new Float64Array(2 * REASONS.length * 2);
  readonly #namespaces = new Map<string, Counts>();
  readonly #others: Counts = { workspace: "", namespace: "", allowed: 0, denied: 0, shadowed: 0 };
  readonly #requests = new Map<string, Map<number, number>>();
  readonly #buckets = new Float64Array(BUCKETS_S.length + 1);
  #seconds = 0;

  /** One check: an item of a batch is one. */
  decided(namespace: NamespaceRecord, decision: Decision, isShadowed: boolean): void {
    const { reason, source } = decision;
    const isAllowed = isAccepted(decision);
    const at = (isAllowed ? 0 : 1) + 2 * (source === "local" ? 0 : 1) + 4 * REASONS.indexOf(reason);
    this.#decisions[at] = this.#decisions[at]! + 1;
    const counts = this.#namespaces.get(namespace.id) ?? this.#countsOf(namespace);
    if (isShadowed) counts.shadowed++;
    else if (isAllowed) counts.allowed++;
    else counts.denied++;
  }

  /** One request of an operation, answered or refused. */
  answered(operation: string, status: number, tookMs: number): void {
    let statuses = this.#requests.get(operation);
    if (statuses === undefined) {
      statuses = new Map();
      this.#requests.set(operation, statuses);
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const tookS = tookMs / 1000;
    let at = 0;
    while (at < BUCKETS_S.length && tookS > BUCKETS_S[at]!) at++;
    this.#buckets[at] = this.#buckets[at]! + 1;
    this.#seconds += tookS;
  }

  read(): TallyReading {
    const decisions: DecisionCount[] = [];
    this.#decisions.forEach((count, at) => {
      if (count === 0) return;
      const outcome = at % 2 === 0 ? "allowed" : "denied";
      const source = (at >> 1) % 2 === 0 ? "local" : "origin";
      decisions.push({ outcome, source, reason: REASONS[at >> 2]!, count });
    });
    const { allowed, denied, shadowed } = this.#others;
    const others = allowed + denied + shadowed === 0 ? [] : [{ ...this.#others }];
    return {
      decisions,
      namespaces: [...this.#namespaces.values(), ...others].map((counts) => ({ ...counts })),
      requests: [...this.#requests].flatMap(([operation, statuses]) =>
        [...statuses].map(([status, count]) => ({ operation, status, count })),
      ),
      buckets: [...this.#buckets],
      seconds: this.#seconds,
    };
  }

  #countsOf({ id, workspaceId, name }: NamespaceRecord): Counts {
    if (this.#namespaces.size >= NAMESPACES_MAX) return this.#others;
    const counts: Counts = { workspace: workspaceId, namespace: name, allowed: 0, denied: 0, shadowed: 0 };
    this.#namespaces.set(id, counts);
    return counts;
  }
}
