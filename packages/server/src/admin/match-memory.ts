/**
 * Which override applies to recent identifiers: one memory for all namespaces of a process, so that it has one bound in bytes, whatever
 * namespaces, patterns and identifiers clients make.
 *
 * Two halves: when the younger is full, the older is dropped. What is forgotten is searched for again, which costs microseconds.
 */
import type { OverrideRecord } from "./records.ts";

/** Null: none applies. */
export type Match = OverrideRecord | null;

/** Of both halves: 48,000 identifiers of 36 characters, or 3,900 of the longest. */
export const MATCH_BYTES_MAX = 8 * 1024 * 1024;
/** Measured: an entry of a map and the header of its text; and an empty map with its own entry. */
const ENTRY_BYTES = 100;
const MAP_BYTES = 400;

/** By the namespace's own matches, whoever they are. */
type Half = Map<object, Map<string, Match>>;

export class MatchMemory {
  readonly #bytesMax: number;
  #younger: Half = new Map();
  #older: Half = new Map();
  #youngerBytes = 0;
  #olderBytes = 0;

  constructor(bytesMax = MATCH_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** What it holds at most. */
  get bytes(): number {
    return this.#youngerBytes + this.#olderBytes;
  }

  /** Undefined: not known. */
  get(owner: object, identifier: string): Match | undefined {
    const young = this.#younger.get(owner)?.get(identifier);
    return young === undefined ? this.#older.get(owner)?.get(identifier) : young;
  }

  set(owner: object, identifier: string, match: Match): void {
    const bytes = ENTRY_BYTES + MAP_BYTES + 2 * identifier.length;
    if (this.#youngerBytes + bytes > this.#bytesMax / 2) {
      this.#older = this.#younger;
      this.#olderBytes = this.#youngerBytes;
      this.#younger = new Map();
      this.#youngerBytes = 0;
    }
    let own = this.#younger.get(owner);
    this.#youngerBytes += own === undefined ? bytes : bytes - MAP_BYTES;
    if (own === undefined) {
      own = new Map();
      this.#younger.set(owner, own);
    }
    own.set(identifier, match);
  }

  /** Of one owner. Its bytes still count until their half is dropped. */
  forget(owner: object): void {
    this.#younger.delete(owner);
    this.#older.delete(owner);
  }

  clear(): void {
    this.#younger = new Map();
    this.#older = new Map();
    this.#youngerBytes = 0;
    this.#olderBytes = 0;
  }
}
