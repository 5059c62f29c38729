/** Whether what a worker asks of its parent is a `hold` or a `free`: nothing of a message is trusted, because a bug there must not reach the counts. */
import type { Free, FreeVerb, Hold, HoldItem } from "./hold.ts";

/** What `free` takes, as one message. */
export interface FreeMessage {
  readonly frees: readonly Free[];
  readonly atMs: number;
}

/** Limits of one reservation are 16, looks and renewals of one message 64. */
const ITEMS_MAX = 64;
const ID_LENGTH_MAX = 64;
const VERBS: ReadonlySet<unknown> = new Set<FreeVerb>(["settle", "release", "cancel", "renew"]);

export function isHold(message: unknown): boolean {
  const { id, ttlMs, atMs, byMs, holdsMax, items } = (message ?? {}) as Partial<Hold>;
  const isNumbered = [ttlMs, atMs, byMs].every((ms) => Number.isFinite(ms)) && isCount(holdsMax);
  return isId(id) && isNumbered && isFew(items) && items.every(isItem);
}

export function isFreeMessage(message: unknown): boolean {
  const { frees, atMs } = (message ?? {}) as Partial<FreeMessage>;
  return Number.isFinite(atMs) && isFew(frees) && frees.every(isFree);
}

function isItem(item: unknown): boolean {
  const { limit, cost, writer, total, previousTotal, ...rest } = (item ?? {}) as Partial<HoldItem>;
  const { known, previousKnown, foreign, previousForeign, heldInMemory } = rest;
  const counts = [limit, cost, total, previousTotal, known, previousKnown, foreign, previousForeign, heldInMemory];
  return isOfKey(item) && typeof writer === "string" && counts.every(isCount);
}

function isFree(item: unknown): boolean {
  const { id, verb, actual, ttlMs, writer, known } = (item ?? {}) as Partial<Free>;
  const isNumbered = isCount(actual) && isCount(known) && Number.isFinite(ttlMs);
  return isOfKey(item) && isId(id) && id !== "" && VERBS.has(verb) && typeof writer === "string" && isNumbered;
}

function isOfKey(item: unknown): boolean {
  const { key, durationMs, sequence } = (item ?? {}) as Partial<HoldItem>;
  return typeof key === "string" && isCount(durationMs) && durationMs > 0 && isCount(sequence);
}

function isId(id: unknown): boolean {
  return typeof id === "string" && id.length <= ID_LENGTH_MAX;
}

function isFew(items: unknown): items is readonly unknown[] {
  return Array.isArray(items) && items.length >= 1 && items.length <= ITEMS_MAX;
}

function isCount(count: unknown): count is number {
  return Number.isSafeInteger(count) && (count as number) >= 0;
}
