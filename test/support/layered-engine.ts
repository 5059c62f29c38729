/** An engine with a ledger above it, on time by hand: for the tests of a layer's single parts. */
import type { DurationMs, Sequence, Slot } from "../../packages/sluice/src/core/brands.ts";
import { NONE } from "../../packages/sluice/src/engine/cell-table.ts";
import { charge } from "../../packages/sluice/src/engine/charge.ts";
import { Engine } from "../../packages/sluice/src/engine/engine.ts";
import type { Key } from "../../packages/sluice/src/engine/key.ts";
import { Layers } from "../../packages/sluice/src/engine/layers.ts";
import { Ledger } from "../../packages/sluice/src/engine/ledger.ts";
import { sequenceAt } from "../../packages/sluice/src/engine/sequence.ts";
import { decide } from "../../packages/sluice/src/engine/single.ts";
import { ManualTime } from "./manual-time.ts";
import { MINUTE_MS } from "./processes.ts";
import { SeededRandom } from "./seeded-random.ts";

export class LayeredEngine {
  readonly time: ManualTime;
  readonly engine: Engine;
  readonly ledger: Ledger;

  constructor(cellsMax = 8, time: ManualTime = new ManualTime()) {
    this.time = time;
    const random = new SeededRandom(7);
    this.engine = new Engine({ clock: time.clock, random, cellsMax, whenFull: "allow" });
    this.ledger = new Ledger(this.engine.table, random, { replays: true, publishes: true });
    const parts = { ledger: this.ledger, gate: null, onDenial: null, trace: null };
    this.engine.attach(new Layers(this.engine, parts));
  }

  key(identifier = "a", durationMs: number = MINUTE_MS): Key {
    return { workspace: "default", namespace: "api", identifier, durationMs: durationMs as DurationMs };
  }

  get sequence(): Sequence {
    return sequenceAt(this.time.wallMs, MINUTE_MS as DurationMs);
  }

  get previous(): Sequence {
    return (this.sequence - 1) as Sequence;
  }

  /** Accepts cost, as a request without a gate would. */
  accept(identifier = "a", cost = 1, limit = 100, durationMs: number = MINUTE_MS): void {
    const scope = this.engine.scopes.find("default", "api", durationMs);
    decide(this.engine, scope, identifier, limit, cost, null);
  }

  charge(identifier = "a", cost = 1, limit = 100, durationMs: number = MINUTE_MS): void {
    charge(this.engine, this.engine.scopes.find("default", "api", durationMs), identifier, limit, cost);
  }

  /** The slot of a key that must have one. */
  slot(identifier = "a", durationMs: number = MINUTE_MS): Slot {
    const slot = this.find(identifier, durationMs);
    if (slot === NONE) throw new Error(`${identifier} has no slot`);
    return slot;
  }

  find(identifier = "a", durationMs: number = MINUTE_MS): Slot {
    return this.engine.slotOf(this.key(identifier, durationMs));
  }
}
