/**
 * A breadth-first explorer of finite models.
 *
 * States are compared by their bytes; what was seen is kept as a fingerprint of 64 bits: with n states, the chance that any was missed is about
 * n² / 2^65, which is 10^-5 for 20 million. With `trace`, the way to each state is kept, and a counterexample is a shortest one, step by
 * step; without it, only fingerprints and the frontier are in memory.
 */

export type Bytes = Uint8Array;
export type Emit = (label: string, state: Bytes) => void;

export interface Model {
  /** Bytes of a state. */
  readonly size: number;
  initial(): Bytes[];
  next(state: Bytes, emit: Emit): void;
  /** What is broken in a state, in words; null if nothing is. */
  check(state: Bytes): string | null;
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** The longest way, or the length of the counterexample. */
  readonly steps: number;
  readonly found: { readonly problem: string; readonly way: readonly string[] } | null;
}

const M1 = 0x9e3779b1,
  M2 = 0x85ebca6b,
  M3 = 0xc2b2ae35,
  M4 = 0x27d4eb2f;

class Seen {
  count = 0;
  #bits: number;
  #mask: number;
  #lo: Uint32Array;
  #hi: Uint32Array;

  constructor(bits: number) {
    this.#bits = bits;
    this.#mask = 2 ** bits - 1;
    this.#lo = new Uint32Array(2 ** bits);
    this.#hi = new Uint32Array(2 ** bits);
  }

  /** True if it is new. */
  add(bytes: Bytes): boolean {
    let a = 0x12345678 | 0,
      b = 0x9abcdef0 | 0;
    const n = bytes.length;
    for (let i = 0; i < n; i++) {
      const c = bytes[i]!;
      a = Math.imul(a ^ c, M1);
      a = (a << 13) | (a >>> 19);
      b = Math.imul(b ^ c, M2);
      b = (b << 17) | (b >>> 15);
      b = (b + a) | 0;
    }
    a ^= n;
    b ^= n;
    a ^= a >>> 16;
    a = Math.imul(a, M3);
    a ^= a >>> 13;
    a = (a + b) | 0;
    a = Math.imul(a, M4);
    a ^= a >>> 16;
    b ^= b >>> 15;
    b = Math.imul(b, M4);
    b ^= b >>> 13;
    b = (b ^ a) | 0;
    b = Math.imul(b, M3);
    b ^= b >>> 16;
    let lo = a >>> 0,
      hi = b >>> 0;
    if (lo === 0 && hi === 0) lo = 1;
    if (this.#put(lo, hi)) {
      this.count++;
      if (this.count * 4 > (this.#mask + 1) * 3) this.#rehash();
      return true;
    }
    return false;
  }
  #put(lo: number, hi: number): boolean {
    const mask = this.#mask;
    for (let i = (lo ^ Math.imul(hi, M1)) & mask; ; i = (i + 1) & mask) {
      if (this.#lo[i] === 0 && this.#hi[i] === 0) {
        this.#lo[i] = lo;
        this.#hi[i] = hi;
        return true;
      }
      if (this.#lo[i] === lo && this.#hi[i] === hi) return false;
    }
  }
  #rehash(): void {
    const lo = this.#lo;
    const hi = this.#hi;
    this.#bits++;
    this.#mask = 2 ** this.#bits - 1;
    this.#lo = new Uint32Array(2 ** this.#bits);
    this.#hi = new Uint32Array(2 ** this.#bits);
    for (let i = 0; i < lo.length; i++) if (lo[i] !== 0 || hi[i] !== 0) this.#put(lo[i]!, hi[i]!);
  }
}

/** States of one size, one behind the other. */
class Queue {
  length = 0;
  readonly #size: number;
  readonly #perChunk: number;
  readonly #chunks: (Uint8Array | null)[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#perChunk = Math.max(1, Math.floor(2 ** 20 / size));
  }

  push(state: Bytes): void {
    const at = this.length % this.#perChunk;
    if (at === 0) this.#chunks.push(new Uint8Array(this.#perChunk * this.#size));
    this.#chunks.at(-1)!.set(state, at * this.#size);
    this.length++;
  }

  /** A state that was read is not read again: chunks are dropped once they are behind. */
  read(i: number, into: Bytes): void {
    const chunk = Math.floor(i / this.#perChunk);
    const at = (i % this.#perChunk) * this.#size;
    into.set(this.#chunks[chunk]!.subarray(at, at + this.#size));
    if (at === 0 && chunk > 0) this.#chunks[chunk - 1] = null;
  }
}

/** Explores every state, or until one is broken. */
export function explore(model: Model, { trace = false, startBits = 16 } = {}): Explored {
  const seen = new Seen(startBits);
  const parents: number[] = [];
  const labels: string[] = [];
  let frontier = new Queue(model.size);
  let ids: number[] = [];
  let next = new Queue(model.size);
  let nextIds: number[] = [];
  let transitions = 0;
  let steps = 0;
  let from = -1;
  let found: Explored["found"] = null;
  const keep = (label: string, state: Bytes) => {
    next.push(state);
    if (!trace) return;
    nextIds.push(parents.length);
    parents.push(from);
    labels.push(label);
  };
  const wayTo = (last: string): string[] => {
    const way = [last];
    for (let id = from; id >= 0; id = parents[id]!) if (parents[id]! >= 0) way.push(labels[id]!);
    return way.reverse();
  };
  const emit: Emit = (label, state) => {
    transitions++;
    if (found !== null || !seen.add(state)) return;
    const problem = model.check(state);
    if (problem === null) keep(label, state);
    else found = { problem, way: trace ? wayTo(label) : [] };
  };
  for (const state of model.initial()) if (seen.add(state)) keep("", state);
  const state = new Uint8Array(model.size);
  while (next.length > 0 && found === null) {
    frontier = next;
    ids = nextIds;
    next = new Queue(model.size);
    nextIds = [];
    for (let i = 0; i < frontier.length && found === null; i++) {
      frontier.read(i, state);
      from = ids[i] ?? -1;
      model.next(state, emit);
    }
    steps++;
  }
  return { states: seen.count, transitions, steps: found === null ? steps - 1 : steps, found };
}
