/**
 * The measure of our own promise: how much was accepted over the limits, worldwide.
 *
 * Once a window is over, its rows add up to what all regions accepted in it; what exceeds the limit was admitted too much. It is
 * told by namespace, as this process sees it: for keys that it was asked about, by the lowest limit that it knows. A total that
 * arrives late corrects what was told before.
 *
 * Bounded: a cell is remembered as long as its name is, and the namespaces beyond the first thousand are told together.
 */
import type { SlotName } from "../engine/ledger.ts";

export interface OverAdmission {
  /** Windows that were measured, and those in which more than the limit was accepted. */
  readonly cells: number;
  readonly cellsOver: number;
  /** What was accepted over the limits, and the sum of all limits: their ratio is the error. */
  readonly excess: number;
  readonly limits: number;
}

type Tally = { -readonly [Name in keyof OverAdmission]: OverAdmission[Name] };

interface Measured {
  readonly sequence: number;
  readonly limit: number;
  readonly excess: number;
}

const NAMESPACES_MAX = 1_000;
/** No namespace has no name. */
const REST = "";

export class OverAdmissions {
  readonly #byNamespace = new Map<string, Tally>();
  readonly #measured = new WeakMap<SlotName, Measured>();

  /** A window that is over: what all regions accepted in it, as far as known now. */
  measure(name: SlotName, sequence: number, total: number, limit: number): void {
    if (!Number.isFinite(limit)) return;
    const last = this.#measured.get(name);
    const isSame = last !== undefined && last.sequence === sequence;
    const before = isSame ? last : null;
    const excess = Math.max(0, total - limit, before?.excess ?? 0);
    if (before !== null && excess === before.excess) return;
    this.#measured.set(name, { sequence, limit: before?.limit ?? limit, excess });
    const tally = this.#tallyOf(name.key.namespace);
    tally.cells += before === null ? 1 : 0;
    tally.limits += before === null ? limit : 0;
    tally.cellsOver += excess > 0 && (before === null || before.excess === 0) ? 1 : 0;
    tally.excess += excess - (before?.excess ?? 0);
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
