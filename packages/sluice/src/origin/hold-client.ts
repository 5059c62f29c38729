/**
 * The process's side of `hold` and `free`: makes the calls, and merges their answers.
 *
 * Windows, deadlines and weights of reservations run by the origin's clock. This process's clock is only a guess of the window: if it is wrong,
 * the origin does nothing and says what time it is, and the call is made again. Looks are for decisions of this process, and use its clock.
 *
 * Invariant: a hold is sent once. Without an answer, what it may have made is cancelled.
 *
 * It neither retries frees (pending-frees.ts) nor knows handles and tokens (limiter/reservation.ts).
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import { HeldKeys } from "../engine/held-keys.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import type { HashedKey } from "../engine/key-hash.ts";
import type { Ledger } from "../engine/ledger.ts";
import { sequenceAt } from "../engine/sequence.ts";
import type { CellMerge } from "./cell-merge.ts";
import type { Free, FreedItem, FreeVerb, HeldItem, Hold, HoldItem, KeyHolds } from "./hold.ts";
import type { OriginCalls } from "./origin-calls.ts";

/** How often a call whose window was wrong is made again. */
const GUESSES_MAX = 3;
/** A call may be executed this long after the caller has stopped waiting for it. */
const BY_SLACK_MS = 5_000;
/** Cells whose settled total is remembered. */
const SETTLED_KNOWN_MAX = 10_000;
/** A difference of clocks that is older than this is measured again, even by a slower call. */
const OFFSET_KEPT_MS = 60_000;

export interface ReserveItem extends HashedKey {
  readonly limit: number;
  readonly cost: number;
}

export type HoldOutcome =
  | { readonly kind: "held"; readonly deadlineMs: number; readonly items: readonly HeldItem[] }
  | { readonly kind: "refused"; readonly items: readonly HeldItem[] }
  /** The id cannot be used again: some of it may have been held, and is being cancelled. */
  | { readonly kind: "again" }
  | { readonly kind: "unavailable"; readonly mayBeHeld: boolean };

export interface FreeItem {
  readonly key: Key;
  readonly id: string;
  readonly verb: FreeVerb;
  readonly actual: number;
  readonly ttlMs: number;
}

interface Look {
  readonly isOk: boolean;
  readonly sequence: Sequence;
  readonly current: number;
  readonly previous: number;
  readonly cost: number;
}

export class HoldClient {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #clock: Clock;
  readonly #readTimeoutMs: number;
  readonly #holdsMax: number;
  /** The origin's clock is ahead of this process's by this. From the answer with the shortest round trip. */
  #offsetMs = 0;
  #offsetTripMs = Number.POSITIVE_INFINITY;
  #offsetAtMs = Number.NEGATIVE_INFINITY;
  /** What is counted under this process's settled component, by cell: an origin that was emptied continues from it. */
  readonly #settled = new Map<string, number>();

