/**
 * The breaker around a store: stops calls to a store that mostly fails, and detects when it has recovered.
 *
 * Opens when at least half of at least 20 calls within 5 s failed: a ratio, so that a busy process does not give up over a
 * handful, and an idle one not over two. Open for 1 s, then one probe; a probe that succeeds closes it, one that fails opens
 * it again. The clock is an argument: it holds no timer.
 */

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "open"; readonly untilMs: number }
  /** Half-open: one call is in flight; until `untilMs` no other is allowed. */
  | { readonly kind: "probing"; readonly untilMs: number };

const SPAN_MS = 5_000;
const CALLS_MIN = 20;
const FAILURES_MIN = 0.5;
const OPEN_MS = 1_000;
/** Outcomes are counted in tenths of the span, so that old ones leave in small steps and nothing is stored per call. */
const SLICES = 10;
const SLICE_MS = SPAN_MS / SLICES;

export class Breaker {
  #state: State = { kind: "closed" };
  readonly #calls = new Float64Array(SLICES);
  readonly #failures = new Float64Array(SLICES);
  #slice = 0;
  /** Times it opened. */
  opened = 0;
  /** Called on every change. Must not throw. */
  onChange: (state: State["kind"]) => void = () => {};

  get state(): "closed" | "open" | "probing" {
    return this.#state.kind;
  }

  /** Whether a call would be refused now. Changes nothing. */
  isOpen(nowMs: number): boolean {
    // Stryker disable next-line ConditionalExpression,StringLiteral: nothing is before the end that a closed one has not got
    return this.#state.kind !== "closed" && nowMs < this.#state.untilMs;
  }

  /** Takes permission for one call. After the open time it is given to one caller, the probe. */
  admit(nowMs: number): boolean {
    if (this.#state.kind === "closed") return true;
    if (nowMs < this.#state.untilMs) return false;
    this.#turn({ kind: "probing", untilMs: nowMs + OPEN_MS });
    return true;
  }

  succeeded(nowMs: number): void {
    // A call that was let through before it opened says nothing about now.
    // Stryker disable next-line ConditionalExpression,StringLiteral: what was counted while it was open is emptied when it closes
    if (this.#state.kind === "open") return;
    if (this.#state.kind === "probing") {
      this.#turn({ kind: "closed" });
      this.#calls.fill(0);
      this.#failures.fill(0);
    }
    this.#advance(nowMs);
    this.#calls[this.#slice % SLICES] = this.#calls[this.#slice % SLICES]! + 1;
  }

  failed(nowMs: number): void {
    this.#advance(nowMs);
    const at = this.#slice % SLICES;
    this.#calls[at] = this.#calls[at]! + 1;
    this.#failures[at] = this.#failures[at]! + 1;
    if (this.#state.kind === "open") return;
    const calls = sum(this.#calls);
    const isBad = calls >= CALLS_MIN && sum(this.#failures) >= calls * FAILURES_MIN;
    if (this.#state.kind === "probing" || isBad) {
      this.opened++;
      this.#turn({ kind: "open", untilMs: nowMs + OPEN_MS });
    }
  }

  /** A probe that was never answered is followed by another: that is no change. */
  #turn(state: State): void {
    const isChange = state.kind !== this.#state.kind;
    this.#state = state;
    if (isChange) this.onChange(state.kind);
  }

  /** Empties the slices that time has passed over. */
  #advance(nowMs: number): void {
    const slice = Math.floor(nowMs / SLICE_MS);
    const passed = Math.min(SLICES, slice - this.#slice);
    for (let i = 1; i <= passed; i++) {
      const at = (this.#slice + i) % SLICES;
      this.#calls[at] = 0;
      this.#failures[at] = 0;
    }
    // Stryker disable next-line EqualityOperator: the same slice is no change
    if (slice > this.#slice) this.#slice = slice;
  }
}

function sum(counts: Float64Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
