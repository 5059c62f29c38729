/**
 * The cell table: every count this process holds, in typed arrays of a fixed size.
 *
 * Invariants: while a slot keeps its sequence, none of its counts falls. A slot is reachable through the index if and only
 * if it is not free. The table never grows.
 *
 * It knows no clock and no limit: engine.ts decides, eviction.ts says what may go, sweep.ts says what is over.
 *
 * ```
 *  index   Int32Array, 2^k ≥ 1.5 × keys           slots     two records a key
 *  ┌──────────────────────────────────┐           ┌─ hot, 64 bytes: what every decision touches ─────────────────┐
 *  │ 0 = empty, else tag(8) slot+1(24)│ ────────▶ │ h0 h1 h2 duration │ sequence lastUse │ own own′ │ others others′│
 *  └──────────────────────────────────┘           │ lowest limit requested with                                   │
 *   linear probing from h0, no tombstones         ├─ cold, 72 bytes: what the layers above touch ─────────────────┤
 *                                                 │ foreign foreign′ replayed replayed′ published published′      │
 *                                                 │ freshUntil freshUntil′ │ strictUntil                          │
 *                                                 └───────────────────────────────────────────────────────────────┘
 * ```
 * A field and its primed twin are the cells at `sequence` and `sequence - 1`. A duration of 0 marks a free slot, whose h0
 * links to the next free one. Pages are paid for as slots are first used: an empty table of a million costs nothing.
 */
