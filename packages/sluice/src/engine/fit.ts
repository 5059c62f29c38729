/**
 * When a request would fit, and its denial without having asked: for callers that wait in line (limiter/take.ts).
 *
 * Invariant: looking changes nothing, so a request that looks again and again is one denial, when it gives up, and not many.
 */
import { NONE } from "./cell-table.ts";
import { type Decision, decision } from "./decision.ts";
import type { Engine } from "./engine.ts";
import { fits } from "./judge.ts";
import { windowEndMs } from "./sequence.ts";
import { fitAfterEndMs } from "./sliding-window.ts";
import { TALLY } from "./tally.ts";
import { type HashedRequest, type View, viewOf } from "./view.ts";

/** How a request ends that nobody decided: it would have to wait too long, or too many wait already. */
export type GivenUp = "timeout" | "waiters";

/** Milliseconds until memory has room for the request if nothing else arrives; 0 if it has. The cost is at most the limit. */
export function fitsInMs(engine: Engine, request: HashedRequest): number {
  const view = viewNow(engine, request);
  return fits(view) ? 0 : resetMs(view) - view.nowMs;
}

/** The denial of a request that gave up. If its window is full, it is a denial like any other: the layers hear of it. */
export function giveUp(engine: Engine, request: HashedRequest, reason: GivenUp): Decision {
  const view = viewNow(engine, request);
  const { limit, effective, nowMs, endMs, slot, sequence } = view;
  const { layers, tally } = engine;
  tally.add(reason === "timeout" ? TALLY.deniedTimeout : TALLY.deniedWaiters);
  const atMs = fits(view) ? endMs : resetMs(view);
  const answer = decision(false, limit, 0, atMs, effective, reason, "local", false, atMs - nowMs);
  layers?.decided(view, layers.basis(slot, sequence), slot, answer, { isCounted: false, batch: 0 });
  return answer;
}

function viewNow(engine: Engine, request: HashedRequest): View {
  const { key, h0, h1, h2 } = request;
  const nowMs = engine.clock.nowMs();
  const slot = engine.table.find(h0, h1, h2, key.durationMs);
  if (slot !== NONE) engine.touch(slot);
  return viewOf(engine.table, request, slot, nowMs, 0, null);
}

/** When a request fits that does not. */
function resetMs({ current, previous, limit, cost, sequence, key }: View): number {
  return windowEndMs(sequence, key.durationMs) + fitAfterEndMs(current, previous, limit, cost, key.durationMs);
}
