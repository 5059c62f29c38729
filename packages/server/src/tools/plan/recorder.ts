/**
 * Reads the history of a plan's world, and keeps what a report needs: window by window, over time, and how views agreed.
 *
 * It counts for itself what the checker leaves out: the true total of every window, and against it each denial (also those of
 * the denial channel, which the checker lets pass by design) and each degraded allow (which E says nothing of).
 */
import type { HistoryLine } from "@sluice/sim";
import { AcceptedTotals } from "./accepted-totals.ts";
import { ConvergenceMeter } from "./convergence-meter.ts";
import { hasDenialChannel, type Plan } from "./plan.ts";
import { Timeline } from "./timeline.ts";

type Decision = Extract<HistoryLine["event"], { kind: "decision" }>;

export interface WindowFigures {
  /** Where it begins, from the start of the plan; windows of clocks that were wrong may lie outside. */
  readonly fromMs: number;
  asked: number;
  admitted: number;
  denied: number;
  falseDenials: number;
  /** Decided without what the rules asked for. */
  degraded: number;
}

export class WindowRecorder {
  readonly timeline: Timeline;
  readonly convergence: ConvergenceMeter;
  /** How far any degraded allow went over the limit in truth. */
  excessDegraded = 0;
  answered = 0;
  waited = 0;
  waitedWorstMs = 0;
  readonly #limit: number;
  readonly #durationMs: number;
  readonly #windows = new Map<number, WindowFigures>();
  readonly #accepted = new AcceptedTotals();
  #startMs = 0;
  #isPlanned = false;

  constructor(plan: Plan) {
    const { limit, duration, windows, faults } = plan;
    this.#limit = limit;
    this.#durationMs = duration;
    this.timeline = new Timeline(windows * duration, (atMs) => this.#countAt(atMs));
    this.convergence = new ConvergenceMeter({
      hasFaults: faults.kinds.length > 0 || faults.script !== "none",
      hasDenials: hasDenialChannel(plan),
    });
  }

  observe({ atMs, process, event }: HistoryLine): void {
    if (event.kind === "phase") {
      if (event.phase === "safety") this.#startMs = atMs;
      this.#isPlanned = event.phase === "safety";
      if (event.phase === "liveness") this.timeline.advance(atMs - this.#startMs);
      this.convergence.phase(atMs, event.phase);
    } else if (event.kind === "decision") {
      if (event.cost === 0) this.convergence.peeked(atMs, process, event);
      else this.#decided(atMs, process, event);
    } else if (event.kind === "admitted") {
      this.#accepted.admitted(event.sequence, event.life, event.call, event.cost);
    } else if (event.kind === "answer" && this.#isPlanned) {
      this.answered++;
      if (event.waitedMs > 0) this.waited++;
      this.waitedWorstMs = Math.max(this.waitedWorstMs, event.waitedMs);
    }
  }

  /** In order of time. */
  windows(): readonly WindowFigures[] {
    return [...this.#windows.values()].sort((a, b) => a.fromMs - b.fromMs);
  }

  #decided(atMs: number, process: string, event: Decision): void {
    this.timeline.advance(atMs - this.#startMs);
    const window = this.#window(event.sequence);
    const share = this.#share(event);
    window.asked++;
    if (event.degraded) window.degraded++;
    if (!event.isCounted) {
      window.denied++;
      this.convergence.denied(atMs);
      const used = this.#accepted.of(event.sequence) + share;
      if (event.reason === "limit" && used + event.cost <= this.#limit) window.falseDenials++;
      return;
    }
    window.admitted += event.cost;
    this.#accepted.decided(event.sequence, process, event.call, event.cost);
    const accepted = this.#accepted.of(event.sequence);
    const count = accepted + share;
    this.timeline.saw(count);
    this.convergence.accepted(atMs, event.sequence, accepted);
    if (event.degraded) this.excessDegraded = Math.max(this.excessDegraded, count - this.#limit);
  }

  /** What the window before contributes, by the clock of the process that decides. */
  #share({ sequence, wallMs }: Decision): number {
    const leftMs = (sequence + 1) * this.#durationMs - Math.floor(wallMs);
    const before = this.#accepted.of(sequence - 1);
    return Number((BigInt(before) * BigInt(leftMs)) / BigInt(this.#durationMs));
  }

  /** The true count at a moment of the plan, with no request at hand. */
  #countAt(sinceMs: number): number {
    const sequence = Math.floor((this.#startMs + sinceMs) / this.#durationMs);
    const leftMs = (sequence + 1) * this.#durationMs - (this.#startMs + sinceMs);
    const before = this.#accepted.of(sequence - 1);
    return this.#accepted.of(sequence) + Math.floor((before * leftMs) / this.#durationMs);
  }

  #window(sequence: number): WindowFigures {
    let window = this.#windows.get(sequence);
    if (window === undefined) {
      const fromMs = sequence * this.#durationMs - this.#startMs;
      window = { fromMs, asked: 0, admitted: 0, denied: 0, falseDenials: 0, degraded: 0 };
      this.#windows.set(sequence, window);
    }
    return window;
  }
}
