/**
 * Hands out the keys of one contender, slice by slice, with everything built before the clock starts.
 *
 * Each contender has strings of its own. Were they shared, a contender that uses a key as an object's property would
 * turn it into an internalised string under everyone else's hands.
 */
import type { Case } from "./cases.ts";
import { type Random, shuffle } from "./seeded-random.ts";

/** What the timed loop walks: `keys[order[i]]` for every `i` in [from, to). */
export interface Slice {
  readonly keys: readonly unknown[];
  readonly order: Uint32Array;
  readonly from: number;
  readonly to: number;
}

export interface KeyFeed {
  /** Every held key once: it fills the table. Undefined where none is held. */
  readonly fill: Slice | undefined;
  /** The next slice, of at most `calls` calls. The caller runs all of it. */
  next(calls: number): Slice;
  /** A key that was handed out, and how often: what the contender must have counted. */
  probe(): { readonly key: unknown; readonly hits: number };
}

/** Calls in the pre-computed random order, which is walked round and round. */
const ORDER_LENGTH = 1 << 19;

/** The first of the keys that no table holds. Above every held key. */
const FRESH_FROM = 2_000_000;

/**
 * A flat string. V8 joins strings by reference (a "cons string") from 13 characters on; `user_` and 7 digits are 12, so
 * the parts are copied at once, and no contender pays for flattening.
 */
export function keyText(number: number): string {
  if (number > 9_999_999) throw new RangeError(`key ${number} has more than 7 digits: its string would not be flat`);
  return `user_${number}`;
}

export interface FeedOptions {
  readonly strings: Case["strings"];
  readonly keysHeld: number;
  /** Keys per call: with 4, what is handed out are arrays of 4 different keys. */
  readonly batchSize: 1 | 4;
  readonly random: Random;
  readonly orderOf: OrderOf;
}

/** The random order for so many keys: computed once, and the same for every contender. */
export type OrderOf = (keysCount: number) => Uint32Array;

export function randomOrders(random: Random): OrderOf {
  const orders = new Map<number, Uint32Array>();
  return (keysCount) => {
    let order = orders.get(keysCount);
    if (order === undefined) {
      order = new Uint32Array(ORDER_LENGTH);
      for (let i = 0; i < order.length; i++) order[i] = Math.floor(random() * keysCount);
      orders.set(keysCount, order);
    }
    return order;
  };
}

export function keyFeed({ strings, keysHeld, batchSize, random, orderOf }: FeedOptions): KeyFeed {
  if (strings === "fresh") return freshFeed();
  const texts = Array.from({ length: keysHeld }, (_, number) => keyText(number));
  if (strings === "rebuilt") return rebuiltFeed(texts, orderOf(texts.length));
  const keys = batchSize === 1 ? texts : inGroupsOfFour(texts, random);
  return heldFeed(keys, orderOf(keys.length));
}

function heldFeed(keys: readonly unknown[], order: Uint32Array): KeyFeed {
  const walk = walkOf(order.length);
  let hits = 1; // From the fill.
  return {
    fill: { keys, order: identity(keys.length), from: 0, to: keys.length },
    next: (calls) => {
      const { from, to } = walk(calls);
      for (let i = from; i < to; i++) if (order[i] === 0) hits++;
      return { keys, order, from, to };
    },
    probe: () => ({ key: keys[0], hits }),
  };
}

function rebuiltFeed(texts: readonly string[], order: Uint32Array): KeyFeed {
  const held = heldFeed(texts, order);
  return {
    ...held,
    next: (calls) => {
      const { from, to } = held.next(calls);
      const keys = Array.from({ length: to - from }, (_, i) => keyText(order[from + i]!));
      return { keys, order: identity(keys.length), from: 0, to: keys.length };
    },
  };
}

function freshFeed(): KeyFeed {
  let number = FRESH_FROM;
  let last: unknown;
  return {
    fill: undefined,
    next: (calls) => {
      const keys = Array.from({ length: calls }, () => keyText(number++));
      last = keys.at(-1);
      return { keys, order: identity(calls), from: 0, to: calls };
    },
    probe: () => ({ key: last, hits: 1 }),
  };
}

/** Each key in one group, by chance. A contender that takes batches then holds exactly the keys the others hold. */
function inGroupsOfFour(texts: string[], random: Random): string[][] {
  const shuffled = [...texts];
  shuffle(shuffled, random);
  return Array.from({ length: Math.floor(shuffled.length / 4) }, (_, i) => shuffled.slice(4 * i, 4 * i + 4));
}

/** Positions one after another, from the start again where the next slice would not fit. */
function walkOf(length: number): (calls: number) => { from: number; to: number } {
  let position = 0;
  return (calls) => {
    const count = Math.min(calls, length);
    if (position + count > length) position = 0;
    const from = position;
    position += count;
    return { from, to: position };
  };
}

function identity(length: number): Uint32Array {
  const positions = new Uint32Array(length);
  for (let i = 0; i < length; i++) positions[i] = i;
  return positions;
}
