/**
 * How long it takes until everybody knows: once nobody asks any more and nothing is wrong, every process is peeked at,
 * and what it believes of the last cell is followed until it changes no more.
 *
 * Views need not reach the truth: below its floor a region keeps its count to itself. What is missing in the end is said.
 */
import type { HistoryLine } from "@sluice/sim";

type Decision = Extract<HistoryLine["event"], { kind: "decision" }>;
type Phase = Extract<HistoryLine["event"], { kind: "phase" }>["phase"];

export interface Convergence {
  /** From the last accept, the last denial that is told, or the end of the faults, to the last change of any view. */
  readonly ms: number;
  /** What the least informed process has not heard of in the end, of the last cell. */
  readonly unheard: number;
}

/** What is wrong if views went on changing for longer than promised. The simulator's checker looks at rest, not at how soon. */
export function lateness(convergence: Convergence | undefined, promisedMs: number): string | undefined {
  if (convergence === undefined || convergence.ms <= promisedMs) return undefined;
  return `convergence took ${Math.ceil(convergence.ms)} ms, but the bound is ${promisedMs} ms`;
}

export class ConvergenceMeter {
  readonly #hasFaults: boolean;
  readonly #hasDenials: boolean;
  #phase: Phase | undefined;
  /** The last cell that anything was accepted in, and its true total. */
  #sequence = -1;
  #total = 0;
  #acceptedAtMs = 0;
  #deniedAtMs = 0;
  #calmAtMs = 0;
  #changedAtMs = 0;
  readonly #views = new Map<string, number>();

  constructor({ hasFaults, hasDenials }: { hasFaults: boolean; hasDenials: boolean }) {
    this.#hasFaults = hasFaults;
    this.#hasDenials = hasDenials;
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

  /** Where the denial channel tells of it, views change for a denial as they do for an accept. */
  denied(atMs: number): void {
    if (this.#hasDenials) this.#deniedAtMs = atMs;
  }

  peeked(atMs: number, process: string, event: Decision): void {
    const view = this.#viewOf(event);
    if (this.#phase !== "liveness" || view === undefined) return;
    const before = this.#views.get(process);
    this.#views.set(process, view);
    if (before !== undefined && before !== view) this.#changedAtMs = atMs;
  }

  /** Nothing, if it was never measured: the run was stopped earlier, or nothing was accepted in the last window. */
  result(): Convergence | undefined {
    if (this.#views.size === 0 || this.#phase === "liveness" || this.#phase === "safety") return undefined;
    const sinceMs = Math.max(this.#acceptedAtMs, this.#deniedAtMs, this.#hasFaults ? this.#calmAtMs : 0);
    const ms = Math.max(0, this.#changedAtMs - sinceMs);
    return { ms, unheard: Math.max(0, this.#total - Math.min(...this.#views.values())) };
  }

  /** What a process believes of the last cell: the current one, or the one before. */
  #viewOf({ sequence, own, others, foreign, previous }: Decision): number | undefined {
    if (sequence === this.#sequence) return own + others + foreign;
    return sequence === this.#sequence + 1 ? previous : undefined;
  }
}
