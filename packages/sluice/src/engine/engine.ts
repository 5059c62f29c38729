/**
 * The engine: one process's memory and the decisions made from it. Synchronous, no I/O, no promise.
 *
 * Invariant: between looking and counting nothing else runs, so a decision rests on exactly what it looked at. A denial
 * changes no count.
 *
 * It takes validated numbers; limiter/ takes a caller's requests apart. Batches are in batch.ts.
 */

import { PART_LENGTH_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Clock, Random } from "../core/clock.ts";
import { checkPart } from "../core/part.ts";
import { CellTable, NONE } from "./cell-table.ts";
import { type Decision, decision, type Source } from "./decision.ts";
import { Eviction, type Room } from "./eviction.ts";
import { viewWaited, type Waited } from "./gate.ts";
import { HashMemo, type HashMemory } from "./hash-memo.ts";
import { HeldClock } from "./held-clock.ts";
import { type Key, keyOf } from "./key.ts";
import { KeyHash } from "./key-hash.ts";
import type { Layers } from "./layers.ts";
import { type Scope, Scopes } from "./scope.ts";
import { cellExpiryMs, sequenceAt, windowEndMs } from "./sequence.ts";
import { fitAfterEndMs, share } from "./sliding-window.ts";
import { StrictDeadlines } from "./strict-deadlines.ts";
import { Sweep } from "./sweep.ts";
import { TALLY, Tally } from "./tally.ts";

export type WhenFull = "allow" | "deny";

export interface EngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly cellsMax: number;
  readonly whenFull: WhenFull;
}

/** Slots a claim looks at for expired ones: twice as fast round the table as claims can fill it, and to spare. */
const SWEEP_PER_CLAIM = 4;

export class Engine {
  readonly table: CellTable;
  readonly hash: KeyHash;
  readonly scopes: Scopes;
  readonly clock: HeldClock;
  readonly tally: Tally = new Tally();
  readonly whenFull: WhenFull;
  /** Of keys without a slot: written by `release` and by denials of such keys. */
  readonly strictDeadlines: StrictDeadlines = new StrictDeadlines();
  /** What stands above this engine, if anything. Written by `attach` alone. */
  layers: Layers | null = null;
  readonly #memo = new HashMemo();
  readonly #sweep: Sweep;
  readonly #eviction: Eviction;
  /** Numbers the operations that claim slots, and batches: the age of a use is counted in them. Wraps at 2^32. */
  tick = 0;

  constructor(options: EngineOptions) {
    this.table = new CellTable(options.cellsMax);
    this.hash = new KeyHash(options.random);
    this.scopes = new Scopes(this.hash);
    this.clock = new HeldClock(options.clock);
    this.whenFull = options.whenFull;
    const release = (slot: Slot, nowMs: number) => {
      this.tally.add(TALLY.expired);
      this.release(slot, nowMs >= cellExpiryMs(this.table.sequence(slot), this.table.durationMs(slot)));
    };
    this.#sweep = new Sweep(this.table, release, (slot) => this.#isStrict(slot));
    this.#eviction = new Eviction(this.table, options.random.uint32(), (slot) => this.layers?.isPinned(slot) ?? false);
  }

  /** Attaches the layers above. Once, before the first decision. */
  attach(layers: Layers): void {
    this.layers = layers;
  }

