/**
 * Refresh: reads the two cells of a key from the origin before a decision, once for all who wait for it.
 *
 * Where a key is strict, what this process itself has accepted and not yet replayed is sent along, as a raise, which
 * answers the same: the processes of a region then see each other's cost after a round trip, not after a flush.
 *
 * A read that is in flight is joined if it began early enough for the request: not before the last denial that was known when the
 * request arrived. Otherwise the request waits until that read is over, and joins or begins the next one, which began after its arrival.
 * So a request causes at most one read, however often its key is denied, and those who wait share it.
 *
 * Invariants: at most one read of a key is in flight. A read that failed leaves the counts, makes nothing fresh, and is
 * not tried again for 300 ms. So does a read from an origin that accepts no writes, except that its sums are merged. What it brings is merged by max, and is as old as the moment the read began.
 */

import type { Sequence } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import type { ReadOutcome } from "../engine/gate.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import { nameBytes } from "../engine/name-budget.ts";
import type { CellMerge } from "./cell-merge.ts";
import { freshnessMs } from "./freshness.ts";
import type { OriginCount, Raise, Read } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";
import type { RecentFailures } from "./recent-failures.ts";

/** A read of one key that is under way. Its outcome never rejects. */
interface Flight {
  readonly bytes: number;
  readonly sequence: Sequence;
  readonly beganMs: number;
  /** Whether any of those who wait may have a slot: a read that a peek began serves whoever joins it. */
  mayClaim: boolean;
  readonly outcome: Promise<Outcome>;
}

interface Outcome extends ReadOutcome {
  /** It was answered, but for another component than the key counts under now: the key got its slot while it was read. */
  readonly isStray?: boolean;
}

/** What is to be read, for a request that fits. */
export interface ReadWish {
  readonly key: Key;
  /** A read that began before this moment is too old: the key's last denial, or -Infinity. Monotonic clock. */
  readonly notBeforeMs: number;
  /** Whether what is learnt may take a slot of its own: not for a peek. */
  readonly mayClaim: boolean;
}

/** What was read: two cells of a key, and whose component was asked for. */
interface Cells {
  readonly key: Key;
  readonly text: string;
  readonly sequence: Sequence;
  readonly writer: string;
}

/** More keys than this, or more bytes of names, are not read at once: the rest decide from memory. */
const FLIGHTS_MAX = 10_000;
const FLIGHTS_MAX_BYTES = 32 * 2 ** 20;
/** A flight beside the texts of its key, which it holds twice: encoded, and in parts. */
const FLIGHT_BYTES = 500;

export class Refresh {
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #trace: Trace | null;
  readonly #flights = new Map<string, Flight>();
  #flightBytes = 0;
  readonly #failures: RecentFailures;

