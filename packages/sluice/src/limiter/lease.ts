/** One reservation of this process: what it holds, where, and how it ended. Written by reservations.ts only. */
import { encodeKey, type Key } from "../engine/key.ts";
import type { ReserveItem } from "../origin/hold-client.ts";

/** How a reservation ended: settled with these amounts per limit, or released. */
export type LeaseEnd = { readonly verb: "settle"; readonly amounts: readonly number[] } | { readonly verb: "release" };

export class Lease {
  readonly id: string;
  /** Whether it was asked for as a list: its amounts are lists, too. */
  readonly isList: boolean;
  /** Where it is held: at the origin, or in this process's memory. */
  readonly place: "origin" | "memory";
  /** One per limit, in the order of the requests. */
  readonly items: readonly ReserveItem[];
  readonly ttlMs: number;
  /** What each limit holds. */
  costs: readonly number[];
  /** Unix milliseconds by this process's clock. */
  deadlineMs: number;
  ended: LeaseEnd | null = null;
  /** Whether somebody has read its token: then others may settle it. */
  isGiven = false;
  readonly #lost = new AbortController();

  constructor(
    id: string,
    place: "origin" | "memory",
    items: readonly ReserveItem[],
    { ttlMs, deadlineMs, isList }: { readonly ttlMs: number; readonly deadlineMs: number; readonly isList: boolean },
  ) {
    this.isList = isList;
    this.id = id;
    this.place = place;
    this.items = items;
    this.ttlMs = ttlMs;
    this.deadlineMs = deadlineMs;
    this.costs = items.map(({ cost }) => cost);
  }

  get keys(): readonly Key[] {
    return this.items.map(({ key }) => key);
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The hold is over although nobody ended it here. */
  lose(): void {
    this.#lost.abort(new Error("the hold of this reservation is over"));
  }
}

/** What each distinct key gets of amounts per limit: items of one key share one hold. */
export function amountsByKey(
  keys: readonly Key[],
  amounts: readonly number[],
): Map<string, { key: Key; amount: number }> {
  const byKey = new Map<string, { key: Key; amount: number }>();
  keys.forEach((key, i) => {
    const text = encodeKey(key);
    const known = byKey.get(text)?.amount ?? 0;
    byKey.set(text, { key, amount: known + amounts[i]! });
  });
  return byKey;
}
