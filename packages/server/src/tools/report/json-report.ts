/** The report for a program: one object, the same names in every release. */
import type { Outcome } from "../plan/rehearsal.ts";

/** `outcomes` has one, or with an attack one a mode; the last is the one at the top level. */
export function jsonReport(outcomes: readonly Outcome[]): string {
  const last = outcomes.at(-1)!;
  const attack =
    last.plan.attack === "none"
      ? {}
      : { attack: { name: last.plan.attack, runs: outcomes.map((outcome) => figuresOf(outcome)) } };
  return JSON.stringify({ ...figuresOf(last), ...attack }, null, 2);
}

function figuresOf(outcome: Outcome): object {
  const { plan, windows, timeline, convergenceMs, problem } = outcome;
  return {
    admittedOverLimit: outcome.admittedOverLimit,
    falseDenials: outcome.falseDenials,
    worstExcess: outcome.worstExcess,
    worstExcessDegraded: outcome.worstExcessDegraded,
    bound: outcome.bound,
    convergenceMs: convergenceMs ?? null,
    convergencePromisedMs: outcome.convergencePromisedMs,
    unheard: outcome.unheard,
    partial: outcome.isPartial,
    problem: problem ?? null,
    perSecond: outcome.perSecond,
    waits: outcome.waits,
    faults: outcome.faults,
    advice: outcome.advice,
    windows,
    timeline,
    virtualMs: outcome.virtualMs,
    events: outcome.events,
    plan: { ...plan, faults: plan.faults.text, floor: plan.floor ?? "auto" },
  };
}
