/** The figures of a rehearsed plan: what every report shows, each in its own form. */
import type { Plan } from "./plan.ts";
import type { WindowFigures } from "./recorder.ts";

/** What a plan came to, before anything is said about it. */
export interface Measured {
  readonly plan: Plan;
  /** Ended from outside: everything here is of the part that ran. */
  readonly isPartial: boolean;
  /** A promise of Sluice that did not hold. */
  readonly problem: string | undefined;
  readonly windows: readonly WindowFigures[];
  readonly timeline: { readonly everyMs: number; readonly counts: readonly number[] };
  /** The worst window's admitted ÷ limit. */
  readonly admittedOverLimit: number;
  readonly falseDenials: number;
  /** The furthest over the limit that an allow went, in truth, and the bound E that held for it. */
  readonly worstExcess: number;
  readonly bound: number;
  /** The same of allows that were degraded, of which E says nothing. */
  readonly worstExcessDegraded: number;
  /** Undefined where it was not measured: the run was stopped earlier, or nothing was accepted in the last window. */
  readonly convergenceMs: number | undefined;
  readonly convergencePromisedMs: number;
  /** What the least informed process never hears of the last cell: floors, or a mode without counters. */
  readonly unheard: number;
  readonly perSecond: StoreRates;
  readonly waits: { readonly part: number; readonly worstMs: number };
  /** How often each kind of fault struck; those that did not are left out. */
  readonly faults: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  readonly events: number;
}

/** What all regions together ask of their stores. */
export interface StoreRates {
  readonly redisCommands: number;
  readonly redisCalls: number;
  readonly sqlStatements: number;
  readonly sqlRows: number;
}
