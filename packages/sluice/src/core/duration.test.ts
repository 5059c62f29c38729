import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DURATION_MAX_MS, DURATION_MIN_MS } from "./bounds.ts";
import { parseDuration } from "./duration.ts";
import { SluiceError } from "./errors.ts";

const UNITS: readonly (readonly [unit: string, unitMs: number])[] = [
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
];

describe("duration", () => {
  test("the bounds are 1 s and 30 d, and both are legal", () => {
    expect(DURATION_MIN_MS).toBe(1_000);
    expect(DURATION_MAX_MS).toBe(2_592_000_000);
    for (const given of [1_000, "1000ms", "1s"]) expect(parseDuration(given)).toBe(1_000);
    for (const given of [2_592_000_000, "2592000000ms", "2592000s", "43200m", "720h", "30d"]) {
      expect(parseDuration(given)).toBe(2_592_000_000);
    }
  });

  test("a text is its number times its unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_999_999_999 }), fc.constantFrom(...UNITS), (count, [unit, unitMs]) => {
        const ms = count * unitMs;
        if (ms >= DURATION_MIN_MS && ms <= DURATION_MAX_MS) expect(parseDuration(`${count}${unit}`)).toBe(ms);
        else expect(() => parseDuration(`${count}${unit}`)).toThrow(SluiceError);
      }),
    );
    // Most of the above are out of range; these are all within.
    for (const [unit, unitMs] of UNITS) {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: Math.floor(DURATION_MAX_MS / unitMs) }), (count) => {
          fc.pre(count * unitMs >= DURATION_MIN_MS);
          expect(parseDuration(`${count}${unit}`)).toBe(count * unitMs);
        }),
      );
    }
  });

  test("a number is milliseconds, and legal if it is an integer within the bounds", () => {
    fc.assert(
      fc.property(fc.integer({ min: DURATION_MIN_MS, max: DURATION_MAX_MS }), (ms) => {
        expect(parseDuration(ms)).toBe(ms);
      }),
    );
    fc.assert(
      fc.property(fc.double({ noInteger: true }), (ms) => {
        expect(() => parseDuration(ms)).toThrow(SluiceError);
      }),
    );
  });

  test.each([
    ["1 ms too short", 999],
    ["1 ms too short as a text", "999ms"],
    ["1 ms too long", 2_592_000_001],
    ["1 ms too long as a text", "2592000001ms"],
    ["a day too long", "31d"],
    ["zero", 0],
    ["minus zero", -0],
    ["negative", -60_000],
    ["a negative text", "-60s"],
    ["a signed text", "+60s"],
    ["a fraction", 1_500.5],
    ["a fraction in a text", "1.5h"],
    ["an exponent", "1e3ms"],
    ["hexadecimal", "0x10s"],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["an unknown unit", "5 parsecs"],
    ["weeks", "1w"],
    ["a long unit", "5min"],
    ["an upper-case unit", "5S"],
    ["a space before", " 5s"],
    ["a space between", "5 s"],
    ["a space after", "5s "],
    ["a line break after", "5s\n"],
    ["two units", "1h30m"],
    ["no unit", "5000"],
    ["no number", "s"],
    ["the empty text", ""],
    ["digits of another script", "١٠s"],
    ["full-width digits", "１０s"],
    ["eleven digits", "00000060000ms"],
    ["a number too long for a double", `${"9".repeat(400)}d`],
    ["a property of every object", "5constructor"],
    ["undefined", undefined],
    ["null", null],
    ["true", true],
    ["a bigint", 60_000n],
    ["a symbol", Symbol("1m")],
    ["an array that reads as a number", [60_000]],
    ["an object that reads as a number", { valueOf: () => 60_000 }],
    ["a boxed number", Object(60_000)],
    ["a boxed text", Object("1m")],
    ["a date", new Date(60_000)],
  ])("%s is refused", (_, given) => {
    expect(() => parseDuration(given)).toThrow(
      expect.objectContaining({ code: "RL_DURATION_INVALID", field: "duration", value: given }),
    );
  });

  test("the error names the field it was asked about, both bounds and the value", () => {
    expect(() => parseDuration("5 parsecs", "window")).toThrow(
      /^window must be from 1 s to 30 d: .* from 1000 to 2592000000, .*; got "5 parsecs" \(RL_DURATION_INVALID\)$/,
    );
  });
});
