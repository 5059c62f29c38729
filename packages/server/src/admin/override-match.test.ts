import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { SYSTEM } from "../system/system.ts";
import { exampleOverride } from "./example-override.ts";
import { MatchMemory } from "./match-memory.ts";
import { OverrideMatch } from "./override-match.ts";
import { PatternIndex } from "./pattern-index.ts";
import { PatternText } from "./pattern-text.ts";

function matchOf(texts: Iterable<string>): OverrideMatch {
  const match = new OverrideMatch(new PatternText(SYSTEM.random), new MatchMemory());
  for (const text of texts) match.set(exampleOverride(text));
  return match;
}

const bestOf = (texts: Iterable<string>, identifier: string) => matchOf(texts).for(identifier)?.identifier;

/** Whether a pattern matches, by trying every way, character by character. */
function naiveMatches([first, ...rest]: readonly string[], text: readonly string[]): boolean {
  if (first === undefined) return text.length === 0;
  if (first !== "*") return text[0] === first && naiveMatches(rest, text.slice(1));
  return naiveMatches(rest, text) || (text.length > 0 && naiveMatches([first, ...rest], text.slice(1)));
}

/** The rule, read out. */
function naiveBest(texts: Iterable<string>, identifier: string): string | undefined {
  const all = [...texts];
  if (all.includes(identifier)) return identifier;
  const literals = (text: string) => [...text].filter((one) => one !== "*").length;
  const prefix = (text: string) => [...text].indexOf("*");
  return all
    .filter((text) => text.includes("*") && naiveMatches([...text], [...identifier]))
    .sort((a, b) => literals(b) - literals(a) || prefix(b) - prefix(a) || (a < b ? -1 : 1))[0];
}

describe("override match", () => {
  test("the exact one wins over any pattern", () => {
    expect(bestOf(["user_*", "user_1", "*"], "user_1")).toBe("user_1");
    expect(bestOf(["user_*", "user_1", "*"], "user_2")).toBe("user_*");
  });

  test("of patterns the most literal characters win, then the longer prefix, then the text that sorts first", () => {
    expect(bestOf(["*", "a*", "ab*"], "abc")).toBe("ab*");
    expect(bestOf(["*bc", "a*c", "ab*"], "abc")).toBe("ab*");
    expect(bestOf(["*b*", "**b*"], "abc")).toBe("**b*");
    // Counted in characters: one emoji is one, whatever UTF-16 makes of it.
    expect(bestOf(["🙂*", "*ab"], "🙂ab")).toBe("*ab");
  });

  test.each([
    ["a*", "a", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*", "", true],
    ["**", "x", true],
    ["a*b*c", "abc", true],
    ["a*b*c", "acb", false],
    ["a*ab*b", "aab", false],
    ["a*ab*b", "aabb", true],
    ["*.com", "example.com", true],
    ["*.com", "examplexcom", false],
    ["A*", "abc", false],
    ["é*", "e\u0301x", false],
    ["用户*", "用户1", true],
    ["*🙂", "x🙂", true],
    ["\\d*", "5", false],
    ["a?c*", "abc", false],
    ["a *", "a ", true],
    ["a*", "A", false],
    ["x\u0000*", "x\u0000y", true],
  ])("%j and %j: %s", (pattern, identifier, isMatch) => {
    expect(bestOf([pattern], identifier)).toBe(isMatch ? pattern : undefined);
  });

  test("what applies is what the rule says, whatever was set, deleted and asked before", () => {
    const character = fc.constantFrom("a", "b", "*", "🙂", "é");
    const text = fc.array(character, { minLength: 1, maxLength: 6 }).map((characters) => characters.join(""));
    const identifier = text.map((one) => one.replaceAll("*", "a"));
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("set" as const), text }) },
      fc.record({ kind: fc.constant("delete" as const), text }),
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("ask" as const), text: identifier }) },
    );
    fc.assert(
      fc.property(fc.uniqueArray(text, { maxLength: 30 }), fc.array(step, { maxLength: 40 }), (before, steps) => {
        const there = new Set(before);
        const match = matchOf(before);
        for (const { kind, text: one } of steps) {
          if (kind === "set") {
            match.set(exampleOverride(one));
            there.add(one);
          } else if (kind === "delete") {
            match.delete(one);
            there.delete(one);
          } else {
            expect(match.for(one)?.identifier).toBe(naiveBest(there, one));
          }
        }
        expect(match.sorted().map((each) => each.identifier)).toEqual([...there].sort());
      }),
      { numRuns: process.env["CI"] === "true" ? 3_000 : 300 },
    );
  });

  test("what was found before is forgotten when a pattern comes or goes", () => {
    const match = matchOf(Array.from({ length: 20 }, (_, i) => `${"user_1".slice(0, i % 6)}*${i}`));
    const applied = () => match.for("user_17")?.identifier;
    match.set(exampleOverride("u*"));
    expect(applied()).toBe("user_*17");
    match.delete("user_*17");
    expect(applied()).toBe("u*7");
    match.set(exampleOverride("user_1*"));
    expect(applied()).toBe("user_1*");
    match.delete("user_1*");
    expect(applied()).toBe("u*7");
  });

  test("it remembers a bounded number of identifiers, and right ones after many", () => {
    const match = matchOf(Array.from({ length: 50 }, (_, i) => `org_${i}_*`));
    let wrong = 0;
    for (let i = 0; i < 20_000; i++) {
      const expected = i % 100 < 50 ? `org_${i % 100}_*` : undefined;
      if (match.for(`org_${i % 100}_${i}`)?.identifier !== expected) wrong++;
    }
    expect(wrong).toBe(0);
  });
});

describe("use", () => {
  // Caps are in numbers: 100,000 overrides of 512 emoji took 250 MiB.
  test("an override with a long text counts once per 128 UTF-16 units, until it is deleted", () => {
    const match = matchOf(["a", "b".repeat(128), "c".repeat(129), "\u{1F600}".repeat(512)]);
    expect(match.use.overrides).toBe(1 + 1 + 2 + 8);
    match.set({ ...exampleOverride("c".repeat(129)), limit: 2 });
    match.delete("\u{1F600}".repeat(512));
    expect(match.use.overrides).toBe(1 + 1 + 2);
  });
});

describe("memory of matches", () => {
  // "No pattern matches" was not remembered, so every request of an ordinary identifier was searched for.
  test.each(["user_1", "vip_1"])("%s is searched for once, whether or not a pattern matches it", (identifier) => {
    const match = matchOf(Array.from({ length: 20 }, (_, i) => (i === 0 ? "vip_*" : `org_${i}_*`)));
    const searches = vi.spyOn(PatternIndex.prototype, "match");
    try {
      for (let i = 0; i < 100; i++) match.for(identifier);
      expect(searches).toHaveBeenCalledTimes(1);
    } finally {
      searches.mockRestore();
    }
  });
});
