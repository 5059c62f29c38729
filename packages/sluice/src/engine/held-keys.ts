/**
 * What this process knows of reservations: for each key with holds, the cost of the living ones at the origin as last read, and what is
 * held in this process's memory.
 *
 * Holds are in no count. A decision takes them into account beside the counts (judge.ts), and only for keys that are in here: for all others
 * it looks at one byte, and without any held key at nothing. What is known of the origin may be old. It makes a request look at the origin,
 * and never denies one by itself.
 *
 * Bounded: KEYS_MAX keys. Beyond that the key that was heard of first is forgotten, unless something of it is held in memory.
 */
import { encodeKey } from "./key.ts";
import type { HashedKey } from "./key-hash.ts";

/** What an answer of the origin says of a key's holds, in this process's time. */
export interface HoldsHeard {
  readonly cost: number;
  /** Unix milliseconds by this process's clock before which none expires; 0: not known. */
  readonly earliestMs: number;
  /** 0: not known. */
  readonly version: number;
  /** When the call began. Monotonic clock. */
  readonly beganMs: number;
}

/** A hold in this process's memory. */
interface LocalHold {
  readonly cost: number;
  readonly deadlineMs: number;
}

export interface HeldKey extends HashedKey {
  cost: number;
  earliestMs: number;
  version: number;
  /** When the last answer was merged. Monotonic clock. */
  mergedMs: number;
  readonly local: Map<string, LocalHold>;
}

const KEYS_MAX = 100_000;
/** Counters of keys by the low bits of their hash: a byte that is 0 says that none of them is held. */
const FILTER_SIZE = 65_536;

export class HeldKeys {
  readonly #keys = new Map<string, HeldKey>();
  readonly #filter = new Uint8Array(FILTER_SIZE);

  get size(): number {
    return this.#keys.size;
  }

  /** Whether no held key has this hash: then there is nothing to look for. */
  isClear(h0: number): boolean {
    return this.#filter[h0 & (FILTER_SIZE - 1)] === 0;
  }

  find({ key, h0 }: HashedKey): HeldKey | undefined {
    return this.isClear(h0) ? undefined : this.#keys.get(encodeKey(key));
  }

  /** What is held of a key altogether, as far as is known. */
  costOf(hashed: HashedKey, nowMs: number): number {
    const held = this.find(hashed);
    return held === undefined ? 0 : held.cost + this.#localOf(held, nowMs);
  }

  /** What is held of a key in this process's memory. */
  localOf(hashed: HashedKey, nowMs: number): number {
    const held = this.find(hashed);
    return held === undefined ? 0 : this.#localOf(held, nowMs);
  }

  localCount(hashed: HashedKey): number {
    return this.find(hashed)?.local.size ?? 0;
  }

  /** When the first of a key's holds may expire, by this process's clock; Infinity if that is not known. */
  earliestMs(hashed: HashedKey, nowMs: number): number {
    const held = this.find(hashed);
    if (held === undefined) return Number.POSITIVE_INFINITY;
    let earliestMs = held.cost > 0 && held.earliestMs > nowMs ? held.earliestMs : Number.POSITIVE_INFINITY;
    for (const { deadlineMs } of held.local.values()) earliestMs = Math.min(earliestMs, deadlineMs);
    return earliestMs;
  }

  /** A newer version wins, and so does any answer to a call that began after the last one was merged. */
  merge(hashed: HashedKey, heard: HoldsHeard, monoMs: number): void {
    const known = this.find(hashed);
    if (known === undefined && heard.cost === 0) return;
    const held = known ?? this.#add(hashed);
    if (heard.version <= held.version && heard.beganMs < held.mergedMs) return;
    held.cost = heard.cost;
    held.earliestMs = heard.earliestMs;
    held.version = Math.max(held.version, heard.version);
    held.mergedMs = monoMs;
    this.#dropIfEmpty(held);
  }

  addLocal(hashed: HashedKey, id: string, cost: number, deadlineMs: number): void {
    (this.find(hashed) ?? this.#add(hashed)).local.set(id, { cost, deadlineMs });
  }

  removeLocal(hashed: HashedKey, id: string): void {
    const held = this.find(hashed);
    if (held === undefined) return;
    held.local.delete(id);
    this.#dropIfEmpty(held);
  }

  #localOf(held: HeldKey, nowMs: number): number {
    let cost = 0;
    for (const [id, hold] of held.local) {
      if (hold.deadlineMs > nowMs) cost += hold.cost;
      else held.local.delete(id);
    }
    return cost;
  }

  #add({ key, h0, h1, h2 }: HashedKey): HeldKey {
    if (this.#keys.size >= KEYS_MAX) this.#forgetOne();
    const held = {
      key,
      h0,
      h1,
      h2,
      cost: 0,
      earliestMs: 0,
      version: 0,
      mergedMs: Number.NEGATIVE_INFINITY,
      local: new Map(),
    };
    this.#keys.set(encodeKey(key), held);
    const at = h0 & (FILTER_SIZE - 1);
    // A byte that is full stays so: looking for a key that is not held only costs time.
    if (this.#filter[at]! < 255) this.#filter[at] = this.#filter[at]! + 1;
    return held;
  }

  #forgetOne(): void {
    for (const held of this.#keys.values()) {
      if (held.local.size > 0) continue;
      this.#drop(held);
      return;
    }
  }

  #dropIfEmpty(held: HeldKey): void {
    if (held.cost === 0 && held.local.size === 0) this.#drop(held);
  }

  #drop({ key, h0 }: HeldKey): void {
    if (!this.#keys.delete(encodeKey(key))) return;
    const at = h0 & (FILTER_SIZE - 1);
    if (this.#filter[at]! < 255) this.#filter[at] = this.#filter[at]! - 1;
  }
}
