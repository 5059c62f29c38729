import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SYSTEM } from "../system/system.ts";
import { exampleOverride } from "./example-override.ts";
import { PatternIndex } from "./pattern-index.ts";
import { PatternText } from "./pattern-text.ts";

function indexOf(texts: Iterable<string>): PatternIndex {
  const index = new PatternIndex(new PatternText(SYSTEM.random));
  for (const text of texts) index.set(exampleOverride(text));
  return index;
}

/** The rule, read out: every pattern as a regular expression (no text here needs escaping), the best of those that match. */
function naiveBest(texts: readonly string[], identifier: string): string | undefined {
  const literals = (text: string) => [...text].filter((one) => one !== "*").length;
  const prefix = (text: string) => [...text].indexOf("*");
  const isMatch = (text: string) => new RegExp(`^${text.split("*").join("[^]*")}$`).test(identifier);
  return texts
    .filter(isMatch)
    .sort((a, b) => literals(b) - literals(a) || prefix(b) - prefix(a) || (a < b ? -1 : 1))[0];
}

function stepsFor(index: PatternIndex, identifier: string): number {
  const before = index.steps;
  index.match(identifier);
  return index.steps - before;
}

describe("pattern index", () => {
  test("it finds what a search through all patterns finds, for patterns cut out of the identifiers", () => {
    const unit = fc.constantFrom("a", "b", "ab", "aab", "🙂", "é");
    const identifier = fc.array(unit, { minLength: 1, maxLength: 60 }).map((units) => units.join(""));
    const cut = fc.tuple(fc.nat(200), fc.nat(50), fc.constantFrom("", "", "a", "x"));
    const form = fc.record({
      cuts: fc.array(cut, { minLength: 1, maxLength: 4 }),
      before: fc.constantFrom("*", "**", ""),
      after: fc.constantFrom("*", ""),
    });
    const world = fc.tuple(
      fc.array(identifier, { minLength: 1, maxLength: 4 }),
      fc.array(form, { minLength: 1, maxLength: 60 }),
      fc.array(fc.nat(60), { maxLength: 20 }),
    );
    fc.assert(
      fc.property(world, ([identifiers, forms, gone]) => {
        const texts = forms.map(({ cuts, before, after }, i) => {
          const from = [...identifiers[i % identifiers.length]!];
          const pieces = cuts.map(([at, length, more]) => {
            const start = at % from.length;
            return from.slice(start, start + 1 + length).join("") + more;
          });
          const text = before + pieces.join("*") + after;
          return text.includes("*") ? text : `${text}*`;
        });
        const index = indexOf(texts);
        const check = (left: readonly string[]) => {
          for (const one of identifiers) expect(index.match(one)?.identifier).toBe(naiveBest(left, one));
          expect(index.size).toBe(new Set(left).size);
        };
        check(texts);
        const deleted = new Set(gone.map((at) => texts[at % texts.length]!));
        for (const text of deleted) index.delete(text);
        check(texts.filter((text) => !deleted.has(text)));
      }),
      { numRuns: process.env["CI"] === "true" ? 3_000 : 200 },
    );
  });

  test("an override that is set again is the one that is found", () => {
    const index = indexOf(["*mid*"]);
    index.set({ ...exampleOverride("*mid*"), limit: 7 });
    expect(index.match("a mid b")?.limit).toBe(7);
    expect(index.size).toBe(1);
  });

  // Patterns that would all be tried if they were in one list, or filed by a text that they share.
  const forms: Readonly<Record<string, (i: number) => string>> = {
    "with a prefix": (i) => `org_${i}_*`,
    "with a suffix": (i) => `*_${i}@corp`,
    "with a middle": (i) => `*mid${i}*`,
    "with shared ends": (i) => `user_*.${i}.*_eu`,
    "with long shared pieces": (i) => `*${"x".repeat(200)}*${i}x*`,
    "with 240 shared pieces": (i) => `*${"a*".repeat(240)}z${i}*`,
  };
  const identifiers = ["u", "user_17", `${"a".repeat(500)}1`, `user_${"x".repeat(480)}.77_eu`];

  test.each(Object.entries(forms))("%s: a new identifier costs passes over it, not over 10,000 patterns", (_, form) => {
    const index = indexOf(Array.from({ length: 10_000 }, (_, i) => form(i)));
    for (const identifier of identifiers) {
      // One look-up at each place for each length of a key, of which numbers up to 9,999 make few; and what is tried in vain.
      expect(stepsFor(index, identifier)).toBeLessThan(8 * identifier.length + 100);
    }
  });

  test("patterns that all have to be tried cost a few steps each, and no pass over the identifier", () => {
    // Both pieces of every pattern are in the identifier, in the wrong order.
    let bits = 1;
    const next = () => {
      bits = (bits >>> 1) ^ (bits % 2 === 1 ? 0xb400 : 0);
      return bits % 2 === 1 ? "a" : "b";
    };
    const identifier = Array.from({ length: 500 }, next).join("");
    const piece = (at: number) => identifier.slice(at, at + 20);
    const index = indexOf(
      Array.from({ length: 10_000 }, (_, i) => `*${piece(250 + (i % 200))}*${piece(Math.floor(i / 200))}*`),
    );
    expect(index.match(identifier)).toBeUndefined();
    expect(stepsFor(index, identifier)).toBeLessThan(20 * index.size + 20 * identifier.length);
  });
});
