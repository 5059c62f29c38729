/** One line that says how far a part is: replaced in place on a terminal, repeated every ten seconds elsewhere. */
import type { Progress } from "./part.ts";

export interface Out {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const TERMINAL_EVERY_MS = 500;
const LOG_EVERY_MS = 10_000;
/** The first estimate after so much of the work, or it would be a guess. */
const ESTIMATE_AFTER = 0.002;

export class ProgressLine {
  readonly #out: Out;
  readonly #name: string;
  readonly #read: () => Progress;
  readonly #nowMs: () => number;
  readonly #beganMs: number;
  readonly #beganDone: number;
  readonly #timer: NodeJS.Timeout;

  constructor(out: Out, name: string, read: () => Progress, nowMs: () => number = () => performance.now()) {
    this.#out = out;
    this.#name = name;
    this.#read = read;
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
    this.#beganDone = read().done;
    this.#timer = setInterval(() => this.showOnce(), out.isTTY === true ? TERMINAL_EVERY_MS : LOG_EVERY_MS);
    this.showOnce();
  }

  showOnce(): void {
    const text = this.text();
    if (this.#out.isTTY === true) this.#out.write(`\r${text.slice(0, (this.#out.columns ?? 120) - 1)}\u001b[K`);
    else this.#out.write(`${text}\n`);
  }

  /** Leaves the cursor at the beginning of an empty line. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#out.isTTY === true) this.#out.write("\r\u001b[K");
  }

  text(): string {
    const { done, total, text } = this.#read();
    const [spentMs, gained] = [this.#nowMs() - this.#beganMs, done - this.#beganDone];
    // Of this session alone: another one may have had another machine.
    const leftMs = gained > ESTIMATE_AFTER * total ? (spentMs / gained) * Math.max(0, total - done) : undefined;
    const left = leftMs === undefined ? "estimating" : `about ${timeText(leftMs)} left`;
    return `${this.#name.padEnd(14)}  ${text}, ${timeText(spentMs)}, ${left}`;
  }
}

/** `42 s`, `12 min`, `3.5 h`. */
export function timeText(ms: number): string {
  if (ms < 99_500) return `${Math.round(ms / 1_000)} s`;
  return ms < 5_970_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}
