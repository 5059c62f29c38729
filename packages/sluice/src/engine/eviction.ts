/**
 * Which key a full table forgets: expired first, then the lowest use of its limit, then the least recently used.
 *
 * What a lost cell costs is what it had counted, so the emptiest goes first; among equals the busy stay. An attacker who
 * invents identifiers makes cells that are never used again: he loses those. He may find a rule with a low limit, where one
 * request is a third of it; so in a large table, keys that were used lately (while fewer new ones came than half of the
 * table holds) go after all that were not.
 *
 * Only a sample is looked at: of 8 keys not used lately, none is one of the 99 % that an attacker made once in 10^16 times,
 * and the cost of a claim stays bounded. A table of up to 64 slots is looked at whole, and goes by use alone.
 *
 * When the names of keys take too many bytes, the same rules choose among the slots with large names (name-budget.ts).
 */
import type { Slot } from "../core/brands.ts";
import { type CellTable, NONE } from "./cell-table.ts";
import { excessOf } from "./name-budget.ts";
import { cellExpiryMs, sequenceAt, windowEndMs } from "./sequence.ts";
import { share } from "./sliding-window.ts";
import type { SlotSet } from "./slot-set.ts";

/** How many slots that were not used lately are compared. */
const SAMPLE = 8;
/** The part of the table's size that, in new keys since its last use, makes a key one that is not used lately. */
const RECENT = 1 / 2;
/** How many are tried until one that may go is found: what is called "within reach". */
const REACH = 64;

/** Whether a slot must stay, whatever its use: it holds counts that nobody else has. */
export type IsPinned = (slot: Slot) => boolean;

/** Room for new keys: slots, bytes of names, and how many of those bytes may be the excess of large names. */
export interface Room {
  readonly slots: number;
  readonly bytes: number;
  readonly excess: number;
}

export class Eviction {
  readonly #table: CellTable;
  readonly #isPinned: IsPinned;
  /** The tick at which a thorough look found nothing, in the table and among large names: until the next one, nothing changes that. */
  #noneAt: number | null = null;
  #noneLargeAt: number | null = null;
  /** State of a xorshift generator: not for secrets, but not to be guessed from outside either. Never 0. */
  #random: number;

  constructor(table: CellTable, seed: number, isPinned: IsPinned) {
    this.#table = table;
    this.#isPinned = isPinned;
    this.#random = seed | 0 || 1;
  }

  /**
   * The slot to give up, or NONE if nothing within reach may go. Slots used at `tick` itself stay. `isThorough`: everything
   * is within reach.
   */
  victim(nowMs: number, tick: number, isThorough = false): Slot {
    const slots = this.#table.highWater;
    if (slots <= REACH) return this.#bestOf(slots, slots, 0, (i) => i, nowMs, tick);
    const recent = slots * RECENT;
    const found = this.#bestOf(SAMPLE, REACH, recent, () => this.#below(slots), nowMs, tick);
    if (found !== NONE || !isThorough || this.#noneAt === tick) return found;
    const first = this.#bestOf(1, slots, recent, (i) => i, nowMs, tick);
    if (first === NONE) this.#noneAt = tick;
    return first;
  }

  /** The same among slots with large names. They are looked at in turn: those that were looked at go behind the others. */
  victimAmong(large: SlotSet, nowMs: number, tick: number, isThorough = false): Slot {
    const { size } = large;
    const next = () => large.rotate();
    if (size <= REACH) return this.#bestOf(size, size, 0, next, nowMs, tick);
    const recent = size * RECENT;
    const found = this.#bestOf(SAMPLE, REACH, recent, next, nowMs, tick);
    if (found !== NONE || !isThorough || this.#noneLargeAt === tick) return found;
    const first = this.#bestOf(1, size, recent, next, nowMs, tick);
    if (first === NONE) this.#noneLargeAt = tick;
    return first;
  }

  /** What could be given up: slots, and bytes of large names. Counted until all are enough. `bytesOf`: of a large name, otherwise 0. */
  evictable(tick: number, enough: Room, bytesOf: (slot: Slot) => number): Room {
    const table = this.#table;
    let slots = 0;
    let bytes = 0;
    let excess = 0;
    const isEnough = () => slots >= enough.slots && bytes >= enough.bytes && excess >= enough.excess;
    for (let at = 0; at < table.highWater && !isEnough(); at++) {
      const slot = at as Slot;
      if (table.isFree(slot) || table.lastUse(slot) === tick || this.#isPinned(slot)) continue;
      slots++;
      bytes += bytesOf(slot);
      excess += excessOf(bytesOf(slot));
    }
    return { slots, bytes, excess };
  }

  /** The best of the first `compared` slots that were not used lately, and of all that are met until then. */
  #bestOf(
    compared: number,
    tries: number,
    recent: number,
    slotAt: (i: number) => number,
    nowMs: number,
    tick: number,
  ): Slot {
    const table = this.#table;
    let best = NONE;
    let bestUse = 0;
    let bestAge = 0;
    let seen = 0;
    for (let i = 0; i < tries && seen < compared; i++) {
      const slot = slotAt(i) as Slot;
      if (table.isFree(slot) || table.lastUse(slot) === tick) continue;
      const isPinned = this.#isPinned(slot);
      if (isExpired(table, slot, nowMs) && !isPinned) return slot;
      const use = useOf(table, slot, nowMs);
      const age = (tick - table.lastUse(slot)) >>> 0;
      if (!isPinned && age >= recent) seen++;
      if (isPinned || (best !== NONE && !isBetter(use, age, bestUse, bestAge, recent))) continue;
      best = slot;
      bestUse = use;
      bestAge = age;
    }
    return best;
  }

  #below(bound: number): number {
    let x = this.#random;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#random = x;
    return Math.floor((x >>> 0) * 2 ** -32 * bound);
  }
}

/** Whether giving up one slot is better than giving up the best so far. */
function isBetter(use: number, age: number, bestUse: number, bestAge: number, recent: number): boolean {
  if (age >= recent !== bestAge >= recent) return age >= recent;
  return use < bestUse || (use === bestUse && age > bestAge);
}

/**
 * Whether nothing of a slot's cells matters any more: their windows are over, or lie so far ahead that only a clock which
 * has since been set back can have made them.
 */
export function isExpired(table: CellTable, slot: Slot, nowMs: number): boolean {
  const durationMs = table.durationMs(slot);
  const sequence = table.sequence(slot);
  return nowMs >= cellExpiryMs(sequence, durationMs) || sequence > sequenceAt(nowMs, durationMs) + 1;
}

/**
 * The part of its limit that a key has used: the sliding window's count over the lowest limit it was requested with. The lowest, not the
 * highest that it was allowed with: under that one the count is nearest to denying, and losing it admits most. At most 1: losing
 * a key that was charged beyond its limit admits the limit once more, not what it was charged; otherwise a client who charges invented
 * keys much more than their limit would evict everybody else's.
 */
function useOf(table: CellTable, slot: Slot, nowMs: number): number {
  const durationMs = table.durationMs(slot);
  const sequence = sequenceAt(nowMs, durationMs);
  const previous = table.view(slot, (sequence - 1) as typeof sequence);
  const leftMs = windowEndMs(sequence, durationMs) - nowMs;
  const use = (table.view(slot, sequence) + share(previous, leftMs, durationMs)) / table.limitLow(slot);
  return Math.min(1, use);
}
