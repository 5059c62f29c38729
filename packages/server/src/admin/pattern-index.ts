/**
 * The patterns of one namespace: finds the most specific one that matches an identifier, and tries few to find it.
 *
 * Each pattern is filed under one key: its prefix, its suffix, or a part of one of its middle pieces. Of those it is a long one that
 * few others are filed under, so that a text which all patterns share is nobody's key. One pass over an identifier looks up
 * everything in it that can be a key, and tries the patterns that are filed there.
 *
 *   *gold*      part  "gold"      looked up at every place of the identifier
 *   user_*_eu   prefix "user_"    looked up at its beginning, or suffix "_eu" at its end
 *   *           no key            tried last
 *
 * Invariant: a pattern that matches an identifier is filed under a text which that identifier holds at the same kind of place.
 *
 * To add or remove one costs the length of its text and the place on its shelf; nothing else is made again, but the filter, when the
 * number of patterns has doubled. An automaton over all pieces (Aho-Corasick) was rejected: it has to be made again for each change, and
 * takes a node per character.
 */
import { compare, matches, type Pattern, patternOf, type Subject } from "./pattern.ts";
import type { PatternText } from "./pattern-text.ts";
import type { OverrideRecord } from "./records.ts";
import type { RollingHash } from "./rolling-hash.ts";
import { placeOf } from "./sorted-items.ts";

/** The patterns of one key, or of several that have the same hash. */
interface Shelf {
  readonly key: number;
  /** The most specific first. */
  readonly patterns: Pattern[];
  /** The last search that looked into it. */
  searchedIn: number;
}

interface Key {
  readonly hash: number;
  readonly place: Place;
  readonly length: number;
}

const PREFIX = 0;
const SUFFIX = 1;
const PART = 2;
type Place = typeof PREFIX | typeof SUFFIX | typeof PART;

/** Cells of the filter per shelf: about one look-up in eight that finds nothing gets past it. */
const FILTER_SHARE = 8;
const FILTER_MIN = 64;
const FILTER_CELL_MAX = 255;

export class PatternIndex {
  readonly #byText = new Map<string, { readonly pattern: Pattern; readonly key: Key | null }>();
  readonly #shelves = new Map<number, Shelf>();
  /** Those without any literal: `*`, `**`. */
  readonly #bare: Shelf = { key: 0, patterns: [], searchedIn: 0 };
  /** How many patterns have a key of this place and length. */
  readonly #uses = [new Map<number, number>(), new Map<number, number>(), new Map<number, number>()] as const;
  /** How many shelves a cell has, up to 255, where it stays. A look-up that finds 0 here ends here. */
  #filter = new Uint8Array(FILTER_MIN);
  #search = 0;
  #steps = 0;
  readonly #text: PatternText;

  constructor(text: PatternText) {
    this.#text = text;
  }

  get size(): number {
    return this.#byText.size;
  }

  /** Look-ups and patterns tried, of all searches: the work, in a unit that no machine changes. */
  get steps(): number {
    return this.#steps;
  }

