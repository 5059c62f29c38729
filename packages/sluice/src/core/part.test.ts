import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkPart, detach, isPart, type PartName } from "./part.ts";

const NAMES: readonly (readonly [PartName, string])[] = [
  ["workspace", "RL_WORKSPACE_INVALID"],
  ["namespace", "RL_NAMESPACE_INVALID"],
  ["identifier", "RL_IDENTIFIER_INVALID"],
];
const HIGH = "\ud83d";
const LOW = "\ude00";

describe("part", () => {
  test("a well-formed text is legal exactly if it has 1 to 512 characters", () => {
    const unit = fc.constantFrom("a", "é", "😀", "\0", "e\u0301");
    fc.assert(
      fc.property(unit, unit, fc.integer({ min: 0, max: 600 }), fc.integer({ min: 0, max: 600 }), (a, b, m, n) => {
        const text = a.repeat(m) + b.repeat(n);
        const characters = [...text].length;
        expect(isPart(text)).toBe(characters >= 1 && characters <= 512);
      }),
    );
  });

  test.each([
    ["one character", true, "x"],
    ["512 characters", true, "x".repeat(512)],
    ["513 characters", false, "x".repeat(513)],
    ["512 emoji, 1024 units", true, "😀".repeat(512)],
    ["513 emoji, 1026 units", false, "😀".repeat(513)],
    ["511 emoji and two letters, 1024 units, 513 characters", false, `${"😀".repeat(511)}ab`],
    ["1 emoji and 511 letters, 513 units, 512 characters", true, `😀${"x".repeat(511)}`],
    ["256 letters with a combining mark, 512 characters", true, "e\u0301".repeat(256)],
    ["257 letters with a combining mark, 514 characters", false, "e\u0301".repeat(257)],
    ["a NUL", true, "\0"],
    ["a space", true, " "],
    ["a noncharacter, which is well-formed", true, "\uffff"],
    ["the name of a property of every object", true, "__proto__"],
    ["the empty text", false, ""],
  ])("%s: legal is %s", (_, isLegal, text) => {
    expect(isPart(text)).toBe(isLegal);
  });

  test("a lone surrogate is refused wherever it stands, and a pair is not", () => {
    for (let length = 1; length <= 9; length++) {
      for (let at = 0; at < length; at++) {
        const around = (inserted: string) => "x".repeat(at) + inserted + "x".repeat(length - 1 - at);
        expect(isPart(around(HIGH))).toBe(false);
        expect(isPart(around(LOW))).toBe(false);
        expect(isPart(around(LOW + HIGH))).toBe(false);
        expect(isPart(around(HIGH + LOW))).toBe(true);
      }
    }
    expect(isPart(`${"x".repeat(511)}${HIGH}`)).toBe(false);
    expect(isPart(`${"😀".repeat(511)}${HIGH}x`)).toBe(false);
  });

  test("what is not a string is refused, and never turned into one", () => {
    const trap = () => {
      throw new Error("foreign code ran");
    };
    const given: unknown[] = [
      undefined,
      null,
      true,
      0,
      1,
      Number.NaN,
      1n,
      Symbol("x"),
      ["x"],
      { toString: trap },
      trap,
    ];
    for (const value of [...given, Object("x"), new Proxy({}, { get: trap, getPrototypeOf: trap })]) {
      expect(isPart(value)).toBe(false);
    }
  });

  test.each(NAMES)(
    "a bad %s has its own code, and its error names the field, the bounds and the value",
    (name, code) => {
      expect(() => checkPart("x", name)).not.toThrow();
      expect(() => checkPart("", name)).toThrow(
        expect.objectContaining({
          code,
          field: name,
          value: "",
          message: `${name} must be a string of 1 to 512 characters of well-formed Unicode; got "" (${code})`,
        }),
      );
    },
  );

  test.each([
    ["letters", "user_42_of_the_tenant"],
    ["astral characters", "😀".repeat(20)],
    ["astral characters at odd places", `x${"😀".repeat(20)}y`],
    ["quotes", `"'\`"'\`"'\`"'\`"'\``],
    ["backslashes", `${"\\".repeat(9)}n\\u0041\\`],
    ["control characters", String.fromCharCode(...Array(32).keys(), 127, 0x80, 0x9f)],
    ["line and paragraph separators", "before\u2028between\u2029behind"],
    ["a byte order mark and noncharacters", "\ufeff".repeat(7) + "\ufffe\uffff".repeat(4)],
    ["the names of properties", "__proto__constructor"],
    ["a text that looks like JSON", '{"toJSON":null,"a":[1,2]}'],
    ["12 units, the longest that is never a slice", "x".repeat(12)],
    ["13 units, the shortest slice", "x".repeat(13)],
    ["512 characters of 1024 units", "😀".repeat(512)],
    ["the empty text", ""],
  ])("a detached text is the same text: %s", (_, text) => {
    expect(detach(text)).toBe(text);
    expect(detach(`<${text}>`.slice(1, -1)), "cut from a larger one").toBe(text);
  });

  test("a detached text is the same text, whatever well-formed text it is", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => detach(text) === text));
  });

  test("a detached text does not keep alive what it was cut from", () => {
    const heapAfter = (keep: (slice: string) => string): number => {
      globalThis.gc?.();
      const before = process.memoryUsage().heapUsed;
      // 100 texts of 100 KB: 10 MB, if each is kept by a slice of 20 units.
      const kept = Array.from({ length: 100 }, (_, i) => keep(`${i}`.padEnd(100_000, "text ").slice(5, 25)));
      globalThis.gc?.();
      const bytes = process.memoryUsage().heapUsed - before;
      expect(kept).toHaveLength(100);
      return bytes;
    };
    expect(
      heapAfter((slice) => slice),
      "a slice does",
    ).toBeGreaterThan(8e6);
    expect(heapAfter(detach)).toBeLessThan(1e6);
  });
});
