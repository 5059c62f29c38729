/**
 * Finds the pieces of patterns in one identifier, however many pieces are sought: after a few, it no longer reads the identifier for each.
 *
 * For a piece it knows the places of the piece's first units, by their hash, and compares the whole there. A piece whose first units are
 * everywhere is sought in the usual way, and that it was not found is remembered.
 */
import type { RollingHash } from "./rolling-hash.ts";

/** A literal text, with what finds it. */
export interface Piece {
  readonly text: string;
  readonly hash: number;
  /** The largest of the lengths below that is not above the piece's, and the hash of as many first units. */
  readonly headLength: number;
  readonly headHash: number;
}

/** Heads that places are known of. Few, because each costs a pass over the identifier; none is half as long as the next. */
const HEAD_LENGTHS = [32, 24, 16, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1] as const;

/** So many pieces are sought in the usual way first: it is faster for a few. */
const USUAL_MAX = 16;
/** So many places of a head are looked at before the rest of the identifier is searched in the usual way. */
const PLACES_MAX = 8;
const NOWHERE = -1;

export function pieceOf(text: string, hashes: RollingHash): Piece {
  const headLength = HEAD_LENGTHS.find((length) => length <= text.length) ?? 0;
  const headHash = hashes.ofText(text.slice(0, headLength));
  return { text, hash: hashes.ofText(text), headLength, headHash };
}

export class PieceFinder {
  readonly #hashes: RollingHash;
  #text = "";
  #sought = 0;
  /** Work so far: see PatternIndex.steps. */
  steps = 0;
  /** By the length of a head; those of this text are the first `#heads.size` that were made. */
  readonly #heads = new Map<number, HeadPlaces>();
  /** From where on a text is nowhere. */
  readonly #missing = new Map<string, number>();

  /** Over a text that was read into these hashes. */
  constructor(hashes: RollingHash) {
    this.#hashes = hashes;
  }

  begin(text: string): void {
    this.#text = text;
    this.#sought = 0;
    for (const places of this.#heads.values()) places.isOfText = false;
    if (this.#missing.size > 0) this.#missing.clear();
  }

  /** The first place of a piece from `at` on; negative: none. */
  find(piece: Piece, at: number): number {
    this.steps++;
    if (++this.#sought <= USUAL_MAX) return this.#text.indexOf(piece.text, at);
    const { text, hash, headLength, headHash } = piece;
    const places = this.#placesOf(headLength);
    let place = places.first(headHash);
    for (let looked = 0; place !== NOWHERE; place = places.after(place)) {
      this.steps++;
      if (looked++ === PLACES_MAX) return this.#findUsually(text, Math.max(at, place));
      if (place < at || place + text.length > this.#text.length) continue;
      if (this.#hashes.of(place, text.length) === hash && this.#text.startsWith(text, place)) return place;
    }
    return NOWHERE;
  }

  #findUsually(text: string, at: number): number {
    if (at >= (this.#missing.get(text) ?? Number.POSITIVE_INFINITY)) return NOWHERE;
    const found = this.#text.indexOf(text, at);
    if (found < 0) this.#missing.set(text, at);
    return found;
  }

  #placesOf(length: number): HeadPlaces {
    let places = this.#heads.get(length);
    if (places === undefined) {
      places = new HeadPlaces(length);
      this.#heads.set(length, places);
    }
    if (!places.isOfText) {
      this.steps += this.#text.length;
      places.read(this.#hashes);
    }
    return places;
  }
}

/** Where each part of one length is in a text: a chain of places, in order, for each hash. */
class HeadPlaces {
  readonly #length: number;
  isOfText = false;
  /** By the last bits of a hash: one more than the first place, 0: none. */
  #firsts = new Int32Array(0);
  /** By place: the next one whose hash has the same last bits. */
  #nexts = new Int32Array(0);

  constructor(length: number) {
    this.#length = length;
  }

  read(hashes: RollingHash): void {
    const count = Math.max(0, hashes.length - this.#length + 1);
    if (this.#nexts.length < count) {
      this.#nexts = new Int32Array(Math.max(1024, 2 * count));
      // A power of two, and twice as many as places: most chains are of one hash alone.
      this.#firsts = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.#nexts.length)));
    } else {
      this.#firsts.fill(0);
    }
    // From the end, so that chains are in order.
    for (let place = count - 1; place >= 0; place--) {
      const cell = this.#cellOf(hashes.of(place, this.#length));
      this.#nexts[place] = this.#firsts[cell]! - 1;
      this.#firsts[cell] = place + 1;
    }
    this.isOfText = true;
  }

  first(hash: number): number {
    return this.#firsts[this.#cellOf(hash)]! - 1;
  }

  after(place: number): number {
    return this.#nexts[place]!;
  }

  #cellOf(hash: number): number {
    return (hash ^ (hash >>> 16)) & (this.#firsts.length - 1);
  }
}