  /**
   * Decides one request, and counts its cost if it fits. Null (only with an origin, and only without `waited`): it fits, but the
   * origin must be read first; call it again with what the read brought. A SluiceError if the identifier is not legal.
   */
  decide(scope: Scope, identifier: string, limit: number, cost: number, waited: Waited | null): Decision | null {
    this.locate(scope, identifier);
    const { durationMs } = scope;
    this.clock.read();
    const nowMs = this.clock.lastMs;
    const sequence = sequenceAt(nowMs, durationMs);
    const { h0, h1, h2 } = this.hash;
    const { table, layers } = this;
    const slot = table.find(h0, h1, h2, durationMs);
    let current = 0;
    let previous = 0;
    if (slot !== NONE) {
      // Stryker disable next-line ConditionalExpression: the long way sees the same; true was killed
      if (table.sequence(slot) === sequence) {
        current = table.viewCurrent(slot);
        previous = table.viewPrevious(slot);
      } else {
        current = table.view(slot, sequence);
        previous = table.view(slot, (sequence - 1) as Sequence);
      }
      table.touch(slot, this.tick);
    } else if (waited !== null) {
      current = viewWaited(waited, sequence);
      previous = viewWaited(waited, sequence - 1);
    }
    const endMs = windowEndMs(sequence, durationMs);
    // Stryker disable next-line ConditionalExpression: the share of nothing is nothing; true was killed
    const effective = current + (previous === 0 ? 0 : share(previous, endMs - nowMs, durationMs)) + cost;
    // A busy key, all known and fresh, takes the same short way as in a bare engine.
    const isKnown = slot !== NONE && waited === null;
    // Stryker disable next-line ConditionalExpression,EqualityOperator: the long way gives the same; true and > were killed
    const isPlain =
      layers === null || (isKnown && effective <= limit && layers.isReady(slot, sequence, limit - effective, limit));
    if (!isPlain) {
      const key = keyOf(scope, identifier);
      const asked = { key, h0, h1, h2, limit, cost, slot, sequence, nowMs, current, previous, effective };
      return layers.decide(asked, waited);
    }
    if (effective > limit) return this.deny(current, previous, effective, limit, cost, sequence, durationMs, "local");
    if (cost > 0) {
      let place = slot;
      if (place === NONE) {
        place = this.claim(h0, h1, h2, durationMs, sequence, nowMs);
        if (place === NONE) return this.unrecorded(limit, effective, endMs, "local");
      }
      table.accept(place, sequence, cost, limit);
      if (layers !== null) layers.accepted(place, limit - effective, limit, durationMs);
    } else if (layers !== null) {
      layers.requested(slot, limit);
    }
    this.tally.add(TALLY.allowed);
    return decision(true, limit, limit - effective, endMs, effective, "allowed", "local", false);
  }

  /** The answer to a request that does not fit. */
  deny(
    current: number,
    previous: number,
    effective: number,
    limit: number,
    cost: number,
    sequence: Sequence,
    durationMs: DurationMs,
    source: Source,
  ): Decision {
    const isNever = cost > limit;
    this.tally.add(isNever ? TALLY.deniedCost : TALLY.deniedLimit);
    const afterEndMs = isNever ? 0 : fitAfterEndMs(current, previous, limit, cost, durationMs);
    const resetMs = windowEndMs(sequence, durationMs) + afterEndMs;
    return decision(false, limit, 0, resetMs, effective, isNever ? "cost" : "limit", source, false);
  }

  /** Hashes the key into `hash`, and checks the identifier on the way: only what is odd about it is looked at twice. */
  locate(scope: Scope, identifier: string): void {
    // Stryker disable next-line ConditionalExpression,EqualityOperator,StringLiteral: a closer look finds nothing at what is legal; false, === and < were killed
    if (typeof identifier !== "string" || identifier.length === 0 || identifier.length > PART_LENGTH_MAX) {
      checkPart(identifier, "identifier");
    }
    const { hash } = this;
    const memory = this.#memo.at(identifier);
    // Stryker disable next-line ConditionalExpression: hashing anew gives the same; true was killed
    if (memory.scopeId === scope.id && memory.identifier === identifier) {
      hash.h0 = memory.h0;
      hash.h1 = memory.h1;
      hash.h2 = memory.h2;
    } else {
      this.#hashAnew(scope, identifier, memory);
    }
  }

