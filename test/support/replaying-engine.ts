/** An engine that replays to a troubled origin, on time by hand: for the tests of replay alone. */
import type { Trace } from "../../packages/sluice/src/core/trace.ts";
import { encodeKey } from "../../packages/sluice/src/engine/key.ts";
import { CellMerge } from "../../packages/sluice/src/origin/cell-merge.ts";
import { OriginCalls } from "../../packages/sluice/src/origin/origin-calls.ts";
import { Replay } from "../../packages/sluice/src/origin/replay.ts";
import { LayeredEngine } from "./layered-engine.ts";
import { TroubledOrigin } from "./troubled-stores.ts";

/** `raisesMax`: how many cells the budget allows per flush, every 50 ms. */
export function replaying(raisesMax = 100, cellsMax = 16, trace: Trace | null = null) {
  const world = new LayeredEngine(cellsMax);
  const { time, ledger, engine } = world;
  const origin = new TroubledOrigin(time);
  const calls = new OriginCalls(origin, time.clock, time.timers);
  const merge = new CellMerge(engine, ledger);
  const options = { flushMs: 50, commandsPerSecond: raisesMax * 20, trace };
  const replay = new Replay(engine.table, ledger, calls, merge, time.clock, options);
  /** Accepts cost on a key whose previous cell is fresh, so that only what is dirty is sent. */
  const accept = (identifier: string, cost = 1) => {
    world.accept(identifier, cost);
    engine.table.raiseFreshUntil(world.slot(identifier), world.previous, time.monoMs + 1e9);
  };
  const sum = (identifier = "a", sequence: number = world.sequence) =>
    origin.sum(encodeKey(world.key(identifier)), sequence);
  const raised = () => origin.cellsRaised().map(({ key, total }) => `${key.at(-1)}${total}`);
  return { world, time, origin, calls, merge, replay, accept, sum, raised };
}
