/**
 * The invariant "Admission": what an origin counted for a call is accepted by the process that sent it, and by nobody twice.
 *
 * - A call ends once, with at least what the origin counted for it: answered, or given up and allowed.
 * - An allow by a call that is not degraded was counted by the origin.
 * - A call carries what fits its process together: with all of it the process stays within the limit by its own count.
 * - A key has one call at a time, and memory allows nothing beside it that does not fit together with it: what a process accepts of a cell in
 *   single requests stays within the highest limit, unless it forgot something.
 *
 * A process that dies may leave a call behind; what the origin counted for it stays in the truth (calls.ts).
 */
import type { DecisionEvent, OriginEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { Truth } from "./truth.ts";

/** Lines that a process may write between the decisions of one call. */
const BESIDE: ReadonlySet<string> = new Set(["alarm", "held", "breaker", "gauges", "admit"]);

/** A limiter reads its monotonic clock once per millisecond of its wall clock, which may drift: what it says may be this old. */
const CLOCK_AGE_MS = 1.02;

export class Admission implements CheckerPart {
  /** The call that is being ended: its decisions follow at once. */
  #ending: { readonly process: string; readonly call: number } | undefined;
  /** What each life has accepted of a cell in single requests. */
  readonly #singles = new Map<string, number>();
  /** When the last call of each key began and ended, monotonic clock. */
  readonly #last = new Map<string, { readonly call: number; readonly endedMs: number }>();

  check({ process, event }: HistoryLine, truth: Truth): Problem {
    const problem = this.#endCall(process, event, truth);
    if (problem !== undefined) return problem;
    if (event.kind === "admit") return this.#ends(process, event);
    if (event.kind === "decision" && event.isCounted)
      return decided(process, event, truth) ?? this.#alone(process, event, truth);
    if (event.kind !== "admitted") return undefined;
    const call = truth.call(event.life, event.call);
    if (call?.ended == null || event.cost <= call.decided) return undefined;
    return `admission: the origin counted ${event.cost} for a call that had ended with ${call.decided}`;
  }

  #ends(process: string, { call = 0, key, beganMs, monoMs }: OriginEvent): Problem {
    this.#ending = { process, call };
    const name = `${process} ${key}`;
    const last = this.#last.get(name);
    this.#last.set(name, { call, endedMs: monoMs });
    if (last === undefined || last.call === call || beganMs >= last.endedMs - CLOCK_AGE_MS) return undefined;
    return `admission: a call of ${key} began while another was under way`;
  }

  #alone(process: string, { key, sequence, cost, batch, limit }: DecisionEvent, truth: Truth): Problem {
    const place = placeOf(process, key, sequence);
    const singles = (this.#singles.get(place) ?? 0) + (batch === 0 ? cost : 0);
    this.#singles.set(place, singles);
    const { forgotAtMs } = truth.life(process);
    const limitMax = Math.max(limit, truth.cell(key, sequence).limitMax);
    if (singles <= limitMax || forgotAtMs > Number.NEGATIVE_INFINITY) return undefined;
    return `admission: ${singles} of ${limitMax} accepted by one process in single requests`;
  }

  #endCall(process: string, event: HistoryLine["event"], truth: Truth): Problem {
    const ending = this.#ending;
    if (ending === undefined || (process === ending.process && BESIDE.has(event.kind))) return undefined;
    if (event.kind === "decision" && process === ending.process && event.call === ending.call) return undefined;
    this.#ending = undefined;
    const { admitted, decided } = truth.call(ending.process, ending.call)!;
    if (admitted <= decided) return undefined;
    return `admission: the origin counted ${admitted} for a call that ended with ${decided}`;
  }
}

function decided(process: string, event: DecisionEvent, truth: Truth): Problem {
  if (event.call === 0) return undefined;
  const call = truth.call(process, event.call);
  if (call?.ended == null) return `admission: decided by call ${event.call}, which has not ended`;
  const { admitted, decided, ended } = call;
  if (!event.degraded && decided + event.cost > admitted)
    return `admission: allowed ${decided + event.cost} by a call for which the origin counted ${admitted}`;
  const own = ended.total + decided + event.cost;
  return own <= event.limit
    ? undefined
    : `admission: a call carried ${own} of ${event.limit} by its process's own count`;
}
