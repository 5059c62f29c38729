/**
 * What the API has answered, counted on the way of requests: plain numbers in arrays and maps of bounded size, nothing per request.
 *
 * A namespace beyond the first hundred is counted together with the others: labels must not grow with what callers invent. Where
 * all places are taken, the workspace with the most gives one up for a workspace with fewer, so that none keeps them all.
 */
import type { Decision, Reason } from "sluice";
import type { NamespaceRecord } from "../admin/records.ts";

/** The reasons of a check. */
export const REASONS: readonly Reason[] = ["allowed", "limit", "cost", "batch", "full"];
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
  /** Charges: neither allowed nor denied. */
  readonly charged: number;
}

export interface RequestCount {
  readonly operation: string;
  readonly status: number;
  readonly count: number;
}

/** Why a connection was cut: too many pipelined requests; answers that the client does not read; no request for too long. */
export type CutReason = "pipelined" | "unread" | "idle";

export interface CutCount {
  readonly reason: CutReason;
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
  /** Connections that were destroyed because of their limits. */
  readonly cuts: readonly CutCount[];
  /** Spans dropped because the queue was full or the collector refused them. */
  readonly spansDropped: number;
  /** Requests whose key is unknown, expired or revoked. */
  readonly authFailures: number;
  /** Entries of the audit trail that were deleted before `audit.keep`, because of `audit.max`. */
  readonly auditDropped: number;
  /** Rows of the history of use that were not written. */
  readonly usageDropped: number;
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
  /** By workspace: how many of them it has. */
  readonly #places = new Map<string, number>();
  /** The most that a workspace has. */
  #placesMax = 0;
  readonly #others: Counts = { workspace: "", namespace: "", allowed: 0, denied: 0, shadowed: 0, charged: 0 };
  readonly #requests = new Map<string, Map<number, number>>();
  readonly #buckets = new Float64Array(BUCKETS_S.length + 1);
  #seconds = 0;
  #spansDropped = 0;
  #authFailures = 0;
  #auditDropped = 0;
  #usageDropped = 0;
  readonly #cuts: Record<CutReason, number> = { pipelined: 0, unread: 0, idle: 0 };

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

  /** One charge. */
  charged(namespace: NamespaceRecord): void {
    (this.#namespaces.get(namespace.id) ?? this.#countsOf(namespace)).charged++;
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

  /** One connection that was destroyed because of its limits. */
  cut(reason: CutReason): void {
    this.#cuts[reason] += 1;
  }

  /** One request whose key is unknown, expired or revoked. */
  failedAuthentication(): void {
    this.#authFailures += 1;
  }

  /** So many spans that no collector will get. */
  droppedSpans(count: number): void {
    this.#spansDropped += count;
  }

  /** So many entries of the audit trail that were deleted before their time. */
  droppedAudit(count: number): void {
    this.#auditDropped += count;
  }

  /** So many rows of the history of use that will never be written. */
  droppedUsage(count: number): void {
    this.#usageDropped += count;
  }

  read(): TallyReading {
    const decisions: DecisionCount[] = [];
    this.#decisions.forEach((count, at) => {
      if (count === 0) return;
      const outcome = at % 2 === 0 ? "allowed" : "denied";
      const source = (at >> 1) % 2 === 0 ? "local" : "origin";
      decisions.push({ outcome, source, reason: REASONS[at >> 2]!, count });
    });
    const { allowed, denied, shadowed, charged } = this.#others;
    const others = allowed + denied + shadowed + charged === 0 ? [] : [{ ...this.#others }];
    return {
      decisions,
      namespaces: [...this.#namespaces.values(), ...others].map((counts) => ({ ...counts })),
      requests: [...this.#requests].flatMap(([operation, statuses]) =>
        [...statuses].map(([status, count]) => ({ operation, status, count })),
      ),
      buckets: [...this.#buckets],
      seconds: this.#seconds,
      spansDropped: this.#spansDropped,
      authFailures: this.#authFailures,
      auditDropped: this.#auditDropped,
      usageDropped: this.#usageDropped,
      cuts: (Object.keys(this.#cuts) as CutReason[]).map((reason) => ({ reason, count: this.#cuts[reason] })),
    };
  }

  /** The youngest namespace of the workspace that has the most is counted with the others from now on, with all that it has. */
  #giveUpPlace(): void {
    let youngest: [string, Counts] | undefined;
    for (const entry of this.#namespaces) {
      if (this.#places.get(entry[1].workspace) === this.#placesMax) youngest = entry;
    }
    const [id, { workspace, allowed, denied, shadowed, charged }] = youngest!;
    this.#namespaces.delete(id);
    this.#others.allowed += allowed;
    this.#others.denied += denied;
    this.#others.shadowed += shadowed;
    this.#others.charged += charged;
    this.#setPlaces(workspace, this.#placesMax - 1);
  }

  #setPlaces(workspaceId: string, count: number): void {
    this.#places.set(workspaceId, count);
    this.#placesMax = Math.max(...this.#places.values());
  }

  #countsOf({ id, workspaceId, name }: NamespaceRecord): Counts {
    const own = this.#places.get(workspaceId) ?? 0;
    if (this.#namespaces.size >= NAMESPACES_MAX) {
      // One that would only change places with it stays without a name: nobody's series come and go.
      if (this.#placesMax <= own + 1) return this.#others;
      this.#giveUpPlace();
    }
    this.#setPlaces(workspaceId, own + 1);
    const counts: Counts = { workspace: workspaceId, namespace: name, allowed: 0, denied: 0, shadowed: 0, charged: 0 };
    this.#namespaces.set(id, counts);
    return counts;
  }
}
