/**
 * How long it takes until everybody knows: once nobody asks any more and nothing is wrong, every process is peeked at,
 * and what it believes of the last cell is followed until it changes no more.
 *
 * Views need not reach the truth: below its floor a region keeps its count to itself. What is missing in the end is said.
 */
import type { HistoryLine } from "sluice/sim";

type Decision = Extract<HistoryLine["event"], { kind: "decision" }>;
type Phase = Extract<HistoryLine["event"], { kind: "phase" }>["phase"];

export interface Convergence {
  /** From the last accept, or the end of the faults, to the last change of any view. */
  readonly ms: number;
  /** What the least informed process has not heard of in the end, of the last cell. */
  readonly unheard: number;
}

export class ConvergenceMeter {
  readonly #hasFaults: boolean;
  #phase: Phase | undefined;
  /** The last cell that anything was accepted in, and its true total. */
  #sequence = -1;
  #total = 0;
  #acceptedAtMs = 0;
  #calmAtMs = 0;
  #changedAtMs = 0;
  readonly #views = new Map<string, number>();

  constructor(hasFaults: boolean) {
    this.#hasFaults = hasFaults;
  }

  phase(atMs: number, phase: Phase): void {
    this.#phase = phase;
    if (phase === "liveness") this.#calmAtMs = atMs;
  }

  accepted(atMs: number, sequence: number, total: number): void {
    this.#acceptedAtMs = atMs;
    if (sequence < this.#sequence) return;
    this.#sequence = sequence;
    this.#total = total;
  }

  peeked(atMs: number, process: string, event: Decision): void {
    const view = this.#viewOf(event);
    if (this.#phase !== "liveness" || view === undefined) return;
    const before = this.#views.get(process);
    this.#views.set(process, view);
    if (before !== undefined && before !== view) this.#changedAtMs = atMs;
  }

  /** Nothing, if it was never measured: the run was ended before, or nothing was accepted. */
  result(): Convergence | undefined {
    if (this.#views.size === 0 || this.#phase === "liveness" || this.#phase === "safety") return undefined;
    const sinceMs = this.#hasFaults ? Math.max(this.#calmAtMs, this.#acceptedAtMs) : this.#acceptedAtMs;
    const ms = Math.max(0, this.#changedAtMs - sinceMs);
    return { ms, unheard: Math.max(0, this.#total - Math.min(...this.#views.values())) };
  }

  /** What a process believes of the last cell: the current one, or the one before. */
  #viewOf({ sequence, own, others, foreign, previous }: Decision): number | undefined {
    if (sequence === this.#sequence) return own + others + foreign;
    return sequence === this.#sequence + 1 ? previous : undefined;
  }
}
