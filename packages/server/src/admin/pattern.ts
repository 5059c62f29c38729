/**
 * One pattern of an override: `*` is any run of characters, everything else is literal.
 *
 * No regular expressions: a pattern is cut at its stars once, and its pieces are sought from left to right, each at the first place.
 * That never needs to go back: if any place of a piece works, the first one does.
 */
import { type Piece, type PieceFinder, pieceOf } from "./piece-finder.ts";
import type { OverrideRecord } from "./records.ts";
import type { RollingHash } from "./rolling-hash.ts";

export interface Pattern {
  readonly override: OverrideRecord;
  /** Before the first star, and behind the last. */
  readonly prefix: Piece;
  readonly suffix: Piece;
  /** Between the stars, in order; none of them empty. */
  readonly middles: readonly Piece[];
  /** Of all pieces, in UTF-16 units: no shorter identifier matches. */
  readonly lengthMin: number;
  /** In characters, not in UTF-16 units. */
  readonly literals: number;
  readonly prefixCharacters: number;
}

const STAR = "*";

export function isPattern(identifier: string): boolean {
  return identifier.includes(STAR);
}

/** How many stars a text has: what patterns cost is counted in them. */
export function starsIn(identifier: string): number {
  let stars = 0;
  for (let at = identifier.indexOf(STAR); at !== -1; at = identifier.indexOf(STAR, at + 1)) stars++;
  return stars;
}

/** In UTF-16 units. */
const UNITS_OF_ONE = 128;

/** As how many overrides one with this text counts: caps in numbers are then caps in bytes, however long the texts are. */
export function weightOf(identifier: string): number {
  return Math.max(1, Math.ceil(identifier.length / UNITS_OF_ONE));
}

/** With the hashes of the index that it is for. */
export function patternOf(override: OverrideRecord, hashes: RollingHash): Pattern {
  const pieces = override.identifier.split(STAR);
  const prefix = pieces[0]!;
  return {
    override,
    prefix: pieceOf(prefix, hashes),
    suffix: pieceOf(pieces.at(-1)!, hashes),
    middles: pieces.flatMap((piece, at) =>
      piece === "" || at === 0 || at === pieces.length - 1 ? [] : [pieceOf(piece, hashes)],
    ),
    lengthMin: pieces.reduce((sum, piece) => sum + piece.length, 0),
    literals: pieces.reduce((sum, piece) => sum + characters(piece), 0),
    prefixCharacters: characters(prefix),
  };
}

/** Negative if the first is the more specific. */
export function compare(a: Pattern, b: Pattern): number {
  if (a.literals !== b.literals) return b.literals - a.literals;
  if (a.prefixCharacters !== b.prefixCharacters) return b.prefixCharacters - a.prefixCharacters;
  const first = a.override.identifier;
  const second = b.override.identifier;
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The text that patterns are tried on, read by both. */
export interface Subject {
  readonly identifier: string;
  readonly hashes: RollingHash;
  readonly finder: PieceFinder;
}

/** By hashes first: texts that differ mostly have different ones, and they cost nothing to compare. */
export function matches({ prefix, suffix, middles, lengthMin }: Pattern, subject: Subject): boolean {
  const { identifier, hashes, finder } = subject;
  const end = identifier.length - suffix.text.length;
  if (identifier.length < lengthMin || hashes.of(0, prefix.text.length) !== prefix.hash) return false;
  if (hashes.of(end, suffix.text.length) !== suffix.hash) return false;
  let at = prefix.text.length;
  for (const middle of middles) {
    const found = finder.find(middle, at);
    if (found < 0) return false;
    at = found + middle.text.length;
  }
  return at <= end && identifier.startsWith(prefix.text) && identifier.endsWith(suffix.text);
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
