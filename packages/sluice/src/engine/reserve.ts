/**
 * Reservations as the engine sees them: in memory, where there is no origin that could hold them, and the answers to those that the origin
 * granted or refused.
 *
 * Invariant: a reservation in memory fits beside the counts and all holds that are known here, all of its items or none. Nothing is counted.
 */
import { NONE } from "./cell-table.ts";
import { type Decision, decision, type Source } from "./decision.ts";
import type { Engine } from "./engine.ts";
import { HeldKeys } from "./held-keys.ts";
import { encodeKey } from "./key.ts";
import { fitAfterEndMs } from "./sliding-window.ts";
import { type HashedRequest, type View, viewOf } from "./view.ts";

/** How an item of a reservation ended: `fits`: it would be held, but another item is refused. `holds`: there are too many holds. */
export type ReserveCode = "held" | "fits" | "limit" | "reserved" | "holds";

/** Holds all items in memory until `deadlineMs`, or none. `had`: what the id holds of each already. */
export function reserveInMemory(
  engine: Engine,
  id: string,
  items: readonly HashedRequest[],
  deadlineMs: number,
  holdsMax: number,
  had: ReadonlyMap<string, number> = new Map(),
): readonly ReserveCode[] {
  const nowMs = engine.clock.nowMs();
  const asked = new Map<string, number>();
  const codes = items.map((item) => {
    const text = encodeKey(item.key);
    const cost = (asked.get(text) ?? 0) + item.cost;
    asked.set(text, cost);
    const rise = cost - (had.get(text) ?? 0);
    const { before, limit } = viewNow(engine, item, nowMs);
    if (before + cost > limit) return "limit";
    if (before + (engine.held?.costOf(item, nowMs) ?? 0) + rise > limit) return "reserved";
    const isFull = !had.has(text) && (engine.held?.localCount(item) ?? 0) >= holdsMax;
    return isFull ? "holds" : "held";
  });
  if (codes.some((code) => code !== "held")) return codes.map((code) => (code === "held" ? "fits" : code));
  engine.held ??= new HeldKeys();
  for (const item of items) engine.held.addLocal(item, id, asked.get(encodeKey(item.key))!, deadlineMs);
  return codes;
}

/** The answer to one item. A refusal for the limit makes its key strict, and may be passed on to the other regions, like any denial. */
export function reserveDecision(
  engine: Engine,
  item: HashedRequest,
  code: ReserveCode,
  source: Source,
  isDegraded: boolean,
): Decision {
  const view = viewNow(engine, item, engine.clock.nowMs());
  const { limit, cost, before, effective, endMs, nowMs } = view;
  const held = engine.held?.costOf(view, nowMs) ?? 0;
  if (code === "held" || code === "fits") {
    const reason = code === "held" ? "allowed" : "batch";
    const remaining = Math.max(0, limit - before - held);
    return decision(true, limit, remaining, endMs, effective, reason, source, isDegraded, 0);
  }
  if (code !== "limit") return besideHolds(engine, view, code, source, isDegraded);
  const isNever = cost > limit;
  const afterEndMs = isNever ? 0 : fitAfterEndMs(view.current, view.previous, limit, cost, view.key.durationMs);
  // By the origin's clock it did not fit; by this process's clock it may fit already.
  const resetMs = Math.max(nowMs + 1, endMs + afterEndMs);
  const reason = isNever ? "cost" : "limit";
  const answer = decision(false, limit, 0, resetMs, effective, reason, source, isDegraded, resetMs - nowMs);
  engine.layers?.decided(view, null, view.slot, answer, { isCounted: false, batch: 0 });
  return answer;
}

/** A denial for holds: until the first of them may expire, or the falling weight of the previous window makes room. */
export function besideHolds(
  { held }: Engine,
  view: View,
  reason: "reserved" | "holds",
  source: Source,
  isDegraded: boolean,
): Decision {
  const { limit, effective, before, current, previous, endMs, nowMs, key } = view;
  const room = limit - (held?.costOf(view, nowMs) ?? 0);
  const together = effective - before;
  const byWeightMs =
    together > room
      ? Number.POSITIVE_INFINITY
      : endMs + fitAfterEndMs(current, previous, room, together, key.durationMs);
  const resetMs = Math.max(nowMs + 1, Math.min(byWeightMs, held?.earliestMs(view, nowMs) ?? endMs));
  const knownMs = Number.isFinite(resetMs) ? resetMs : endMs;
  return decision(false, limit, 0, knownMs, effective, reason, source, isDegraded, knownMs - nowMs);
}

function viewNow(engine: Engine, item: HashedRequest, nowMs: number): View {
  const { h0, h1, h2, key } = item;
  const slot = engine.table.find(h0, h1, h2, key.durationMs);
  return viewOf(engine.table, item, slot === NONE ? NONE : slot, nowMs, 0, null);
}
