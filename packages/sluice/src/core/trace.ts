/**
 * The history of a limiter: one event per decision, import and message.
 *
 * The simulator and tests with real servers record the same events; the checker (sim/) reads nothing else. Recording is
 * off unless a `trace` is given, and then costs one object per event.
 */

/** Names a cell in a history: the encoded key and the number of the window. */
interface CellEvent {
  readonly key: string;
  readonly sequence: number;
  /** Both clocks as the process saw them. */
  readonly wallMs: number;
  readonly monoMs: number;
}

/** A request was decided. The counts are those the decision rests on, before its own cost was added. */
export interface DecisionEvent extends CellEvent {
  readonly kind: "decision";
  /** When the request arrived, monotonic clock: earlier than `monoMs` if it waited for the origin. */
  readonly arrivedMs: number;
  readonly durationMs: number;
  readonly limit: number;
  readonly cost: number;
  readonly success: boolean;
  /** Whether the cost was added to `own`: an item of a failed batch may succeed and yet not count. */
  readonly isCounted: boolean;
  readonly reason: string;
  readonly source: string;
  readonly degraded: boolean;
  readonly effective: number;
  /** The current cell: its parts, and the previous cell's view. */
  readonly own: number;
  readonly others: number;
  readonly foreign: number;
  readonly previous: number;
  /** The id under which the cost is counted; empty if nothing is. */
  readonly writer: string;
  /** The same for all items of one batch, 0 for a single request. */
  readonly batch: number;
  /**
   * The number of the call to the origin (`admit`) that carried the request, if its cost was counted by that call's end: admitted by
   * the origin, or given up and allowed as degraded. `sequence` is then the window that the call was sent for, which may have
   * ended before `wallMs`. 0: memory decided.
   */
  readonly call: number;
}

/** The origin answered a call about one cell, or failed to. An admit has one event for each of its two cells. */
export interface OriginEvent extends CellEvent {
  readonly kind: "read" | "raise" | "admit";
  readonly writer: string;
  /** What was sent (raise, admit); 0 for a read. */
  readonly total: number;
  /** When the call began, monotonic clock. */
  readonly beganMs: number;
  readonly isAnswered: boolean;
  readonly sum: number;
  readonly component: number;
  /** Of an admit: the number of the call, which has ended. */
  readonly call?: number;
}

/** A regional count was published, or a row of the denial channel written or merged. */
export interface GlobalEvent extends CellEvent {
  readonly kind: "publish" | "denial" | "inflate";
  /** publish: the regional count. denial, inflate: the limit. */
  readonly count: number;
}

/** A cell was imported and merged. */
export interface ImportEvent extends CellEvent {
  readonly kind: "import";
  /** The foreign sum. */
  readonly count: number;
  /** The row of the process's own region; 0 if it was not merged, because a call to the origin is under way. */
  readonly own: number;
}

export type TraceEvent = DecisionEvent | OriginEvent | GlobalEvent | ImportEvent;
export type Trace = (event: TraceEvent) => void;

/**
 * A trace for events that no caller waits for. What it throws is dropped: it must neither end the process nor stop a replay or an
 * import half way. A decision uses the trace itself, so that its caller receives the error.
 */
export function backgroundTrace(trace: Trace | null): Trace | null {
  if (trace === null) return null;
  return (event) => {
    try {
      trace(event);
    } catch {
      // The decision events report the same callback's errors.
    }
  };
}