  set(override: OverrideRecord): void {
    this.delete(override.identifier);
    const pattern = patternOf(override, this.#text.hashes);
    const key = this.#cheapestKey(pattern);
    this.#byText.set(override.identifier, { pattern, key });
    if (key === null) {
      insert(this.#bare.patterns, pattern);
      return;
    }
    const uses = this.#uses[key.place];
    uses.set(key.length, (uses.get(key.length) ?? 0) + 1);
    insert(this.#shelfOf(key.hash).patterns, pattern);
  }

  /** False if there was none. */
  delete(text: string): boolean {
    const known = this.#byText.get(text);
    if (known === undefined) return false;
    this.#byText.delete(text);
    const { pattern, key } = known;
    if (key === null) {
      remove(this.#bare.patterns, pattern);
      return true;
    }
    const uses = this.#uses[key.place];
    const left = uses.get(key.length)! - 1;
    if (left === 0) uses.delete(key.length);
    else uses.set(key.length, left);
    const shelf = this.#shelves.get(key.hash)!;
    remove(shelf.patterns, pattern);
    if (shelf.patterns.length === 0) this.#drop(shelf);
    return true;
  }

  /** The most specific one that matches. */
  match(identifier: string): OverrideRecord | undefined {
    const { hashes, finder } = this.#text;
    hashes.read(identifier);
    finder.begin(identifier);
    const stepsBefore = finder.steps;
    const subject = { identifier, hashes, finder };
    const best = this.#best(subject) ?? this.#try(this.#bare, subject, undefined);
    this.#steps += finder.steps - stepsBefore;
    return best?.override;
  }

  #best(subject: Subject): Pattern | undefined {
    this.#search++;
    const { hashes, identifier } = subject;
    const { length } = identifier;
    let best: Pattern | undefined;
    const [prefixes, suffixes, parts] = this.#uses;
    for (const size of prefixes.keys()) {
      if (size <= length) best = this.#look(keyOf(hashes, PREFIX, 0, size), subject, best);
    }
    for (const size of suffixes.keys()) {
      if (size <= length) best = this.#look(keyOf(hashes, SUFFIX, length - size, size), subject, best);
    }
    for (const size of parts.keys()) {
      for (let at = 0; at + size <= length; at++) best = this.#look(keyOf(hashes, PART, at, size), subject, best);
    }
    return best;
  }

  #look(hash: number, subject: Subject, best: Pattern | undefined): Pattern | undefined {
    this.#steps++;
    if (this.#filter[hash & (this.#filter.length - 1)] === 0) return best;
    const shelf = this.#shelves.get(hash);
    if (shelf === undefined || shelf.searchedIn === this.#search) return best;
    shelf.searchedIn = this.#search;
    return this.#try(shelf, subject, best);
  }

  /** The better one of `best` and the first pattern of the shelf that matches. */
  #try({ patterns }: Shelf, subject: Subject, best: Pattern | undefined): Pattern | undefined {
    for (const pattern of patterns) {
      if (best !== undefined && compare(best, pattern) < 0) return best;
      this.#steps++;
      if (matches(pattern, subject)) return pattern;
    }
    return best;
  }

  /** Null if there is no literal in it. */
  #cheapestKey({ override: { identifier }, prefix, suffix, middles }: Pattern): Key | null {
    const { hashes } = this.#text;
    hashes.read(identifier);
    let best: Key | null = null;
    let bestCost = Number.POSITIVE_INFINITY;
    const consider = (place: Place, start: number, length: number) => {
      if (length === 0) return;
      const hash = keyOf(hashes, place, start, length);
      const cost = costOf(length, this.#shelves.get(hash)?.patterns.length ?? 0);
      if (cost >= bestCost) return;
      best = { hash, place, length };
      bestCost = cost;
    };
    consider(PREFIX, 0, prefix.text.length);
    consider(SUFFIX, identifier.length - suffix.text.length, suffix.text.length);
    let at = prefix.text.length;
    for (const { text, headLength } of middles) {
      at = identifier.indexOf(text, at);
      for (let i = 0; i <= text.length - headLength; i++) consider(PART, at + i, headLength);
      at += text.length;
    }
    return best;
  }

  #shelfOf(key: number): Shelf {
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const shelf: Shelf = { key, patterns: [], searchedIn: 0 };
    this.#shelves.set(key, shelf);
    if (this.#shelves.size * FILTER_SHARE > this.#filter.length) this.#enlargeFilter();
    else this.#enter(key);
    return shelf;
  }

  #drop({ key }: Shelf): void {
    this.#shelves.delete(key);
    const cell = key & (this.#filter.length - 1);
    const count = this.#filter[cell]!;
    if (count < FILTER_CELL_MAX) this.#filter[cell] = count - 1;
  }

  #enter(key: number): void {
    const cell = key & (this.#filter.length - 1);
    const count = this.#filter[cell]!;
    if (count < FILTER_CELL_MAX) this.#filter[cell] = count + 1;
  }

  #enlargeFilter(): void {
    this.#filter = new Uint8Array(2 * this.#filter.length);
    for (const key of this.#shelves.keys()) this.#enter(key);
  }
}

/**
 * What a key costs that so many others have: how many patterns are tried if it is found, and how likely that is. One more unit halves it,
 * up to the eighth; beyond, a longer one is only a little better.
 */
function costOf(length: number, others: number): number {
  return (others + 1) / 2 ** Math.min(length, 8) - length / 2 ** 20;
}

/** Of a part of the text that was read: differs by place and length, too. */
function keyOf(hashes: RollingHash, place: Place, start: number, length: number): number {
  const mixed = Math.imul(hashes.of(start, length) ^ Math.imul(length * 3 + place + 1, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) & 0x3fffffff;
}

function insert(patterns: Pattern[], pattern: Pattern): void {
  patterns.splice(placeOf(patterns, pattern, compare), 0, pattern);
}

function remove(patterns: Pattern[], pattern: Pattern): void {
  patterns.splice(placeOf(patterns, pattern, compare), 1);
}
