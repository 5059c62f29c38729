/**
 * Refresh: reads the two cells of a key from the origin before a decision, once for all who wait for it.
 *
 * Where a key is strict, what this process itself has accepted and not yet replayed is sent along, as a raise, which
 * answers the same: the processes of a region then see each other's cost after a round trip, not after a flush.
 *
 * Invariants: at most one read of a cell is in flight. A read that failed leaves the counts, makes nothing fresh, and is
 * not tried again for 300 ms. What it brings is merged by max, and is as old as the moment the read began.
 */

import type { Sequence } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import type { ReadOutcome } from "../engine/gate.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { CellMerge } from "./cell-merge.ts";
import type { OriginCount, Raise, Read } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";

/** Who waits for which key, and since when the read is under way. */
interface Flight {
  readonly sequence: Sequence;
  readonly beganMs: number;
  /** Whether any of those who wait may have a slot: a read that a peek began serves whoever joins it. */
  mayClaim: boolean;
  readonly outcome: Promise<ReadOutcome>;
}

/** What is to be read, for a request that fits. */
export interface ReadWish {
  readonly key: Key;
  readonly sequence: Sequence;
  /** A read that began before this moment does not do: the key's last denial, or -Infinity. Monotonic clock. */
  readonly notBeforeMs: number;
  /** Whether what is learnt may take a slot of its own: not for a peek. */
  readonly mayClaim: boolean;
}

const RETRY_AFTER_MS = 300;
/** More keys than this are not read at once: the rest decide from memory. */
const FLIGHTS_MAX = 10_000;
/** Keys whose last read failed; older ones are forgotten first. */
const FAILURES_MAX = 10_000;

export class Refresh {
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #trace: Trace | null;
  readonly #flights = new Map<string, Flight>();
  readonly #failedAtMs = new Map<string, number>();

  constructor(calls: OriginCalls, merge: CellMerge, clock: Clock, deadlineMs: number, trace: Trace | null) {
    this.#calls = calls;
    this.#merge = merge;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#trace = trace;
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  /** Reads one key, or joins a read that is under way and young enough. Never rejects. */
  async read(wish: ReadWish): Promise<ReadOutcome> {
    const text = encodeKey(wish.key);
    for (;;) {
      const flight = this.#flights.get(text);
      if (flight === undefined) return this.#begin([wish])[0]!;
      if (flight.sequence === wish.sequence && flight.beganMs >= wish.notBeforeMs) {
        flight.mayClaim ||= wish.mayClaim;
        return flight.outcome;
      }
      await flight.outcome;
    }
  }

  /** Reads many keys in one round trip. Those that are being read already are joined. */
  async readMany(wishes: readonly ReadWish[]): Promise<readonly ReadOutcome[]> {
    const seen = new Set<string>();
    const fresh = wishes.filter(({ key }) => {
      const text = encodeKey(key);
      const isFirst = !seen.has(text);
      seen.add(text);
      return isFirst && !this.#flights.has(text);
    });
    // Every request joins its own below. Flights never reject, so nobody has to wait for these.
    this.#begin(fresh);
    return Promise.all(wishes.map((wish) => this.read(wish)));
  }

  /** Starts one call for keys that are not in flight. */
  #begin(wishes: readonly ReadWish[]): readonly Promise<ReadOutcome>[] {
    const beganMs = this.#clock.monoMs();
    const texts = wishes.map(({ key }) => encodeKey(key));
    if (this.#flights.size + wishes.length > FLIGHTS_MAX || texts.every((text) => this.#hasJustFailed(text, beganMs))) {
      return wishes.map(async ({ sequence }) => failure(sequence, beganMs));
    }
    const writers = wishes.map(({ key }) => this.#merge.writerOf(key));
    const raises = wishes.map((wish) => this.#raiseOf(wish));
    const reads = wishes.flatMap(({ sequence }, i) => [
      { key: texts[i]!, sequence, writer: writers[i]! },
      { key: texts[i]!, sequence: sequence - 1, writer: writers[i]! },
    ]);
    const call = this.#calls.read(reads, this.#deadlineMs);
    return wishes.map((wish, i) => {
      const text = texts[i]!;
      const settled = Promise.all([call, this.#send(raises[i]!)]).then(([answers, raised]) => {
        const { mayClaim } = this.#flights.get(text)!;
        this.#flights.delete(text);
        const [current = null, previous = null] = answers?.slice(2 * i, 2 * i + 2) ?? [];
        return this.#settle({ ...wish, mayClaim }, text, writers[i]!, beganMs, raised ?? current, previous);
      });
      // A clock that fails while the answer is merged: the decision reads the clock next, and its caller receives the error.
      const outcome = settled.catch(() => {
        this.#flights.delete(text);
        return failure(wish.sequence, beganMs);
      });
      this.#flights.set(text, { sequence: wish.sequence, beganMs, mayClaim: wish.mayClaim, outcome });
      return outcome;
    });
  }

  /** For a strict key, the raise of what this process has accepted and the origin has not confirmed. */
  #raiseOf({ key, sequence, notBeforeMs }: ReadWish): Raise | null {
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
    wish: ReadWish,
    text: string,
    writer: string,
    beganMs: number,
    current: OriginCount | null,
    previous: OriginCount | null,
  ): ReadOutcome {
    const { key, sequence } = wish;
    // Answered as a whole or not at all: of half an answer nothing is merged.
    const isWhole = current !== null && previous !== null;
    this.#tell({ key: text, sequence, writer }, beganMs, isWhole ? current : null);
    this.#tell({ key: text, sequence: sequence - 1, writer }, beganMs, isWhole ? previous : null);
    if (!isWhole) {
      this.#failedAtMs.delete(text);
      this.#failedAtMs.set(text, this.#clock.monoMs());
      if (this.#failedAtMs.size > FAILURES_MAX) this.#failedAtMs.delete(this.#failedAtMs.keys().next().value as string);
      return failure(sequence, beganMs);
    }
    this.#failedAtMs.delete(text);
    const isOk = this.#merge.applyRead(key, sequence, writer, current, previous, beganMs, wish.mayClaim);
    return { isOk, beganMs, sequence, current: current.sum, previous: previous.sum };
  }

  #hasJustFailed(text: string, nowMs: number): boolean {
    const failedAtMs = this.#failedAtMs.get(text);
    return failedAtMs !== undefined && nowMs - failedAtMs < RETRY_AFTER_MS;
  }

  #tell({ key, sequence, writer }: Read, beganMs: number, answer: OriginCount | null): void {
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