  constructor(
    calls: OriginCalls,
    merge: CellMerge,
    failures: RecentFailures,
    clock: Clock,
    deadlineMs: number,
    trace: Trace | null,
  ) {
    this.#calls = calls;
    this.#merge = merge;
    this.#failures = failures;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#trace = trace;
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  /** What the names of keys take that are being read, and of those whose last read failed. */
  get bytes(): { readonly inFlight: number; readonly failed: number } {
    return { inFlight: this.#flightBytes, failed: this.#failures.bytes };
  }

  /** Reads one key, or joins a read that is under way and young enough. Once more if the key got its slot meanwhile, by a call (admission.ts). */
  async read(wish: ReadWish): Promise<ReadOutcome> {
    const outcome = await this.#readOnce(wish);
    return outcome.isStray === true ? this.#readOnce(wish) : outcome;
  }

  async #readOnce(wish: ReadWish): Promise<Outcome> {
    const text = encodeKey(wish.key);
    for (;;) {
      const flight = this.#flights.get(text);
      if (flight === undefined) return this.#begin([wish])[0]!;
      if (flight.sequence === this.#merge.sequenceOf(wish.key) && flight.beganMs >= wish.notBeforeMs) {
        flight.mayClaim ||= wish.mayClaim;
        return flight.outcome;
      }
      await flight.outcome;
    }
  }

  /** Reads many keys in one round trip. Those that are being read already are joined. */
  async readMany(wishes: readonly ReadWish[]): Promise<readonly ReadOutcome[]> {
    if (wishes.length > 1) {
      const seen = new Set<string>();
      const fresh = wishes.filter(({ key }) => {
        const text = encodeKey(key);
        const isFirst = !seen.has(text);
        seen.add(text);
        return isFirst && !this.#flights.has(text);
      });
      // Each wish joins its own below. Flights never reject, so nothing is lost by not waiting for them here.
      void this.#begin(fresh);
    }
    return Promise.all(wishes.map((wish) => this.read(wish)));
  }

  /** Starts one call for keys that are not in flight. Each is read in the window that is current now. */
  #begin(wishes: readonly ReadWish[]): readonly Promise<Outcome>[] {
    const beganMs = this.#clock.monoMs();
    const cells = wishes.map((wish) => ({
      wish,
      text: encodeKey(wish.key),
      sequence: this.#merge.sequenceOf(wish.key),
      writer: this.#merge.writerOf(wish.key),
      bytes: FLIGHT_BYTES + 2 * nameBytes(wish.key),
    }));
    const bytes = cells.reduce((sum, cell) => sum + cell.bytes, this.#flightBytes);
    const isOver = this.#flights.size + cells.length > FLIGHTS_MAX || bytes > FLIGHTS_MAX_BYTES;
    if (isOver || cells.every(({ text }) => this.#failures.has(text, beganMs))) {
      return cells.map(async ({ sequence }) => failure(sequence, beganMs));
    }
    const raises = cells.map(({ wish, sequence }) => this.#raiseOf(wish, sequence));
    const reads = cells.flatMap(({ text: key, sequence, writer }) => [
      { key, sequence, writer },
      { key, sequence: sequence - 1, writer },
    ]);
    const call = this.#calls.read(reads, this.#deadlineMs);
    return cells.map(({ wish, text, sequence, writer, bytes }, i) => {
      const settled = Promise.all([call, this.#send(raises[i]!)]).then(([answers, raised]) => {
        const { mayClaim } = this.#flights.get(text)!;
        this.#end(text);
        const [current = null, previous = null] = answers?.slice(2 * i, 2 * i + 2) ?? [];
        const cell = { key: wish.key, text, sequence, writer };
        return this.#settle(cell, mayClaim, beganMs, raised ?? current, previous);
      });
      // A clock that fails while the answer is merged: the decision reads the clock next, and its caller receives the error.
      const outcome: Promise<Outcome> = settled.catch(() => {
        if (this.#flights.get(text)?.outcome === outcome) this.#end(text);
        return failure(sequence, beganMs);
      });
      this.#flights.set(text, { bytes, sequence, beganMs, mayClaim: wish.mayClaim, outcome });
      this.#flightBytes += bytes;
      return outcome;
    });
  }

  #end(text: string): void {
    this.#flightBytes -= this.#flights.get(text)?.bytes ?? 0;
    this.#flights.delete(text);
  }

  /** For a strict key, the raise of what this process has accepted and the origin has not confirmed. */
  #raiseOf({ key, notBeforeMs }: ReadWish, sequence: Sequence): Raise | null {
    return notBeforeMs === Number.NEGATIVE_INFINITY ? null : this.#merge.unreplayed(key, sequence);
  }

  /** Sends such a raise beside the read. Its answer is used instead of the read's: it includes this process's own cost. */
  async #send(raise: Raise | null): Promise<OriginCount | null> {
    if (raise === null) return null;
    // Do not mark it replayed: only raises sent with a heartbeat are covered by loss detection.
    const [answer = null] = (await this.#calls.raise([raise], this.#deadlineMs)) ?? [];
    return answer;
  }

  #settle(
    { key, text, sequence, writer }: Cells,
    mayClaim: boolean,
    beganMs: number,
    current: OriginCount | null,
    previous: OriginCount | null,
  ): Outcome {
    // Answered as a whole or not at all: of half an answer nothing is merged.
    const isWhole = current !== null && previous !== null;
    this.#emit({ key: text, sequence, writer }, beganMs, isWhole ? current : null);
    this.#emit({ key: text, sequence: sequence - 1, writer }, beganMs, isWhole ? previous : null);
    if (!isWhole) {
      this.#failures.keep(text, this.#clock.monoMs());
      return failure(sequence, beganMs);
    }
    const sums = { beganMs, sequence, current: current.sum, previous: previous.sum };
    if (this.#isRefused(key)) {
      this.#failures.keep(text, this.#clock.monoMs());
      this.#merge.applyRead(key, sequence, writer, current, previous, Number.NEGATIVE_INFINITY, mayClaim);
      return { ...sums, isOk: false };
    }
    this.#failures.forget(text);
    const isOk = this.#merge.applyRead(key, sequence, writer, current, previous, beganMs, mayClaim);
    return isOk ? { ...sums, isOk } : { ...sums, isOk, isStray: true };
  }

  /**
   * Whether the origin has accepted no write for longer than a read may be old (regional-layer.ts). The costs of that time are missing there, so
   * what a read brings is a lower bound, and makes nothing fresh.
   */
  #isRefused({ durationMs }: Key): boolean {
    return this.#calls.refusedForMs > Math.max(freshnessMs(durationMs), 2 * this.#deadlineMs);
  }

  #emit({ key, sequence, writer }: Read, beganMs: number, answer: OriginCount | null): void {
    if (this.#trace === null) return;
    const { sum, component } = answer ?? { sum: 0, component: 0 };
    const clocks = { wallMs: this.#clock.wallMs(), monoMs: this.#clock.monoMs() };
    const isAnswered = answer !== null;
    this.#trace({ kind: "read", key, sequence, ...clocks, writer, total: 0, beganMs, isAnswered, sum, component });
  }
}

export function failure(sequence: Sequence, beganMs: number): ReadOutcome {
  return { isOk: false, beganMs, sequence, current: 0, previous: 0 };
}
