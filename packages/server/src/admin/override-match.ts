/**
 * Which override applies to an identifier: the exact one; else of the patterns that match, the one with the most literal characters,
 * then the longer literal prefix, then the text that sorts first (by UTF-16 units).
 *
 * What was found is remembered for a bounded number of identifiers, and forgotten when a pattern changes: whatever patterns somebody
 * sets, an identifier that asks often costs one look-up.
 */
import type { OverrideUse } from "./directory.ts";
import { isPattern, starsIn } from "./pattern.ts";
import { PatternIndex } from "./pattern-index.ts";
import type { PatternText } from "./pattern-text.ts";
import type { OverrideRecord } from "./records.ts";
import { SortedItems } from "./sorted-items.ts";

/** Below, to look is as cheap as to remember. */
const PATTERNS_TO_REMEMBER = 8;
/** Of one namespace. Two halves: when the younger is full, the older is dropped. */
const REMEMBERED_MAX = 4_096;

export class OverrideMatch {
  /** By exactly what they were set with, patterns too. */
  readonly #byText = new Map<string, OverrideRecord>();
  readonly #patterns: PatternIndex;
  readonly #sorted = new SortedItems<OverrideRecord>(byIdentifier);
  /** In all patterns. */
  #stars = 0;
  /** Null: none applies. */
  #younger = new Map<string, OverrideRecord | null>();
  #older = new Map<string, OverrideRecord | null>();

  constructor(text: PatternText) {
    this.#patterns = new PatternIndex(text);
  }

  get size(): number {
    return this.#byText.size;
  }

  get use(): OverrideUse {
    return { overrides: this.#byText.size, stars: this.#stars };
  }

  /** Sets the override of an identifier or pattern. */
  set(override: OverrideRecord): void {
    const { identifier } = override;
    if (!this.#byText.has(identifier)) this.#stars += starsIn(identifier);
    this.#byText.set(identifier, override);
    this.#sorted.set(override);
    if (!isPattern(identifier)) return;
    this.#patterns.set(override);
    this.#forget();
  }

  delete(identifier: string): void {
    const override = this.#byText.get(identifier);
    if (override === undefined) return;
    this.#stars -= starsIn(identifier);
    this.#byText.delete(identifier);
    this.#sorted.delete(override);
    if (this.#patterns.delete(identifier)) this.#forget();
  }

  /** The one that was set with exactly this text. */
  of(identifier: string): OverrideRecord | undefined {
    return this.#byText.get(identifier);
  }

  /** All, ordered by identifier. */
  sorted(): readonly OverrideRecord[] {
    return this.#sorted.sorted(this.#byText.values());
  }

  /** The one that applies. */
  for(identifier: string): OverrideRecord | undefined {
    const exact = this.#byText.get(identifier);
    if (exact !== undefined || this.#patterns.size === 0) return exact;
    if (this.#patterns.size < PATTERNS_TO_REMEMBER) return this.#patterns.match(identifier);
    // Null is remembered too: no pattern matches it.
    const young = this.#younger.get(identifier);
    const known = young === undefined ? this.#older.get(identifier) : young;
    if (known !== undefined) return known ?? undefined;
    const found = this.#patterns.match(identifier);
    this.#remember(identifier, found ?? null);
    return found;
  }

  #remember(identifier: string, found: OverrideRecord | null): void {
    if (this.#younger.size >= REMEMBERED_MAX / 2) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(identifier, found);
  }

  #forget(): void {
    this.#younger = new Map();
    this.#older = new Map();
  }
}

function byIdentifier({ identifier: a }: OverrideRecord, { identifier: b }: OverrideRecord): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
