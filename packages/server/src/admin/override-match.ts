/**
 * Which override applies to an identifier: the exact one; else of the patterns that match, the one with the most literal characters,
 * then the longer literal prefix, then the text that sorts first (by UTF-16 units).
 *
 * What was found is remembered for a bounded number of identifiers, and forgotten when a pattern changes: whatever patterns somebody
 * sets, an identifier that asks often costs one look-up.
 */
import { isPattern, PatternIndex } from "./pattern-index.ts";
import type { OverrideRecord } from "./records.ts";

/** Below, to look is as cheap as to remember. */
const PATTERNS_TO_REMEMBER = 8;
/** Of one namespace. Two halves: when the younger is full, the older is dropped. */
const REMEMBERED_MAX = 4_096;

export class OverrideMatch {
  /** By exactly what they were set with, patterns too. */
  readonly #byText = new Map<string, OverrideRecord>();
  readonly #patterns = new PatternIndex();
  #sorted: readonly OverrideRecord[] | null = null;
  /** Null: none applies. */
  #younger = new Map<string, OverrideRecord | null>();
  #older = new Map<string, OverrideRecord | null>();

  get size(): number {
    return this.#byText.size;
  }

  /** Sets the override of an identifier or pattern. */
  set(override: OverrideRecord): void {
    this.#byText.set(override.identifier, override);
    this.#sorted = null;
    if (!isPattern(override.identifier)) return;
    this.#patterns.set(override);
    this.#forget();
  }

  delete(identifier: string): void {
    this.#byText.delete(identifier);
    this.#sorted = null;
    if (this.#patterns.delete(identifier)) this.#forget();
  }

  /** The one that was set with exactly this text. */
  of(identifier: string): OverrideRecord | undefined {
    return this.#byText.get(identifier);
  }

  /** All, ordered by identifier. */
  sorted(): readonly OverrideRecord[] {
    this.#sorted ??= [...this.#byText.values()].sort((a, b) => (a.identifier < b.identifier ? -1 : 1));
    return this.#sorted;
  }

  /** The one that applies. */
  for(identifier: string): OverrideRecord | undefined {
    const exact = this.#byText.get(identifier);
    if (exact !== undefined || this.#patterns.size === 0) return exact;
    if (this.#patterns.size < PATTERNS_TO_REMEMBER) return this.#patterns.match(identifier);
    const known = this.#younger.get(identifier) ?? this.#older.get(identifier);
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
