/**
 * Which override applies to an identifier: the exact one; else of the patterns that match, the one with the most literal characters,
 * then the longer literal prefix, then the text that sorts first (by UTF-16 units).
 *
 * What was found is remembered (match-memory.ts), and forgotten when a pattern changes: whatever patterns somebody
 * sets, an identifier that asks often costs one look-up.
 */
import type { OverrideUse } from "./directory.ts";
import type { MatchMemory } from "./match-memory.ts";
import { isPattern, starsIn, weightOf } from "./pattern.ts";
import { PatternIndex } from "./pattern-index.ts";
import type { PatternText } from "./pattern-text.ts";
import type { OverrideRecord } from "./records.ts";
import { SortedItems } from "./sorted-items.ts";

/** Below, to look is as cheap as to remember. */
const PATTERNS_TO_REMEMBER = 8;

export class OverrideMatch {
  /** By exactly what they were set with, patterns too. */
  readonly #byText = new Map<string, OverrideRecord>();
  readonly #patterns: PatternIndex;
  readonly #sorted = new SortedItems<OverrideRecord>(byIdentifier);
  /** Of all texts. */
  #weight = 0;
  /** In all patterns. */
  #stars = 0;
  readonly #memory: MatchMemory;

  /** @param memory shared by all namespaces of a process. */
  constructor(text: PatternText, memory: MatchMemory) {
    this.#patterns = new PatternIndex(text);
    this.#memory = memory;
  }

  get size(): number {
    return this.#byText.size;
  }

  get use(): OverrideUse {
    return { overrides: this.#weight, stars: this.#stars };
  }

  /** Sets the override of an identifier or pattern. */
  set(override: OverrideRecord): void {
    const { identifier } = override;
    if (!this.#byText.has(identifier)) {
      this.#weight += weightOf(identifier);
      this.#stars += starsIn(identifier);
    }
    this.#byText.set(identifier, override);
    this.#sorted.set(override);
    if (!isPattern(identifier)) return;
    this.#patterns.set(override);
    this.#memory.forget(this);
  }

  delete(identifier: string): void {
    const override = this.#byText.get(identifier);
    if (override === undefined) return;
    this.#weight -= weightOf(identifier);
    this.#stars -= starsIn(identifier);
    this.#byText.delete(identifier);
    this.#sorted.delete(override);
    if (this.#patterns.delete(identifier)) this.#memory.forget(this);
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
    const known = this.#memory.get(this, identifier);
    if (known !== undefined) return known ?? undefined;
    const found = this.#patterns.match(identifier);
    this.#memory.set(this, identifier, found ?? null);
    return found;
  }
}

function byIdentifier({ identifier: a }: OverrideRecord, { identifier: b }: OverrideRecord): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
