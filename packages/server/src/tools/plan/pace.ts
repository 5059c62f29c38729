/**
 * How a run is going, in real time: lets the event loop turn, tells progress, and says early if it will take long.
 *
 * The rate is measured on the run itself, from its first request on: a plan's cost an event depends on its processes and its
 * limit, and may rise on the way. Time and output are passed in.
 */
import { setImmediate as turn } from "node:timers/promises";
import { whole } from "../../text/figures.ts";

export interface PaceOptions {
  readonly nowMs: () => number;
  /** One line of progress; a terminal rewrites it. */
  readonly report: (line: string, isLast: boolean) => void;
  /** A notice that stays. */
  readonly notice: (text: string) => void;
  readonly isStopped: () => boolean;
  /** World time that all runs of the plan will take together. */
  readonly totalMs: number;
  /** World time at the start of a run in which nobody asks: it says nothing of the rest. */
  readonly leadMs: number;
  /** World time after which a run has shown what it costs: a herd's cost lies all at the beginning of a window. */
  readonly rhythmMs: number;
  /** Whether progress is rewritten in place, and so may come often. */
  readonly isTerminal: boolean;
}

/** The rate is measured over this time before anything is said about the whole: the first moments run three times slower. */
const MEASURE_MS = 1_000;
const LONG_MS = 60_000;
/** A run that has not shown its rhythm by then is judged by what it has shown. */
const PATIENCE_MS = 5_000;
/** Not nothing, so that dividing by it gives a number. */
const PART_MIN = 1e-9;
const TELL_EVERY_MS = { terminal: 100, lines: 1_000 } as const;

interface Mark {
  readonly realMs: number;
  readonly worldMs: number;
  readonly events: number;
}

export class Pace {
  readonly #options: PaceOptions;
  /** Where the measuring began: real time, world time and events. */
  #from: Mark;
  #toldMs: number;
  #hasWarned = false;
  /** World time and events of the runs that are over. */
  #beforeMs = 0;
  #eventsBefore = 0;
  #runMs = 0;
  #events = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
    const realMs = options.nowMs();
    this.#from = { realMs, worldMs: options.leadMs, events: 0 };
    this.#toldMs = realMs;
  }

  /** A further run begins. */
  next(): void {
    this.#beforeMs += this.#runMs;
    this.#eventsBefore += this.#events;
    this.#runMs = 0;
    this.#events = 0;
  }

  /** Called by a world as it runs; answers whether to go on. */
  async breathe(runMs: number, events: number): Promise<boolean> {
    this.#runMs = runMs;
    this.#events = events;
    await turn();
    const nowMs = this.#options.nowMs();
    if (this.#beforeMs === 0 && runMs <= this.#options.leadMs) {
      // What is left of the lead is not work done: the next breath may come far behind its end.
      this.#from = { realMs: nowMs, worldMs: this.#options.leadMs, events };
    } else if (!this.#hasWarned && nowMs - this.#from.realMs >= MEASURE_MS && this.#isReporting(nowMs)) {
      this.#warn(nowMs);
    }
    const everyMs = this.#options.isTerminal ? TELL_EVERY_MS.terminal : TELL_EVERY_MS.lines;
    if (nowMs - this.#toldMs >= everyMs) {
      this.#toldMs = nowMs;
      this.#options.report(this.#line(nowMs), false);
    }
    return !this.#options.isStopped();
  }

  done(): void {
    this.#options.report(this.#line(this.#options.nowMs()), true);
  }

  #warn(nowMs: number): void {
    const part = this.#part();
    const wholeMs = (nowMs - this.#from.realMs) / part;
    if (wholeMs <= LONG_MS) return;
    this.#hasWarned = true;
    const events = Math.round((this.#eventsBefore + this.#events - this.#from.events) / part);
    const perSecond = Math.round(events / (wholeMs / 1_000));
    this.#options.notice(
      `this plan takes about ${minutes(wholeMs)}: about ${whole(events)} events, at ${whole(perSecond)} per second on this machine. ` +
        "Ctrl-C stops it and reports the part that ran; fewer --windows, or a tenth of --limit at the same --load, is faster.",
    );
  }

  /** Whether what has been seen says something about the rest. */
  #isReporting(nowMs: number): boolean {
    const { leadMs, rhythmMs } = this.#options;
    const isShown = this.#beforeMs + this.#runMs >= leadMs + rhythmMs;
    return isShown || nowMs - this.#from.realMs >= PATIENCE_MS;
  }

  /** What has been done since the measuring began, of what was to do then. */
  #part(): number {
    const { worldMs } = this.#from;
    const done = (this.#beforeMs + this.#runMs - worldMs) / (this.#options.totalMs - worldMs);
    return Math.min(1, Math.max(PART_MIN, done));
  }

  #line(nowMs: number): string {
    const part = this.#part();
    const spentMs = nowMs - this.#from.realMs;
    const leftS = Math.ceil((spentMs / part - spentMs) / 1_000);
    const percent = Math.floor(100 * part);
    const events = whole(this.#eventsBefore + this.#events);
    const left = part < 1 && this.#isReporting(nowMs) ? `, about ${leftS} s left` : "";
    return `simulating: ${percent} %, ${events} events${left}`;
  }
}

function minutes(ms: number): string {
  const count = Math.round(ms / 60_000);
  if (count <= 1) return "a minute";
  return count < 120 ? `${count} minutes` : `${Math.round(count / 60)} hours`;
}