import { assert } from "../core/assert.ts";
import { COMPONENT_MAX, SUM_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";

/** No slot. Never a legal one. */
export const NONE: Slot = -1 as Slot;

/**
 * The allocator places a large block 16 bytes after a page's start: 48 more, and a hot record is one cache line instead of
 * parts of two (0.93 of the time a decision takes over 100,000 keys). Elsewhere it does no harm.
 */
const ALIGN_BYTES = 48;

/** Words of 4 bytes in a hot record, and where they are. It begins with h0. */
const HOT_INTS = 16;
const H1 = 1;
const H2 = 2;
const DURATION = 3;
const SEQUENCE = 4;
const LAST_USE = 5;
/** Doubles in a hot record. */
const HOT = 8;
const OWN = 3;
const OTHERS = 5;
const LIMIT_LOW = 7;
/** Doubles in a cold record. It begins with the foreign counts. */
const COLD = 9;
const FOREIGN = 0;
const REPLAYED = 2;
const PUBLISHED = 4;
const FRESH_UNTIL = 6;
const STRICT_UNTIL = 8;

/** Index entries per slot: at two thirds full a look-up probes two entries on average, within one cache line. */
const INDEX_SPARE = 1.5;
const INDEX_SMALLEST = 2 ** 12;
const INDEX_STEP_LARGEST = 2 ** 18;

const SLOT_BITS = 0xff_ff_ff;

export class CellTable {
  readonly capacity: number;
  /** Slots in use. Written by claim and release. */
  size = 0;
  /** Slots ever used: those from here on are untouched memory. */
  highWater = 0;
  #index: Int32Array;
  #mask: number;
  /** How large the index becomes: enough for a full table. */
  readonly #indexFinal: number;
  readonly #ints: Int32Array;
  readonly #hot: Float64Array;
  readonly #cold: Float64Array;
  #firstFree: Slot = NONE;
  /** Whether any foreign count was ever merged. Until then no decision touches a cold record: one cache miss less. */
  // Stryker disable next-line BooleanLiteral: it only saves a look at zeros
  #hasForeign = false;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#indexFinal = 2 ** Math.ceil(Math.log2(Math.max(4, capacity * INDEX_SPARE)));
    this.#index = new Int32Array(Math.min(INDEX_SMALLEST, this.#indexFinal));
    this.#mask = this.#index.length - 1;
    const bytes = new ArrayBuffer(ALIGN_BYTES + capacity * HOT * 8);
    this.#hot = new Float64Array(bytes, ALIGN_BYTES);
    this.#ints = new Int32Array(bytes, ALIGN_BYTES);
    this.#cold = new Float64Array(capacity * COLD);
  }

  get hasRoom(): boolean {
    return this.size < this.capacity;
  }

  /** The slot of the key with this hash and duration, or NONE. */
  find(h0: number, h1: number, h2: number, durationMs: DurationMs): Slot {
    const index = this.#index;
    const ints = this.#ints;
    const mask = this.#mask;
    const duration = durationMs | 0;
    for (let i = h0 & mask; ; i = (i + 1) & mask) {
      const entry = index[i]!;
      if (entry === 0) return NONE;
      // Stryker disable next-line ConditionalExpression: the record is looked at below; true was killed
      if ((entry ^ (h1 << 24)) >>> 24 !== 0) continue;
      const slot = (entry & SLOT_BITS) - 1;
      const at = slot * HOT_INTS;
      if (ints[at] === h0 && ints[at + H1] === h1 && ints[at + H2] === h2 && ints[at + DURATION] === duration) {
        return slot as Slot;
      }
    }
  }

  /** Gives a key that has no slot yet an empty one. There must be room. */
  claim(h0: number, h1: number, h2: number, durationMs: DurationMs, sequence: Sequence): Slot {
    assert(this.size < this.capacity, "a claim on a full table");
    let slot = this.#firstFree;
    if (slot === NONE) {
      slot = this.highWater++ as Slot;
    } else {
      this.#firstFree = this.#ints[slot * HOT_INTS]! as Slot;
      this.#hot.fill(0, slot * HOT, slot * HOT + HOT);
      this.#cold.fill(0, slot * COLD, slot * COLD + COLD);
    }
    this.size++;
    const at = slot * HOT_INTS;
    const ints = this.#ints;
    ints[at] = h0;
    ints[at + H1] = h1;
    ints[at + H2] = h2;
    ints[at + DURATION] = durationMs | 0;
    ints[at + SEQUENCE] = sequence | 0;
    this.#hot[slot * HOT + LIMIT_LOW] = Number.POSITIVE_INFINITY;
    // Stryker disable next-line EqualityOperator: no power of two is half as much again as a whole number; <= was killed
    if (this.size * INDEX_SPARE > this.#index.length) this.#growIndex();
    else this.#enter(slot);
    return slot;
  }

  /** Puts a slot into the index. */
  #enter(slot: Slot): void {
    const at = slot * HOT_INTS;
    let i = this.#ints[at]! & this.#mask;
    while (this.#index[i] !== 0) i = (i + 1) & this.#mask;
    this.#index[i] = (this.#ints[at + H1]! << 24) | (slot + 1);
  }

  /**
   * Makes the index larger and enters every slot anew: it only becomes too small when more slots are in use than ever before, so
   * none is free. A small index fits the processor's caches, so it starts small and
   * grows by four; past 2^18 entries it takes its final size at once, so that no step enters more than 175,000 slots
   * (about 5 ms).
   */
  #growIndex(): void {
    const grown = this.#index.length >= INDEX_STEP_LARGEST ? this.#indexFinal : this.#index.length * 4;
    this.#index = new Int32Array(Math.min(grown, this.#indexFinal));
    this.#mask = this.#index.length - 1;
    // Stryker disable next-line EqualityOperator: <= enters a slot that is free, which nothing finds; >= was killed
    for (let slot = 0; slot < this.highWater; slot++) this.#enter(slot as Slot);
  }

  /** Frees a slot: its key is forgotten. */
  release(slot: Slot): void {
    assert(!this.isFree(slot), "a free slot released");
    const ints = this.#ints;
    const index = this.#index;
    const mask = this.#mask;
    let hole = ints[slot * HOT_INTS]! & mask;
    while ((index[hole]! & SLOT_BITS) - 1 !== slot) hole = (hole + 1) & mask;
    // Close the gap: an entry behind it moves up unless that would put it before its home.
    for (let i = (hole + 1) & mask; index[i] !== 0; i = (i + 1) & mask) {
      const home = ints[((index[i]! & SLOT_BITS) - 1) * HOT_INTS]! & mask;
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        index[hole] = index[i]!;
        hole = i;
      }
    }
    index[hole] = 0;
    ints[slot * HOT_INTS + DURATION] = 0;
    ints[slot * HOT_INTS] = this.#firstFree;
    this.#firstFree = slot;
    this.size--;
  }

  isFree(slot: Slot): boolean {
    return this.#ints[slot * HOT_INTS + DURATION] === 0;
  }

  /** The hash of the slot's key. Allocates: not for a decision's path. */
  hashOf(slot: Slot): readonly [h0: number, h1: number, h2: number] {
    const at = slot * HOT_INTS;
    return [this.#ints[at]!, this.#ints[at + H1]!, this.#ints[at + H2]!];
  }

  durationMs(slot: Slot): DurationMs {
    return (this.#ints[slot * HOT_INTS + DURATION]! >>> 0) as DurationMs;
  }

  sequence(slot: Slot): Sequence {
    return (this.#ints[slot * HOT_INTS + SEQUENCE]! >>> 0) as Sequence;
  }

  /**
   * Makes `sequence` the slot's current window. Forward by one, the current cell becomes the previous one; back by one
   * (only after a clock that was followed backwards), the previous one becomes current again; further, both start empty.
   */
  rotate(slot: Slot, sequence: Sequence): void {
    const step = sequence - this.sequence(slot);
    if (step !== 0) this.#turn(slot, sequence, step);
  }

  /** Empties both cells of a slot and begins again at `sequence`. Its key and its strict deadline stay. */
  restart(slot: Slot, sequence: Sequence): void {
    this.#turn(slot, sequence, FAR);
    this.#hot[slot * HOT + LIMIT_LOW] = Number.POSITIVE_INFINITY;
  }

  #turn(slot: Slot, sequence: Sequence, step: number): void {
    const hot = this.#hot;
    const cold = this.#cold;
    const h = slot * HOT;
    const c = slot * COLD;
    turn(hot, h + OWN, step);
    turn(hot, h + OTHERS, step);
    turn(cold, c, step);
    turn(cold, c + REPLAYED, step);
    turn(cold, c + PUBLISHED, step);
    turn(cold, c + FRESH_UNTIL, step);
    this.#ints[slot * HOT_INTS + SEQUENCE] = sequence | 0;
  }

  /** Own + others + foreign of the slot's cell at `sequence`; 0 if the slot does not hold that cell. */
  view(slot: Slot, sequence: Sequence): number {
    const twin = this.sequence(slot) - sequence;
    return twin === 0 ? this.viewCurrent(slot) : twin === 1 ? this.viewPrevious(slot) : 0;
  }

  /** The view of the cell at the slot's own sequence, and of the one before: the two that a busy key is decided from. */
  viewCurrent(slot: Slot): number {
    const h = slot * HOT;
    const regional = this.#hot[h + OWN]! + this.#hot[h + OTHERS]!;
    return this.#hasForeign ? regional + this.#cold[slot * COLD]! : regional;
  }

  viewPrevious(slot: Slot): number {
    const h = slot * HOT + 1;
    const regional = this.#hot[h + OWN]! + this.#hot[h + OTHERS]!;
    return this.#hasForeign ? regional + this.#cold[slot * COLD + 1]! : regional;
  }

  /** Own + others of the slot's cell at `sequence`: what the region may publish. */
  regional(slot: Slot, sequence: Sequence): number {
    return this.own(slot, sequence) + this.others(slot, sequence);
  }

  own(slot: Slot, sequence: Sequence): number {
    return this.#hotCell(slot, sequence, OWN);
  }

  others(slot: Slot, sequence: Sequence): number {
    return this.#hotCell(slot, sequence, OTHERS);
  }

  foreign(slot: Slot, sequence: Sequence): number {
    return this.#coldCell(slot, sequence, FOREIGN);
  }

  replayed(slot: Slot, sequence: Sequence): number {
    return this.#coldCell(slot, sequence, REPLAYED);
  }

  published(slot: Slot, sequence: Sequence): number {
    return this.#coldCell(slot, sequence, PUBLISHED);
  }

  /** 0: cold, never read from the origin. */
  freshUntilMs(slot: Slot, sequence: Sequence): number {
    return this.#coldCell(slot, sequence, FRESH_UNTIL);
  }

  strictUntilMs(slot: Slot): number {
    return this.#cold[slot * COLD + STRICT_UNTIL]!;
  }

  /** Whether `sequence` is the slot's own, both its cells are fresh and its key is not strict: what a busy key is, at one go. */
  isSettled(slot: Slot, sequence: Sequence, monoMs: number): boolean {
    if (this.#ints[slot * HOT_INTS + SEQUENCE] !== (sequence | 0)) return false;
    const cold = this.#cold;
    const c = slot * COLD;
    return monoMs < cold[c + FRESH_UNTIL]! && monoMs < cold[c + FRESH_UNTIL + 1]! && monoMs >= cold[c + STRICT_UNTIL]!;
  }

  /**
   * The lowest limit that the key was requested with since its last window's first cost: what its use and its publish floor are measured
   * by. A bare engine knows only of requests that it allowed. Never 0: under a ban no count matters. Over-admission is judged by the
   * highest limit instead (accepted-limits.ts).
   */
  limitLow(slot: Slot): number {
    return this.#hot[slot * HOT + LIMIT_LOW]!;
  }

  lastUse(slot: Slot): number {
    return this.#ints[slot * HOT_INTS + LAST_USE]!;
  }

  /** Adds an accepted cost to the cell at `sequence`, which becomes the current one. Only this, `acceptAt` and `charge` write `own`. */
  accept(slot: Slot, sequence: Sequence, cost: number, limit: number): void {
    this.rotate(slot, sequence);
    const hot = this.#hot;
    const h = slot * HOT;
    // The first cost of a window starts the lowest limit anew: a limit that is no longer asked is forgotten.
    const isFirst = hot[h + OWN] === 0;
    // Stryker disable next-line EqualityOperator: the same limit again changes nothing; >= was killed
    if (isFirst || limit < hot[h + LIMIT_LOW]!) hot[h + LIMIT_LOW] = limit;
    hot[h + OWN] = hot[h + OWN]! + cost;
  }

  /**
   * Adds a cost to the cell at `sequence` without turning the slot back: the window may have ended while the origin was called, so
   * that its cell is the previous one by now. A slot that would turn further ends its call first (`Ledger.endCallBefore`).
   */
  acceptAt(slot: Slot, sequence: Sequence, cost: number, limit: number): void {
    const back = this.sequence(slot) - sequence;
    if (back <= 0) this.charge(slot, sequence, cost, limit);
    else if (back === 1) this.#add(slot * HOT + OWN + 1, cost);
  }

  /**
   * `accept` for a cost that was not checked against the limit: `own` stops at its maximum instead of growing without end. Returns what
   * was added. A limit of 0 is not kept: under a ban no count matters.
   */
  charge(slot: Slot, sequence: Sequence, cost: number, limit: number): number {
    this.rotate(slot, sequence);
    const hot = this.#hot;
    const h = slot * HOT;
    const isFirst = hot[h + OWN] === 0;
    // Stryker disable next-line EqualityOperator: the same limit again changes nothing; >= was killed
    if (limit > 0 && (isFirst || limit < hot[h + LIMIT_LOW]!)) hot[h + LIMIT_LOW] = limit;
    return this.#add(h + OWN, cost);
  }

  #add(at: number, cost: number): number {
    const before = this.#hot[at]!;
    const after = Math.min(before + cost, COMPONENT_MAX);
    this.#hot[at] = after;
    return after - before;
  }

  /** A request that added nothing came with a limit below `limitLow`. */
  lowerLimit(slot: Slot, limit: number): void {
    assert(limit > 0 && limit < this.limitLow(slot), "a limit that is not lower");
    this.#hot[slot * HOT + LIMIT_LOW] = limit;
  }

  touch(slot: Slot, tick: number): void {
    this.#ints[slot * HOT_INTS + LAST_USE] = tick;
  }

  /**
   * Merges what came from another owner. Take the larger, never assign: a message may be older than the one merged before
   * it, and assigning would lower the count. Adding is wrong too: a message carries a total, and may arrive many times. A sum
   * beyond its maximum counts as the maximum, which is a lower bound too.
   */
  raiseOthers(slot: Slot, sequence: Sequence, count: number): void {
    this.#raise(this.#hot, slot * HOT + OTHERS, slot, sequence, Math.min(count, SUM_MAX));
  }

  raiseForeign(slot: Slot, sequence: Sequence, count: number): void {
    this.#hasForeign = true;
    this.#raise(this.#cold, slot * COLD, slot, sequence, Math.min(count, SUM_MAX));
  }

  raiseReplayed(slot: Slot, sequence: Sequence, count: number): void {
    this.#raise(this.#cold, slot * COLD + REPLAYED, slot, sequence, count);
  }

  /** The origin turned out to hold less than it had confirmed: what is above must be replayed again. */
  lowerReplayed(slot: Slot, sequence: Sequence, count: number): void {
    const twin = this.sequence(slot) - sequence;
    if (twin !== 0 && twin !== 1) return;
    const at = slot * COLD + REPLAYED + twin;
    // Stryker disable next-line EqualityOperator: the same count again changes nothing; >= was killed
    if (count < this.#cold[at]!) this.#cold[at] = count;
  }

  raisePublished(slot: Slot, sequence: Sequence, count: number): void {
    this.#raise(this.#cold, slot * COLD + PUBLISHED, slot, sequence, count);
  }

  /** Everything known of the cells may be of another time: none is fresh. A cell that was read stays known, not cold. */
  makeStale(slot: Slot): void {
    const at = slot * COLD + FRESH_UNTIL;
    if (this.#cold[at]! > 0) this.#cold[at] = Number.MIN_VALUE;
    if (this.#cold[at + 1]! > 0) this.#cold[at + 1] = Number.MIN_VALUE;
  }

  raiseFreshUntil(slot: Slot, sequence: Sequence, monoMs: number): void {
    this.#raise(this.#cold, slot * COLD + FRESH_UNTIL, slot, sequence, monoMs);
  }

  raiseStrictUntil(slot: Slot, monoMs: number): void {
    const at = slot * COLD + STRICT_UNTIL;
    // Stryker disable next-line EqualityOperator: the same deadline again changes nothing; <= was killed
    if (monoMs > this.#cold[at]!) this.#cold[at] = monoMs;
  }

  #raise(array: Float64Array, at: number, slot: Slot, sequence: Sequence, value: number): void {
    const twin = this.sequence(slot) - sequence;
    if (twin !== 0 && twin !== 1) return;
    // Stryker disable next-line EqualityOperator: the same value again changes nothing; <= was killed
    if (value > array[at + twin]!) array[at + twin] = value;
  }

  #hotCell(slot: Slot, sequence: Sequence, field: number): number {
    const twin = this.sequence(slot) - sequence;
    return twin === 0 || twin === 1 ? this.#hot[slot * HOT + field + twin]! : 0;
  }

  #coldCell(slot: Slot, sequence: Sequence, field: number): number {
    const twin = this.sequence(slot) - sequence;
    return twin === 0 || twin === 1 ? this.#cold[slot * COLD + field + twin]! : 0;
  }
}

/** So many windows on, nothing of a slot's two cells is left. */
const FAR = 2;

/** Turns one pair of twins by `step` windows. */
function turn(array: Float64Array, at: number, step: number): void {
  const current = array[at]!;
  const previous = array[at + 1]!;
  array[at] = step === -1 ? previous : 0;
  array[at + 1] = step === 1 ? current : 0;
}
