/** Explains a key without counting, creating or refreshing anything: what a decision would be made from right now. */
import type { Sequence } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import type { Engine } from "./engine.ts";
import type { Scope } from "./scope.ts";
import { sequenceAt, windowEndMs, windowStartMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";

/** One cell as this process sees it. */
export interface CellInspection {
  readonly sequence: number;
  /** The window, Unix milliseconds: from its start up to, but not including, its end. */
  readonly startMs: number;
  readonly endMs: number;
  readonly own: number;
  readonly others: number;
  readonly foreign: number;
  /** own + others + foreign. */
  readonly view: number;
  /** What the origin and the global counters have confirmed of it. */
  readonly replayed: number;
  readonly published: number;
  /** How long what is known of `others` still counts as fresh; 0: stale or cold, or there is no origin. */
  readonly freshForMs: number;
}

export interface Inspection {
  readonly workspace: string;
  readonly namespace: string;
  readonly identifier: string;
  readonly durationMs: number;
  /** Whether this process holds a record of the key at all. */
  readonly isKnown: boolean;
  readonly current: CellInspection;
  readonly previous: CellInspection;
  /** The share of the previous window that still overlaps: `leftMs / durationMs`. */
  readonly weight: number;
  readonly leftMs: number;
  /** What the previous cell contributes: `floor(previous.view * leftMs / durationMs)`. */
  readonly previousShare: number;
  /** current.view + previousShare: the effective count of a request of cost 0. */
  readonly effective: number;
  /** How long each allow still needs a new read of the origin, because the key was denied; 0: it is not strict. */
  readonly strictForMs: number;
  /**
   * The limit of the request, or else the lowest that the key was requested with since its last window's first cost (without an origin
   * or a global layer: the lowest that allowed something); else null.
   */
  readonly limit: number | null;
  /** The cost of the living reservations of the key, as far as this process knows, and what of it is held in its own memory. */
  readonly reserved: { readonly cost: number; readonly inMemory: number; readonly earliestMs: number | null };
  /** The largest cost that would be allowed now; null without a limit. */
  readonly remaining: number | null;
}

export function inspect(engine: Engine, scope: Scope, identifier: string, limitGiven: number | undefined): Inspection {
  const hashed = engine.hashed(scope, identifier);
  const { h0, h1, h2 } = hashed;
  const { workspace, namespace, durationMs } = scope;
  const nowMs = engine.clock.nowMs();
  const monoMs = engine.clock.monoMs();
  const sequence = sequenceAt(nowMs, durationMs);
  const { table } = engine;
  const slot = table.find(h0, h1, h2, durationMs);
  const isKnown = slot !== NONE;
  const cell = (at: Sequence): CellInspection => ({
    sequence: at,
    startMs: windowStartMs(at, durationMs),
    endMs: windowEndMs(at, durationMs),
    own: isKnown ? table.own(slot, at) : 0,
    others: isKnown ? table.others(slot, at) : 0,
    foreign: isKnown ? table.foreign(slot, at) : 0,
    view: isKnown ? table.view(slot, at) : 0,
    replayed: isKnown ? table.replayed(slot, at) : 0,
    published: isKnown ? table.published(slot, at) : 0,
    freshForMs: isKnown ? Math.max(0, table.freshUntilMs(slot, at) - monoMs) : 0,
  });
  const current = cell(sequence);
  const previous = cell((sequence - 1) as Sequence);
  const leftMs = current.endMs - nowMs;
  const previousShare = share(previous.view, leftMs, durationMs);
  const effective = current.view + previousShare;
  const strictUntilMs = isKnown ? table.strictUntilMs(slot) : engine.strictDeadlines.untilMs(h0, h1, h2, durationMs);
  const limitLow = isKnown ? table.limitLow(slot) : Number.POSITIVE_INFINITY;
  const limit = limitGiven ?? (limitLow === Number.POSITIVE_INFINITY ? null : limitLow);
  const reserved = engine.held?.costOf(hashed, nowMs) ?? 0;
  const earliestMs = engine.held?.earliestMs(hashed, nowMs) ?? Number.POSITIVE_INFINITY;
  return {
    workspace,
    namespace,
    identifier,
    durationMs,
    isKnown,
    current,
    previous,
    weight: leftMs / durationMs,
    leftMs,
    previousShare,
    effective,
    strictForMs: Math.max(0, strictUntilMs - monoMs),
    limit,
    reserved: {
      cost: reserved,
      inMemory: engine.held?.localOf(hashed, nowMs) ?? 0,
      earliestMs: Number.isFinite(earliestMs) ? earliestMs : null,
    },
    remaining: limit === null ? null : Math.max(0, limit - effective - reserved),
  };
}
