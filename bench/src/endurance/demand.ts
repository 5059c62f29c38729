/**
 * Who asks, and whether the answers can be right.
 *
 * Of ten requests six are for users far below their limit, three for busy ones that want more than theirs, and one is for somebody
 * never seen before, so that cells come and go all the time. This is the only client, so it knows between which two numbers the true
 * count of a cell lies: an answered request was decided between its sending and its end, an open one may have been decided.
 * A denial that even the larger number does not justify is false; an allow that even the smaller one forbids is excess.
 */
import type { ReadAnswer } from "../../../packages/server/src/tools/load/answer-reader.ts";

export const DURATION_MS = 60_000;
const USERS = 1_000;
const BUSY = 100;
/** Each busy one asks 9 times a second at 3,000 a second in all: 540 in a window. */
const BUSY_LIMIT = 300;
const HIGH_LIMIT = 1_000_000;

interface Flight {
  readonly who: number;
  readonly sentWallMs: number;
  /** What was surely counted when it was sent, in its window and in the one before. */
  readonly sure: number;
  readonly surePrevious: number;
}

/** What is known of one busy identifier, by window. */
interface Account {
  open: number;
  /** Answered, and decided in this window for sure. */
  readonly sure: Map<number, number>;
  /** Answered, and perhaps decided in this window. */
  readonly possible: Map<number, number>;
}

export class Demand {
  allowed = 0;
  denied = 0;
  falseDenials = 0;
  excess = 0;
  readonly #accounts: readonly Account[] = Array.from({ length: BUSY }, () => ({
    open: 0,
    sure: new Map(),
    possible: new Map(),
  }));
  readonly #flights = new Map<number, Flight>();

  /** Called when request i is sent. */
  bodyOf(index: number): string {
    const who = busyOf(index);
    if (who === undefined) return bodyOf(index % 10 === 0 ? `new_${index}` : `user_${index % USERS}`, HIGH_LIMIT);
    const account = this.#accounts[who]!;
    const sentWallMs = Date.now();
    const sequence = sequenceOf(sentWallMs);
    account.open++;
    const sure = account.sure.get(sequence) ?? 0;
    this.#flights.set(index, { who, sentWallMs, sure, surePrevious: account.sure.get(sequence - 1) ?? 0 });
    return bodyOf(`busy_${who}`, BUSY_LIMIT);
  }

  answered(index: number, { status, body }: ReadAnswer): void {
    const flight = this.#landed(index);
    if (status !== 200) return;
    const { data } = JSON.parse(body) as { readonly data: { readonly success: boolean } };
    if (data.success) this.allowed++;
    else this.denied++;
    if (flight === undefined) {
      if (!data.success) this.falseDenials++;
    } else if (data.success) this.#allowed(flight, Date.now());
    else this.#denied(flight, Date.now());
  }

  /** Whether it was decided is not known. */
  failed(index: number): void {
    const flight = this.#landed(index);
    if (flight !== undefined) this.#count("possible", flight, Date.now());
  }

  #landed(index: number): Flight | undefined {
    const flight = this.#flights.get(index);
    if (flight === undefined) return undefined;
    this.#flights.delete(index);
    this.#accounts[flight.who]!.open--;
    return flight;
  }

  #allowed(flight: Flight, endedWallMs: number): void {
    const isWithinOne = sequenceOf(flight.sentWallMs) === sequenceOf(endedWallMs);
    if (isWithinOne && effective(flight.sure, flight.surePrevious, endedWallMs) > BUSY_LIMIT) this.excess++;
    if (isWithinOne) this.#count("sure", flight, endedWallMs);
    this.#count("possible", flight, endedWallMs);
  }

  #denied({ who, sentWallMs }: Flight, endedWallMs: number): void {
    const { open, possible } = this.#accounts[who]!;
    const isFor = (wallMs: number) => {
      const sequence = sequenceOf(wallMs);
      const current = (possible.get(sequence) ?? 0) + open;
      return effective(current, (possible.get(sequence - 1) ?? 0) + open, wallMs) > BUSY_LIMIT;
    };
    // At the begin of a window the one before weighs most: if it straddles two, that is an instant of its own.
    const edgeMs = sequenceOf(endedWallMs) * DURATION_MS;
    if (!isFor(sentWallMs) && !(edgeMs > sentWallMs && isFor(edgeMs))) this.falseDenials++;
  }

  #count(kind: "sure" | "possible", { who, sentWallMs }: Flight, endedWallMs: number): void {
    const counts = this.#accounts[who]![kind];
    const last = sequenceOf(endedWallMs);
    for (let sequence = sequenceOf(sentWallMs); sequence <= last; sequence++) {
      counts.set(sequence, (counts.get(sequence) ?? 0) + 1);
      counts.delete(sequence - 3);
    }
  }
}

/** Three of ten; each of the hundred in turn. */
function busyOf(index: number): number | undefined {
  const digit = index % 10;
  return digit >= 1 && digit <= 3 ? (Math.floor(index / 10) * 3 + digit) % BUSY : undefined;
}

function bodyOf(identifier: string, limit: number): string {
  return `{"namespace":"endurance","identifier":"${identifier}","limit":${limit},"duration":${DURATION_MS}}`;
}

function sequenceOf(wallMs: number): number {
  return Math.floor(wallMs / DURATION_MS);
}

/** The formula of the sliding window, for a cost of 1. */
function effective(current: number, previous: number, wallMs: number): number {
  const leftMs = DURATION_MS - (wallMs % DURATION_MS);
  return current + Math.floor((previous * leftMs) / DURATION_MS) + 1;
}
