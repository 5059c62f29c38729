/**
 * The history of a run: one line an event, in the order in which things happened. The checker reads nothing else.
 *
 * A line is the world's time, who it happened to, and the event: what a limiter traced (core/trace.ts), or what the world
 * did to it. Tests with real servers write the same lines, as far as they can know them.
 *
 * Kept are the last lines only; whoever wants all of them gives a `sink`.
 */
import type { TraceEvent } from "sluice";
import type { FaultKind } from "./fault-kinds.ts";
import type { WorldOptions } from "./options.ts";

/** What the world did, or saw from outside. */
export type WorldEvent =
  /** The first line of a history: what the world is made of. */
  | { readonly kind: "setup"; readonly options: WorldOptions }
  | { readonly kind: "phase"; readonly phase: "safety" | "liveness" | "quiet" | "drained" | "peeking" | "closing" }
  /** One life of a process begins, begins to close, or ends. `unreplayed`: keys whose cost the origin has not confirmed. */
  /** `region` names the origin that it shares, `name` the region under which it publishes: two names may share one origin. */
  | { readonly kind: "begun"; readonly region: string; readonly name: string }
  /** The wall clock of a process was set, or its speed changed: what it shows now, and milliseconds per millisecond of world time. */
  | { readonly kind: "clock"; readonly wallMs: number; readonly rate: number }
  | { readonly kind: "stopping"; readonly unreplayed: number }
  | { readonly kind: "killed" }
  /** `lost`: what closing reported. `latestMs`: the latest time that its wall clock showed or its limiter used. `waiting`: callers without an answer. */
  | { readonly kind: "stopped"; readonly lost: number; readonly latestMs: number; readonly waiting: number }
  | { readonly kind: "fault"; readonly fault: FaultKind; readonly target: string; readonly isOn: boolean }
  /** The limiter's own alarms: keys it forgot for want of room, backward clock jumps it followed. Written on change. */
  | { readonly kind: "alarm"; readonly evicted: number; readonly followed: number }
  /**
   * Backward clock jumps that a limiter has held so far, and by how much the time of its next decision is ahead of its own wall
   * clock: at first the size of the correction, 0 once the wall clock has caught up. Written before each decision whose lead
   * differs from that of the decision before.
   */
  | { readonly kind: "held"; readonly held: number; readonly leadMs: number }
  /** The state of a limiter's breaker. Written on change. */
  | { readonly kind: "breaker"; readonly state: "closed" | "open" | "probing" }
  /** An answer as the caller got it. */
  | {
      readonly kind: "answer";
      readonly success: boolean;
      readonly limit: number;
      readonly cost: number;
      readonly durationMs: number;
      readonly remaining: number;
      readonly reset: number;
      readonly current: number;
      readonly reason: string;
      readonly degraded: boolean;
      readonly retryAfterMs: number;
      /** How long the caller waited, world time. */
      readonly waitedMs: number;
      /** Messages that the process sent before it answered, if it answered at once. */
      readonly sent: number;
    }
  /** A component in an origin rose to `total`. The process is the origin. */
  | {
      readonly kind: "stored";
      readonly region: string;
      readonly key: string;
      readonly sequence: number;
      readonly writer: string;
      readonly total: number;
      readonly expiresAtMs: number;
    }
  /**
   * An origin executed a call (`admit`) of a life, and counted `cost` for it; `refused` of its `requests` did not fit, and `limit` is the
   * highest of their limits. `isRepeated`: the writer's component was above the total of the call, so it did nothing. What it stored follows as `stored`.
   */
  | {
      readonly kind: "admitted";
      readonly region: string;
      readonly life: string;
      readonly call: number;
      readonly key: string;
      readonly sequence: number;
      readonly writer: string;
      readonly cost: number;
      readonly limit: number;
      readonly requests: number;
      readonly refused: number;
      readonly isRepeated: boolean;
    }
  /** An origin forgot everything; what it still has follows as `stored`. */
  | { readonly kind: "wiped"; readonly region: string }
  /** The global counters lost every region's row of a cell that has not expired. */
  | { readonly kind: "rows-lost"; readonly key: string; readonly sequence: number }
  /** A region's row in the global counters rose to `count`. */
  | {
      readonly kind: "row";
      readonly region: string;
      readonly key: string;
      readonly sequence: number;
      readonly count: number;
      readonly expiresAtMs: number;
    }
  /** A row of the denial channel was stored, written under a region's name. The process is "global". */
  | {
      readonly kind: "told";
      readonly region: string;
      readonly key: string;
      readonly sequence: number;
      readonly limit: number;
    }
  | Gauges;

/** What a process counts of itself, beside what the world saw it do. */
export interface Gauges {
  readonly kind: "gauges";
  readonly allowed: number;
  readonly deniedLimit: number;
  readonly deniedCost: number;
  readonly deniedFull: number;
  readonly deniedBatch: number;
  readonly unrecorded: number;
  readonly degraded: number;
  readonly cellsLive: number;
  readonly cellsMax: number;
  /** What the names of keys take; 0 without layers. */
  readonly nameBytes: number;
  /** Keys, and reads under way; 0 without the layer. */
  readonly unreplayed: number;
  readonly unpublished: number;
  readonly readsInFlight: number;
  readonly admitsInFlight: number;
  /** Calls to the origin by its own count, and messages that left for the origin. */
  readonly originCalls: number;
  readonly originMessages: number;
  readonly rowsPublished: number;
  readonly cellsImported: number;
  readonly denialsEmitted: number;
  readonly denialsInflated: number;
}

export type HistoryEvent = TraceEvent | WorldEvent;

export interface HistoryLine {
  /** World time. */
  readonly atMs: number;
  /** The life of a process, an origin, "global" or "world". */
  readonly process: string;
  readonly event: HistoryEvent;
}

/** Lines kept for a report. */
const KEPT = 200;

export class History {
  readonly #observe: (line: HistoryLine) => void;
  readonly #sink: ((line: string) => void) | undefined;
  readonly #kept: HistoryLine[] = [];
  #isClosed = false;
  count = 0;

  constructor(observe: (line: HistoryLine) => void, sink?: (line: string) => void) {
    this.#observe = observe;
    this.#sink = sink;
  }

  /** After this, nothing is recorded any more: what follows a problem would only bury it. */
  close(): void {
    this.#isClosed = true;
  }

  record(atMs: number, process: string, event: HistoryEvent): void {
    if (this.#isClosed) return;
    const line = { atMs, process, event };
    this.#kept[this.count % KEPT] = line;
    this.count++;
    this.#sink?.(textOf(line));
    this.#observe(line);
  }

  /** The last lines as text, oldest first. */
  last(): string[] {
    const start = this.count % KEPT;
    const lines = this.count < KEPT ? this.#kept : [...this.#kept.slice(start), ...this.#kept.slice(0, start)];
    return lines.map(textOf);
  }
}

function textOf({ atMs, process, event }: HistoryLine): string {
  return JSON.stringify({ atMs, process, ...event });
}