  /** Apart from `locate`, so that the compiler has room for what every decision does. */
  #hashAnew(scope: Scope, identifier: string, memory: HashMemory): void {
    const { hash } = this;
    if (!hash.hash(scope.hash, identifier)) checkPart(identifier, "identifier");
    memory.met(scope.id, identifier, hash);
  }

  /** Hashes a key that was checked when it was first asked about. */
  locateKey({ workspace, namespace, identifier, durationMs }: Key): KeyHash {
    this.locate(this.scopes.find(workspace, namespace, durationMs), identifier);
    return this.hash;
  }

  /** Begins an operation that claims: slots it uses are not evicted for its own sake. */
  beginTick(): void {
    this.tick = (this.tick + 1) | 0;
  }

  touch(slot: Slot): void {
    this.table.touch(slot, this.tick);
  }

  /** A new slot for a key that has none, swept or evicted free at need; NONE if nothing within reach may go. */
  claim(h0: number, h1: number, h2: number, durationMs: DurationMs, sequence: Sequence, nowMs: number): Slot {
    this.beginTick();
    return this.#claim(h0, h1, h2, durationMs, sequence, nowMs, false);
  }

  /** The same within an operation of several claims: what it has used already is not evicted, all else is within reach. */
  claimInTick(h0: number, h1: number, h2: number, durationMs: DurationMs, sequence: Sequence, nowMs: number): Slot {
    return this.#claim(h0, h1, h2, durationMs, sequence, nowMs, true);
  }

  /** Whether a key can get a slot without an eviction. */
  get hasRoom(): boolean {
    return this.table.hasRoom && (this.layers === null || this.layers.budget.hasRoom);
  }

  /**
   * What `claimInTick` can give, counted until it is enough: so many slots, as long as the names of the keys before each take fewer bytes
   * than this.
   */
  roomInTick(enough: Room): Room {
    const { table, layers } = this;
    const slots = table.capacity - table.size;
    const bytes = layers === null ? Number.POSITIVE_INFINITY : layers.budget.bytesMax - layers.budget.bytes;
    const missing = { slots: enough.slots - slots, bytes: enough.bytes - bytes };
    const more = this.#eviction.evictable(this.tick, missing, (slot) => layers?.largeNameBytes(slot) ?? 0);
    return { slots: slots + more.slots, bytes: bytes + more.bytes };
  }

  #claim(
    h0: number,
    h1: number,
    h2: number,
    durationMs: DurationMs,
    sequence: Sequence,
    nowMs: number,
    isThorough: boolean,
  ): Slot {
    this.#sweep.sweepOnce(nowMs, SWEEP_PER_CLAIM);
    if (!this.table.hasRoom && !this.#evict(this.#eviction.victim(nowMs, this.tick, isThorough))) return NONE;
    const budget = this.layers?.budget;
    // Each claim adds one name, so on average as many bytes go as come.
    while (budget?.hasRoom === false) {
      if (!this.#evict(this.#eviction.victimAmong(budget.large, nowMs, this.tick, isThorough))) return NONE;
    }
    const slot = this.table.claim(h0, h1, h2, durationMs, sequence);
    this.table.touch(slot, this.tick);
    const strictUntilMs = this.strictDeadlines.take(h0, h1, h2, durationMs);
    if (strictUntilMs > 0) this.table.raiseStrictUntil(slot, strictUntilMs);
    return slot;
  }

  #evict(victim: Slot): boolean {
    if (victim === NONE) return false;
    this.tally.add(TALLY.evicted);
    this.release(victim, false);
    return true;
  }

  /** Forgets a key, but for a strict deadline. `isOver`: because its cells have expired. */
  release(slot: Slot, isOver: boolean): void {
    if (this.#isStrict(slot)) this.#keepDeadline(slot);
    this.layers?.released(slot, isOver);
    this.table.release(slot);
  }

  /** A bare engine has no strict keys, and does not touch their cold records. */
  #isStrict(slot: Slot): boolean {
    if (this.layers === null) return false;
    const untilMs = this.table.strictUntilMs(slot);
    return untilMs > 0 && untilMs > this.clock.monoMs();
  }

  #keepDeadline(slot: Slot): void {
    const { table } = this;
    const [h0, h1, h2] = table.hashOf(slot);
    this.strictDeadlines.raise(h0, h1, h2, table.durationMs(slot), table.strictUntilMs(slot), this.clock.monoMs());
  }

  /** Frees expired slots among the next `slotsMax`, up to `freedMax`; returns how many. */
  sweepOnce(slotsMax: number, freedMax: number): number {
    return this.#sweep.sweepOnce(this.clock.nowMs(), slotsMax, freedMax);
  }

  /** Fits, but there is no room for a record of it: by option, a lenient or a strict answer. */
  unrecorded(limit: number, effective: number, endMs: number, source: Source): Decision {
    this.tally.add(TALLY.unrecorded);
    if (this.whenFull === "allow") {
      this.tally.add(TALLY.allowed);
      return decision(true, limit, limit - effective, endMs, effective, "full", source, true);
    }
    this.tally.add(TALLY.deniedFull);
    return decision(false, limit, 0, endMs, effective, "full", source, true);
  }
}
