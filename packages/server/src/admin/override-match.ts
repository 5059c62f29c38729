/**
 * Which override applies to an identifier: the exact one; else of the patterns that match, the one with the most literal characters,
 * then the longer literal prefix, then the text that sorts first.
 *
 * `*` is any run of characters, also none; everything else is literal. No regular expressions: a pattern is cut at its stars once, and
 * its pieces are sought from left to right, each at the first place. That never needs to go back: if any place of a piece works, the
 * first one does.
 *
 * Patterns are kept by shape, the lengths of what stands before the first star and behind the last: an identifier has one prefix and
 * one suffix of those lengths, so one look-up a shape finds all patterns that can match. Patterns with nothing at either end
 * (`*mid*`) have to be tried one by one; so what was found is remembered for a bounded number of identifiers.
 */
import type { OverrideRecord } from "./records.ts";

interface Pattern {
  readonly override: OverrideRecord;
  readonly prefixLength: number;
  readonly suffixLength: number;
  /** Between the stars, in order; none of them empty. */
  readonly middles: readonly string[];
  /** In characters, not in UTF-16 units. */
  readonly literals: number;
  readonly prefixCharacters: number;
}

interface Shape {
  readonly prefixLength: number;
  readonly suffixLength: number;
  /** The most that one of its patterns has. */
  literalsMax: number;
  /** By prefix and suffix together; their lengths are fixed, so no two pairs are one text. Each list with the best first. */
  readonly patterns: Map<string, Pattern[]>;
}

/** Below, to look is as cheap as to remember. */
const PATTERNS_TO_REMEMBER = 8;
/** Of one namespace. Two halves: when the younger is full, the older is dropped. */
const REMEMBERED_MAX = 4_096;

const STAR = "*";

export class OverrideMatch {
  readonly #exact = new Map<string, OverrideRecord>();
  readonly #byPattern = new Map<string, Pattern>();
  /** The one that can have the best pattern first; null: to be made. */
  #shapes: readonly Shape[] | null = [];
  #sorted: readonly OverrideRecord[] | null = null;
  #younger = new Map<string, OverrideRecord | undefined>();
  #older = new Map<string, OverrideRecord | undefined>();

  /** Sets the override of an identifier or pattern. */
  set(override: OverrideRecord): void {
    const { identifier } = override;
    if (isPattern(identifier)) {
      this.#byPattern.set(identifier, patternOf(override));
      this.#forget();
    }
    this.#exact.set(identifier, override);
    this.#sorted = null;
  }

  delete(identifier: string): void {
    this.#exact.delete(identifier);
    this.#sorted = null;
    if (this.#byPattern.delete(identifier)) this.#forget();
  }

  get size(): number {
    return this.#exact.size;
  }

  /** The one that was set with exactly this text. */
  of(identifier: string): OverrideRecord | undefined {
    return this.#exact.get(identifier);
  }

  /** All, ordered by identifier. */
  sorted(): readonly OverrideRecord[] {
    this.#sorted ??= [...this.#exact.values()].sort((a, b) => (a.identifier < b.identifier ? -1 : 1));
    return this.#sorted;
  }

  /** The one that applies. */
  for(identifier: string): OverrideRecord | undefined {
    const exact = this.#exact.get(identifier);
    if (exact !== undefined || this.#byPattern.size === 0) return exact;
    if (this.#byPattern.size < PATTERNS_TO_REMEMBER) return this.#search(identifier);
    const known = this.#younger.get(identifier) ?? this.#older.get(identifier);
    if (known !== undefined || this.#younger.has(identifier) || this.#older.has(identifier)) return known;
    const found = this.#search(identifier);
    this.#remember(identifier, found);
    return found;
  }

  #search(identifier: string): OverrideRecord | undefined {
    this.#shapes ??= shapesOf(this.#byPattern.values());
    let best: Pattern | undefined;
    for (const shape of this.#shapes) {
      if (best !== undefined && shape.literalsMax < best.literals) break;
      if (shape.prefixLength + shape.suffixLength > identifier.length) continue;
      const likely = shape.patterns.get(endsOf(identifier, shape));
      const first = likely?.find((pattern) => holdsMiddles(identifier, pattern));
      if (first !== undefined && (best === undefined || compare(first, best) < 0)) best = first;
    }
    return best?.override;
  }

  #remember(identifier: string, found: OverrideRecord | undefined): void {
    if (this.#younger.size >= REMEMBERED_MAX / 2) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(identifier, found);
  }

  #forget(): void {
    this.#shapes = null;
    this.#younger = new Map();
    this.#older = new Map();
  }
}

export function isPattern(identifier: string): boolean {
  return identifier.includes(STAR);
}

function patternOf(override: OverrideRecord): Pattern {
  const pieces = override.identifier.split(STAR);
  const prefix = pieces[0]!;
  const suffix = pieces.at(-1)!;
  return {
    override,
    prefixLength: prefix.length,
    suffixLength: suffix.length,
    middles: pieces.slice(1, -1).filter((piece) => piece !== ""),
    literals: pieces.reduce((sum, piece) => sum + characters(piece), 0),
    prefixCharacters: characters(prefix),
  };
}

function shapesOf(patterns: Iterable<Pattern>): readonly Shape[] {
  const shapes = new Map<string, Shape>();
  for (const pattern of patterns) {
    const { prefixLength, suffixLength, literals } = pattern;
    const { identifier } = pattern.override;
    const name = `${prefixLength},${suffixLength}`;
    const shape = shapes.get(name) ?? { prefixLength, suffixLength, literalsMax: 0, patterns: new Map() };
    const ends = endsOf(identifier, shape);
    const list = shape.patterns.get(ends) ?? [];
    list.push(pattern);
    shape.patterns.set(ends, list);
    shape.literalsMax = Math.max(shape.literalsMax, literals);
    shapes.set(name, shape);
  }
  for (const shape of shapes.values()) for (const list of shape.patterns.values()) list.sort(compare);
  return [...shapes.values()].sort((a, b) => b.literalsMax - a.literalsMax);
}

function endsOf(text: string, { prefixLength, suffixLength }: Pick<Shape, "prefixLength" | "suffixLength">): string {
  return text.slice(0, prefixLength) + text.slice(text.length - suffixLength);
}

/** Negative if the first is the more specific. */
function compare(a: Pattern, b: Pattern): number {
  if (a.literals !== b.literals) return b.literals - a.literals;
  if (a.prefixCharacters !== b.prefixCharacters) return b.prefixCharacters - a.prefixCharacters;
  return a.override.identifier < b.override.identifier ? -1 : 1;
}

/** Whether the middles are there, in order, between a prefix and a suffix that are. */
function holdsMiddles(identifier: string, { middles, prefixLength, suffixLength }: Pattern): boolean {
  let at = prefixLength;
  for (const middle of middles) {
    const found = identifier.indexOf(middle, at);
    if (found < 0) return false;
    at = found + middle.length;
  }
  return at <= identifier.length - suffixLength;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
