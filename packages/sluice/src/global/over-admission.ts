/**
 * The measure of our own promise: how much was accepted over the limits, worldwide.
 *
 * Once a window is over, its rows add up to what all regions accepted in it; what exceeds the limit was admitted too much. It is
 * reported by namespace, as this process sees it: for cells in which it accepted cost, by the highest limit under which it did, so that a
 * limit that changes in mid-window is not taken for an error. A total that arrives late corrects what was reported before.
 *
 * Bounded: what was measured last is remembered by slot, in memory of a fixed size, and the namespaces beyond the first thousand
 * are told together. A map would stand still for tens of milliseconds to grow when a window of a million cells is over.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import type { Ledger } from "../engine/ledger.ts";

export interface OverAdmission {
  /** Windows that were measured, and those in which more than the limit was accepted. */
  readonly cells: number;
  readonly cellsOver: number;
  /** What was accepted over the limits, and the sum of all limits: their ratio is the error. */
  readonly excess: number;
  readonly limits: number;
}

type Tally = { -readonly [Name in keyof OverAdmission]: OverAdmission[Name] };

const NAMESPACES_MAX = 1_000;
/** No namespace has no name. */
const REST = "";
/** Numbers of a slot's record, and where they are. */
const RECORD = 2;
const SEQUENCE = 0;
const EXCESS = 1;

export class OverAdmissions {
  readonly #byNamespace = new Map<string, Tally>();
  readonly #ledger: Ledger;
  /** What was measured last of each slot that is marked as measured. Pages are paid for as they are used. */
  readonly #measured: Float64Array;

  constructor(ledger: Ledger, capacity: number) {
    this.#ledger = ledger;
    this.#measured = new Float64Array(capacity * RECORD);
  }

  /** A window that is over: what all regions accepted in it, as far as known now. */
  measure(slot: Slot, sequence: Sequence, total: number, limit: number): void {
    if (!Number.isFinite(limit)) return;
    const measured = this.#measured;
    const at = slot * RECORD;
    const isAgain = this.#ledger.isMeasured(slot) && measured[at + SEQUENCE] === sequence;
    const before = isAgain ? measured[at + EXCESS]! : 0;
    const excess = Math.max(before, total - limit);
    if (isAgain && excess === before) return;
    this.#ledger.markMeasured(slot);
    measured[at + SEQUENCE] = sequence;
    measured[at + EXCESS] = excess;
    const tally = this.#tallyOf(this.#ledger.name(slot)!.key.namespace);
    tally.cells += isAgain ? 0 : 1;
    tally.limits += isAgain ? 0 : limit;
    tally.cellsOver += excess > 0 && before === 0 ? 1 : 0;
    tally.excess += excess - before;
  }

  read(): Readonly<Record<string, OverAdmission>> {
    return Object.fromEntries([...this.#byNamespace].map(([namespace, tally]) => [namespace, { ...tally }]));
  }

  #tallyOf(namespace: string): Tally {
    const name = this.#byNamespace.has(namespace) || this.#byNamespace.size < NAMESPACES_MAX ? namespace : REST;
    let tally = this.#byNamespace.get(name);
    if (tally === undefined) {
      tally = { cells: 0, cellsOver: 0, excess: 0, limits: 0 };
      this.#byNamespace.set(name, tally);
    }
    return tally;
  }
}
