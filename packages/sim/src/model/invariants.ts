/**
 * The invariants of ARCHITECTURE.md that can be seen from one process, each a function over what was observed.
 *
 * A function returns what is wrong, in words, or nothing. They read recorded values only, so that the simulator and tests
 * with real servers can use them alike.
 */
import type { BatchDecision, Decision, Inspection, Stats } from "sluice";

/** One request with its answer and the moment, as the process saw it. */
export interface Observed {
  readonly limit: number;
  readonly cost: number;
  readonly durationMs: number;
  readonly nowMs: number;
  readonly decision: Decision;
}

type Problem = string | undefined;

/** Sanity: counters are safe integers ≥ 0; remaining is within the limit; an allow resets within one duration; a denial says when to retry. */
export function sanity({ limit, cost, durationMs, nowMs, decision }: Observed): Problem {
  const { success, remaining, reset, current, reason, retryAfterMs } = decision;
  if (!Number.isSafeInteger(current) || current < 0) return `sanity: current ${current}`;
  if (!Number.isSafeInteger(remaining) || remaining < 0 || remaining > limit) return `sanity: remaining ${remaining}`;
  if (decision.limit !== limit) return `sanity: asked with ${limit}, answered with ${decision.limit}`;
  if (!Number.isSafeInteger(reset) || reset <= nowMs) return `sanity: reset ${reset} at ${nowMs}`;
  const resetMax = nowMs + (success || reason === "cost" ? 1 : 2) * durationMs;
  if (reset > resetMax) return `sanity: reset ${reset} beyond ${resetMax}`;
  // A batch that was counted beside a call to the origin may leave less than nothing, which is told as nothing.
  if (reason === "allowed" && (!success || (current > limit && remaining > 0)))
    return `sanity: allowed with ${current} of ${limit}`;
  if (reason === "limit" && (success || current <= limit)) return `sanity: denied with ${current} of ${limit}`;
  if (reason === "cost" && (success || current <= limit)) return `sanity: cost ${cost} denied within ${limit}`;
  const retryMs = success ? 0 : reset - nowMs;
  if (retryAfterMs !== retryMs) return `sanity: retry after ${retryAfterMs} ms instead of ${retryMs}`;
  return undefined;
}

/** Monotone: while a cell lives, none of its counts falls. */
export function monotone(before: Inspection, after: Inspection): Problem {
  for (const old of [before.previous, before.current]) {
    const now = [after.previous, after.current].find(({ sequence }) => sequence === old.sequence);
    if (now === undefined) continue;
    for (const field of ["own", "others", "foreign", "published"] as const) {
      if (now[field] < old[field]) return `monotone: ${field} fell from ${old[field]} to ${now[field]}`;
    }
  }
  return undefined;
}

/** Join laws: merging the same messages in any order, any number of times, gives the same state. */
export function joinLaw<Message, State>(
  orders: readonly (readonly Message[])[],
  apply: (messages: readonly Message[]) => State,
  isEqual: (a: State, b: State) => boolean,
): Problem {
  const [first, ...others] = orders.map(apply);
  const differs = others.findIndex((state) => !isEqual(state, first as State));
  return differs === -1 ? undefined : `join: order ${differs + 1} gives another state than order 0`;
}

/** Alone it is exact, and Isolation: two runs that must not differ answer alike: engine and model, a tenant alone and among others. */
export function sameAnswers(a: readonly Decision[], b: readonly Decision[]): Problem {
  if (a.length !== b.length) return `answers: ${a.length} and ${b.length}`;
  for (let i = 0; i < a.length; i++) {
    const difference = differing(a[i]!, b[i]!);
    if (difference !== undefined) return `answers: number ${i} differs in ${difference}`;
  }
  return undefined;
}

function differing(a: Decision, b: Decision): string | undefined {
  for (const field of Object.keys({ ...a, ...b }) as (keyof Decision)[]) {
    if (a[field] !== b[field]) return `${field}: ${a[field]} and ${b[field]}`;
  }
  return undefined;
}

/** Batch: a batch is counted whole or not at all. `spent` is what the cells rose by; `costs` what was asked. */
export function batchWhole(answer: BatchDecision, spent: number, costs: readonly number[]): Problem {
  const asked = costs.reduce((sum, cost) => sum + cost, 0);
  if (answer.decisions.length !== costs.length)
    return `batch: ${costs.length} asked, ${answer.decisions.length} answered`;
  if (answer.success !== answer.decisions.every(({ success }) => success))
    return "batch: success and its items disagree";
  const expected = answer.success ? asked : 0;
  return spent === expected ? undefined : `batch: ${spent} counted instead of ${expected}`;
}

/** Time: the sequence never goes back, except where the clock was followed. */
export function timeForward(before: Inspection, after: Inspection, wasFollowed: boolean): Problem {
  if (wasFollowed || after.current.sequence >= before.current.sequence) return undefined;
  return `time: the sequence went back from ${before.current.sequence} to ${after.current.sequence}`;
}

/** Bounds: the table keeps its bound. */
export function bounded({ cells }: Stats): Problem {
  return cells.live <= cells.max ? undefined : `bounds: ${cells.live} cells of at most ${cells.max}`;
}
