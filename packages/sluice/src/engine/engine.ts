/**
 * The engine: one process's memory. Finds the slot of a key, claims one at need, and forgets what is over or least useful.
 *
 * Invariant: synchronous, no I/O, no promise. Between looking and counting nothing else runs.
 *
 * It does not decide: single.ts and batch.ts do, in the steps view → judge → record. It takes validated numbers; limiter/ takes a caller's
 * requests apart. The three lanes of a key's hash do not leave this folder: others use `slotOf` and `claimFor`.
 */

import { PART_LENGTH_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Clock, Random } from "../core/clock.ts";
import { checkPart } from "../core/part.ts";
import { CellTable, NONE } from "./cell-table.ts";
import { Eviction, type Room } from "./eviction.ts";
import type { Waited } from "./gate.ts";
import { HashMemo, type HashMemory } from "./hash-memo.ts";
import { HeldClock } from "./held-clock.ts";
import type { HeldKeys } from "./held-keys.ts";
import { type Key, keyOf } from "./key.ts";
import { type HashedKey, KeyHash } from "./key-hash.ts";
import type { Layers } from "./layers.ts";
import { nameExcess } from "./name-budget.ts";
import { type Scope, Scopes } from "./scope.ts";
import { cellExpiryMs } from "./sequence.ts";
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
/** What names may take if none are kept. */
const NAMELESS = { bytes: Number.POSITIVE_INFINITY, excess: Number.POSITIVE_INFINITY };

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
  readonly #random: Random;
  /** Made by `#evictor`, at the latest with the first eviction: it has a random seed. */
  #eviction: Eviction | null = null;
  /** Numbers the operations that claim slots, and batches: the age of a use is counted in them. Wraps at 2^32. */
  tick = 0;

  /** What is known of reservations; null until there is one. Written by engine/reserve.ts and origin/hold-client.ts. */
  held: HeldKeys | null = null;

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
    const isKept = (slot: Slot) => this.#isStrict(slot) || this.layers?.isCalling(slot) === true;
    this.#sweep = new Sweep(this.table, release, isKept);
    this.#random = options.random;
  }

  /** Draws every random seed now, and not when it is first needed: a run that is repeated then draws in the same order. */
  seed(): void {
    this.hash.seed();
    this.#evictor();
  }

  #evictor(): Eviction {
    this.#eviction ??= new Eviction(this.table, this.#random.uint32(), (slot) => this.layers?.isPinned(slot) ?? false);
    return this.#eviction;
  }

  /** Attaches the layers above. Once, before the first decision. */
  attach(layers: Layers): void {
    this.layers = layers;
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

  /** The key of an identifier with its hash, checked like `locate` does. */
  hashed(scope: Scope, identifier: string): HashedKey {
    this.locate(scope, identifier);
    const { h0, h1, h2 } = this.hash;
    return { key: keyOf(scope, identifier), h0, h1, h2 };
  }

  /** The same of a key that was checked when it was first asked about. */
  hashedKey(key: Key): HashedKey {
    this.#locateKey(key);
    const { h0, h1, h2 } = this.hash;
    return { key, h0, h1, h2 };
  }

  /** The slot of a key that was checked when it was first asked about, or NONE. */
  slotOf(key: Key): Slot {
    this.#locateKey(key);
    const { h0, h1, h2 } = this.hash;
    return this.table.find(h0, h1, h2, key.durationMs);
  }

  /** A new slot for a key that has none: see `claim`. */
  claimFor(key: Key, sequence: Sequence, nowMs: number): Slot {
    this.#locateKey(key);
    const { h0, h1, h2 } = this.hash;
    this.beginTick();
    return this.claim({ key, h0, h1, h2 }, sequence, nowMs, null);
  }

  #locateKey({ workspace, namespace, identifier, durationMs }: Key): void {
    this.locate(this.scopes.find(workspace, namespace, durationMs), identifier);
  }

  /** Until when a key is strict, by the monotonic clock; 0: it never was. */
  strictUntilMs(key: Key): number {
    const slot = this.slotOf(key);
    if (slot !== NONE) return this.table.strictUntilMs(slot);
    const { h0, h1, h2 } = this.hash;
    return this.strictDeadlines.untilMs(h0, h1, h2, key.durationMs);
  }

  /** Makes a key strict until then. `slot`: the key's, or NONE. */
  raiseStrictUntil(key: Key, slot: Slot, untilMs: number): void {
    if (slot !== NONE) {
      this.table.raiseStrictUntil(slot, untilMs);
      return;
    }
    this.#locateKey(key);
    const { h0, h1, h2 } = this.hash;
    this.strictDeadlines.raise(h0, h1, h2, key.durationMs, untilMs, this.clock.monoMs());
  }

  /** Begins an operation that claims: slots it uses are not evicted for its own sake. */
  beginTick(): void {
    this.tick = (this.tick + 1) | 0;
  }

  touch(slot: Slot): void {
    this.table.touch(slot, this.tick);
  }

  /**
   * A new slot for a key that has none, swept or evicted free at need, and reported to the layers; NONE if nothing within reach may go.
   * Within a tick of several claims (`isThorough`), what the tick has used already is not evicted, and all else is within reach.
   */
  claim(
    { key, h0, h1, h2 }: HashedKey,
    sequence: Sequence,
    nowMs: number,
    waited: Waited | null,
    isThorough = false,
  ): Slot {
    const excess = this.layers === null ? 0 : nameExcess(key);
    const slot = this.#claim(h0, h1, h2, key.durationMs, sequence, nowMs, excess, isThorough);
    if (slot !== NONE) this.layers?.claimed(slot, key, waited);
    return slot;
  }

  /** Whether a key can get a slot without an eviction. */
  hasRoomFor(key: Key): boolean {
    return this.table.hasRoom && (this.layers === null || this.layers.budget.hasRoom(nameExcess(key)));
  }

  /**
   * What a thorough `claim` can give, counted until it is enough: so many slots, as long as the names of the keys before each take fewer bytes
   * than this, and for a large name also less excess.
   */
  roomInTick(enough: Room): Room {
    const { table, layers } = this;
    const slots = table.capacity - table.size;
    const free = layers === null ? NAMELESS : layers.budget.free;
    const missing = {
      slots: enough.slots - slots,
      bytes: enough.bytes - free.bytes,
      excess: enough.excess - free.excess,
    };
    const more = this.#evictor().evictable(this.tick, missing, (slot) => layers?.largeNameBytes(slot) ?? 0);
    return { slots: slots + more.slots, bytes: free.bytes + more.bytes, excess: free.excess + more.excess };
  }

  #claim(
    h0: number,
    h1: number,
    h2: number,
    durationMs: DurationMs,
    sequence: Sequence,
    nowMs: number,
    excess: number,
    isThorough: boolean,
  ): Slot {
    this.#sweep.sweepOnce(nowMs, SWEEP_PER_CLAIM);
    if (!this.table.hasRoom && !this.#evict(this.#evictor().victim(nowMs, this.tick, isThorough))) return NONE;
    const budget = this.layers?.budget;
    // Each claim adds one name, so on average as many bytes go as come.
    while (budget?.hasRoom(excess) === false) {
      if (!this.#evict(this.#evictor().victimAmong(budget.large, nowMs, this.tick, isThorough))) return NONE;
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
}