  constructor(
    engine: Engine,
    ledger: Ledger,
    calls: OriginCalls,
    merge: CellMerge,
    options: { readonly clock: Clock; readonly readTimeoutMs: number; readonly holdsMax: number },
  ) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#calls = calls;
    this.#merge = merge;
    this.#clock = options.clock;
    this.#readTimeoutMs = options.readTimeoutMs;
    this.#holdsMax = options.holdsMax;
  }

  /** A time of the origin by this process's clock. */
  toLocalMs(originMs: number): number {
    return originMs - this.#offsetMs;
  }

  /** Both cells of a key and its holds, in the window that is current here; null if the origin cannot be asked. */
  async look(key: Key, nowMs: number, mayClaim: boolean): Promise<Look | null> {
    const beganMs = this.#clock.monoMs();
    const sequence = sequenceAt(nowMs, key.durationMs);
    const item = this.#itemOf({ ...this.#engine.hashedKey(key), limit: 0, cost: 0 }, sequence);
    const atMs = this.#originMs();
    const call: Hold = { id: "", ttlMs: 0, atMs, byMs: atMs, holdsMax: this.#holdsMax, items: [item] };
    const answer = await this.#hold(call, beganMs);
    if (answer === null || answer === "refused" || answer.code !== "done") return null;
    const [found] = answer.items;
    if (found === undefined || found === null) return null;
    const { current, previous } = found;
    const isOk = this.#merge.applyRead(key, sequence, item.writer, current, previous, beganMs, mayClaim);
    this.#heard(key, found.holds, beganMs);
    return {
      isOk,
      sequence,
      current: Math.max(current.sum, item.known),
      previous: Math.max(previous.sum, item.previousKnown),
      cost: found.holds.cost,
    };
  }

  /** Makes a reservation, or enlarges one. `isNew`: what was granted in part is cancelled. */
  async hold(id: string, items: readonly ReserveItem[], ttlMs: number, isNew: boolean): Promise<HoldOutcome> {
    for (let guess = 0; guess < GUESSES_MAX; guess++) {
      const beganMs = this.#clock.monoMs();
      const atMs = this.#originMs();
      const asked = items.map((item) => this.#itemOf(item, sequenceAt(atMs, item.key.durationMs)));
      const byMs = atMs + this.#readTimeoutMs + BY_SLACK_MS;
      const answer = await this.#hold({ id, ttlMs, atMs, byMs, holdsMax: this.#holdsMax, items: asked }, beganMs);
      if (answer === "refused") return { kind: "unavailable", mayBeHeld: false };
      if (answer === null) return { kind: "unavailable", mayBeHeld: true };
      if (answer.code === "done") return this.#end(items, asked, answer.items, beganMs);
      if (answer.isPartial === true) return isNew ? { kind: "again" } : { kind: "unavailable", mayBeHeld: true };
    }
    return { kind: "unavailable", mayBeHeld: false };
  }

  /** One attempt. Null for an item of which nothing is known; "refused" if nothing was sent. */
  async free(items: readonly FreeItem[]): Promise<readonly (FreedItem | null)[] | "refused"> {
    for (let guess = 0; guess < GUESSES_MAX; guess++) {
      const beganMs = this.#clock.monoMs();
      const atMs = this.#originMs();
      const frees = items.map((item) => this.#freeOf(item, atMs));
      const answer = await this.#calls.free(frees, atMs, this.#readTimeoutMs);
      if (answer === "refused") return "refused";
      if (answer === null) return items.map(() => null);
      this.#measure(answer.nowMs, beganMs);
      if (answer.code === "window") continue;
      answer.items.forEach((freed, i) => {
        if (freed !== null) this.#freed(items[i]!, frees[i]!, freed, beganMs);
      });
      return answer.items;
    }
    return items.map(() => null);
  }

  async #hold(call: Hold, beganMs: number) {
    const answer = await this.#calls.hold(call, this.#readTimeoutMs);
    if (answer !== null && answer !== "refused") this.#measure(answer.nowMs, beganMs);
    return answer;
  }

  #end(
    items: readonly ReserveItem[],
    asked: readonly HoldItem[],
    answers: readonly (HeldItem | null)[],
    beganMs: number,
  ): HoldOutcome {
    const held: HeldItem[] = [];
    answers.forEach((answer, i) => {
      if (answer === null) return;
      held.push(answer);
      this.#granted(items[i]!, asked[i]!, answer, beganMs);
    });
    if (held.length < items.length) return { kind: "unavailable", mayBeHeld: true };
    if (!held.every(({ code }) => code === "granted" || code === "again")) return { kind: "refused", items: held };
    const deadlineMs = Math.min(...held.map((item) => item.deadlineMs));
    return { kind: "held", deadlineMs: this.toLocalMs(deadlineMs), items: held };
  }

  /** Takes a slot, so that the region's publisher knows the key and its limit when it is settled. */
  #granted({ key, limit }: ReserveItem, { sequence, writer }: HoldItem, answer: HeldItem, beganMs: number): void {
    const { current, previous, holds } = answer;
    if (answer.code === "fits" && holds.version === 0 && current.sum === 0) return;
    if (sequence <= sequenceAt(this.#engine.clock.nowMs(), key.durationMs)) {
      this.#merge.applyRead(key, sequence as Sequence, writer, current, previous, beganMs, true);
      const slot = this.#engine.slotOf(key);
      if (slot !== NONE) this.#engine.layers?.requested(slot, limit);
    }
    this.#heard(key, holds, beganMs);
  }

  #freed({ key, verb }: FreeItem, free: Free, freed: FreedItem, beganMs: number): void {
    this.#heard(key, freed.holds, beganMs);
    if (verb !== "settle" || freed.code === "unknown") return;
    const cell = `${free.sequence}/${free.key}`;
    this.#settled.delete(cell);
    this.#settled.set(cell, Math.max(free.known, freed.current.component));
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > SETTLED_KNOWN_MAX && oldest !== undefined) this.#settled.delete(oldest);
    this.#mergeSettled(key, free.sequence as Sequence, freed.current.sum);
  }

  /** What the origin holds beside this process's own total is a lower bound of what the others accepted: settlements are others'. */
  #mergeSettled(key: Key, sequence: Sequence, sum: number): void {
    const slot = this.#engine.slotOf(key);
    if (slot === NONE) return;
    const { table } = this.#engine;
    const before = table.regional(slot, sequence);
    table.raiseOthers(slot, sequence, sum - table.own(slot, sequence));
    if (table.regional(slot, sequence) > before) this.#ledger.regionalRose(slot);
  }

  #heard(key: Key, { cost, earliestMs, version }: KeyHolds, beganMs: number): void {
    const engine = this.#engine;
    if (engine.held === null && cost === 0) return;
    engine.held ??= new HeldKeys();
    const localMs = earliestMs === 0 ? 0 : this.toLocalMs(earliestMs);
    const heard = { cost, earliestMs: localMs, version, beganMs };
    engine.held.merge(engine.hashedKey(key), heard, this.#clock.monoMs());
  }

  #itemOf({ key, limit, cost, ...hashes }: ReserveItem, sequence: Sequence): HoldItem {
    const { table, held, clock } = this.#engine;
    const slot = this.#engine.slotOf(key);
    const before = (sequence - 1) as Sequence;
    const of = (read: (slot: Slot, sequence: Sequence) => number, at: Sequence) => (slot === NONE ? 0 : read(slot, at));
    const own = (at: Sequence) => of((one, seq) => table.own(one, seq), at);
    const regional = (at: Sequence) => of((one, seq) => table.regional(one, seq), at);
    const foreign = (at: Sequence) => of((one, seq) => table.foreign(one, seq), at);
    return {
      key: encodeKey(key),
      durationMs: key.durationMs,
      sequence,
      limit,
      cost,
      writer: this.#merge.writerOf(key),
      total: own(sequence),
      previousTotal: own(before),
      known: regional(sequence),
      previousKnown: regional(before),
      foreign: foreign(sequence),
      previousForeign: foreign(before),
      heldInMemory: held?.localOf({ key, ...hashes }, clock.nowMs()) ?? 0,
    };
  }

  #freeOf({ key, id, verb, actual, ttlMs }: FreeItem, atMs: number): Free {
    const text = encodeKey(key);
    const sequence = sequenceAt(atMs, key.durationMs as DurationMs);
    const known = this.#settled.get(`${sequence}/${text}`) ?? 0;
    const writer = `${this.#ledger.incarnation}.s`;
    return { key: text, durationMs: key.durationMs, sequence, id, verb, actual, ttlMs, writer, known };
  }

  #originMs(): number {
    return Math.floor(this.#clock.wallMs() + this.#offsetMs);
  }

  #measure(nowMs: number, beganMs: number): void {
    const monoMs = this.#clock.monoMs();
    const tripMs = monoMs - beganMs;
    const isOld = monoMs - this.#offsetAtMs > OFFSET_KEPT_MS;
    const offsetMs = nowMs - (this.#clock.wallMs() - tripMs / 2);
    // A difference that the trip cannot explain: one of the clocks was set.
    const isWrong = Math.abs(offsetMs - this.#offsetMs) > tripMs + this.#offsetTripMs;
    if (tripMs > this.#offsetTripMs && !isOld && !isWrong) return;
    this.#offsetMs = offsetMs;
    this.#offsetTripMs = tripMs;
    this.#offsetAtMs = monoMs;
  }
}
