/** An engine behind a gate that says what it is told to, on time by hand: for the tests of decisions with layers. */
import type { Sequence, Slot } from "../../packages/sluice/src/core/brands.ts";
import type { TraceEvent } from "../../packages/sluice/src/core/trace.ts";
import { type BatchItem, batchItem, decideBatch } from "../../packages/sluice/src/engine/batch.ts";
import { Engine, type WhenFull } from "../../packages/sluice/src/engine/engine.ts";
import type { Verdict, Waited } from "../../packages/sluice/src/engine/gate.ts";
import { type Key, keyOf } from "../../packages/sluice/src/engine/key.ts";
import { Layers } from "../../packages/sluice/src/engine/layers.ts";
import { Ledger } from "../../packages/sluice/src/engine/ledger.ts";
import { decide as decideOne } from "../../packages/sluice/src/engine/single.ts";
import { ManualTime } from "./manual-time.ts";
import { MINUTE_MS } from "./processes.ts";
import { SeededRandom } from "./seeded-random.ts";

export interface GatedOptions {
  readonly cellsMax?: number;
  readonly whenFull?: WhenFull;
  readonly isGated?: boolean;
  readonly isTraced?: boolean;
}

export function gatedEngine(options: GatedOptions = {}) {
  const { cellsMax = 4, whenFull = "allow", isGated = true, isTraced = false } = options;
  const time = new ManualTime();
  const random = new SeededRandom(7);
  const engine = new Engine({ clock: time.clock, random, cellsMax, whenFull });
  const ledger = new Ledger(engine.table, random, { replays: true, publishes: true });
  const told = { isSettled: false, verdict: "proceed" as Verdict, suffices: true, mustAsk: false };
  /** What the gate and the listener for denials were told. */
  const heard: unknown[] = [];
  const gate = {
    isSettled: () => told.isSettled,
    verdict: (): Verdict => told.verdict,
    suffices: () => told.suffices,
    mustAsk: () => told.mustAsk,
    accepted: (...args: unknown[]) => void heard.push(["accepted", ...args]),
    charged: (...args: unknown[]) => void heard.push(["charged", ...args]),
    denied: ({ identifier }: Key, place: Slot) => void heard.push(["denied", identifier, place]),
  };
  const events: TraceEvent[] = [];
  const onDenial = (...args: unknown[]) => void heard.push(["told", ...args]);
  const trace = isTraced ? (event: TraceEvent) => void events.push(event) : null;
  const layers = new Layers(engine, { ledger, gate: isGated ? gate : null, onDenial, trace });
  engine.attach(layers);
  const scope = () => engine.scopes.find("default", "api", MINUTE_MS);
  const decide = (cost = 1, limit = 10, waited: Waited | null = null, identifier = "a") =>
    decideOne(engine, scope(), identifier, limit, cost, waited);
  /** An item of a batch, with a limit of 10. */
  const item = (identifier: string, cost = 1): BatchItem => batchItem(engine, scope(), identifier, 10, cost);
  const decideMany = (items: readonly BatchItem[], waited: readonly Waited[] = []) =>
    decideBatch(engine, items, waited);
  const sequence = () => Math.floor(time.wallMs / MINUTE_MS) as Sequence;
  const slot = (identifier = "a"): Slot => engine.slotOf(keyOf(scope(), identifier));
  const read = (fields: Partial<Waited> = {}): Waited => ({
    isOk: true,
    source: "origin",
    arrivedMs: time.monoMs,
    beganMs: time.monoMs,
    sequence: sequence(),
    current: 0,
    previous: 0,
    ...fields,
  });
  return { time, engine, layers, ledger, gate, told, heard, events, decide, item, decideMany, sequence, slot, read };
}
