/**
 * A canary: one deliberate mistake, to show that the simulator would notice it.
 *
 * It is a patch of the source's text, made while the simulator is bundled: production code has no hook for it. A text
 * that is not found exactly once is an error, so a canary cannot quietly stop singing when the source moves on.
 */
import type { WorldOptions } from "@sluice/sim";

export interface Patch {
  /** Within packages/sluice/src, or with `sim/` first, within packages/sim/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Canary {
  readonly name: string;
  /** What is broken, in words. */
  readonly breaks: string;
  readonly patches: readonly Patch[];
  /** The invariants that may notice it: how the checker's sentence begins. Another alarm does not count. */
  readonly noticedBy: readonly string[];
  /** What every world of its hunt has, whatever the seed drew: the features without which the mistake cannot matter. */
  readonly world?: (drawn: WorldOptions) => Partial<WorldOptions>;
}

/** A checker that does not look: it is noticed because a broken layer, which it should see, goes unseen. */
export interface BlindCanary extends Omit<Canary, "noticedBy" | "world"> {
  /** The canary that is let out beside it. */
  readonly beside: string;
  /** What the check that was made blind would say, where others of its invariant see the same later. */
  readonly says?: RegExp;
}

/** A mistake that no history shows, because it changes no answer or ends the process: a test of the suites notices it. */
export interface TestedCanary extends Omit<Canary, "noticedBy" | "world"> {
  /** The file, and a pattern of the test's name. */
  readonly suite: string;
  readonly test: string;
}

/** The invariant that a problem speaks of. */
export function invariantOf(problem: string): string {
  return problem.slice(0, problem.indexOf(":"));
}
