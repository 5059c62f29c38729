/**
 * The patterns of one namespace, so that few have to be tried for an identifier.
 *
 * They are kept by shape, the lengths of what stands before the first star and behind the last: an identifier has one prefix and
 * one suffix of those lengths, so one look-up a shape finds all patterns that can match. Patterns with nothing at either end
 * (`*mid*`) are one list, and are tried one by one.
 *
 * No regular expressions: a pattern is cut at its stars once, and its pieces are sought from left to right, each at the first place.
 * That never needs to go back: if any place of a piece works, the first one does.
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

/** Those of one shape with the same ends. */
interface Likely {
  patterns: Pattern[];
  /** The most specific first. Made so when it is needed. */
  isSorted: boolean;
}

interface Shape {
  readonly prefixLength: number;
  readonly suffixLength: number;
  /** No pattern of it has more. Does not fall when one is removed: it only says when to stop looking. */
  literalsMax: number;
  /** By prefix and suffix together; their lengths are fixed, so no two pairs are one text. */
  readonly byEnds: Map<string, Likely>;
}

const STAR = "*";

export function isPattern(identifier: string): boolean {
  return identifier.includes(STAR);
}

export class PatternIndex {
  readonly #byText = new Map<string, Pattern>();
  readonly #shapes = new Map<string, Shape>();
  /** The shape that may have the most specific pattern first; null: to be made. */
  #order: readonly Shape[] | null = null;

  get size(): number {
    return this.#byText.size;
  }

  set(override: OverrideRecord): void {
    this.delete(override.identifier);
    const pattern = patternOf(override);
    const { prefixLength, suffixLength, literals } = pattern;
    const name = shapeName(pattern);
    const shape = this.#shapes.get(name) ?? { prefixLength, suffixLength, literalsMax: 0, byEnds: new Map() };
    const ends = endsOf(override.identifier, shape);
    const likely = shape.byEnds.get(ends) ?? { patterns: [], isSorted: false };
    likely.patterns.push(pattern);
    likely.isSorted = false;
    shape.byEnds.set(ends, likely);
    shape.literalsMax = Math.max(shape.literalsMax, literals);
    this.#shapes.set(name, shape);
    this.#byText.set(override.identifier, pattern);
    this.#order = null;
  }

  /** False if there was none. */
  delete(text: string): boolean {
    const pattern = this.#byText.get(text);
    if (pattern === undefined) return false;
    const shape = this.#shapes.get(shapeName(pattern))!;
    const ends = endsOf(text, shape);
    const likely = shape.byEnds.get(ends)!;
    likely.patterns = likely.patterns.filter((one) => one !== pattern);
    if (likely.patterns.length === 0) shape.byEnds.delete(ends);
    if (shape.byEnds.size === 0) this.#shapes.delete(shapeName(pattern));
    this.#byText.delete(text);
    this.#order = null;
    return true;
  }

  /** The most specific one that matches. */
  match(identifier: string): OverrideRecord | undefined {
    this.#order ??= [...this.#shapes.values()].sort((a, b) => b.literalsMax - a.literalsMax);
    let best: Pattern | undefined;
    for (const shape of this.#order) {
      if (best !== undefined && shape.literalsMax < best.literals) break;
      if (shape.prefixLength + shape.suffixLength > identifier.length) continue;
      const likely = shape.byEnds.get(endsOf(identifier, shape));
      if (likely === undefined) continue;
      const first = sorted(likely).find((pattern) => holdsMiddles(identifier, pattern));
      if (first !== undefined && (best === undefined || compare(first, best) < 0)) best = first;
    }
    return best?.override;
  }
}

function patternOf(override: OverrideRecord): Pattern {
  const pieces = override.identifier.split(STAR);
  const prefix = pieces[0]!;
  return {
    override,
    prefixLength: prefix.length,
    suffixLength: pieces.at(-1)!.length,
    middles: pieces.slice(1, -1).filter((piece) => piece !== ""),
    literals: pieces.reduce((sum, piece) => sum + characters(piece), 0),
    prefixCharacters: characters(prefix),
  };
}

function sorted(likely: Likely): readonly Pattern[] {
  if (!likely.isSorted) {
    likely.patterns.sort(compare);
    likely.isSorted = true;
  }
  return likely.patterns;
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

function endsOf(text: string, { prefixLength, suffixLength }: Pick<Shape, "prefixLength" | "suffixLength">): string {
  return text.slice(0, prefixLength) + text.slice(text.length - suffixLength);
}

function shapeName({ prefixLength, suffixLength }: Pattern): string {
  return `${prefixLength},${suffixLength}`;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
