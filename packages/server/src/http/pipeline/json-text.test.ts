import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonBody } from "./json-text.ts";

const parse = (text: string) => parseJsonBody(Buffer.from(text));

/** Digits, a point somewhere, and an exponent: decimal numbers as people and machines write them. */
const decimal = fc
  .tuple(
    fc.boolean(),
    fc.bigInt({ min: 0n, max: 10n ** 24n }),
    fc.integer({ min: 0, max: 6 }),
    fc.integer({ min: -8, max: 8 }),
  )
  .map(([isNegative, digits, places, exponent]) => {
    const text = digits.toString().padStart(places + 1, "0");
    const mantissa = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
    return `${isNegative ? "-" : ""}${mantissa}${exponent === 0 ? "" : `e${exponent}`}`;
  });

/** The same number as a fraction of integers: [numerator, power of ten]. */
function exact(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  let numerator = BigInt(whole.replace("-", "") + fraction);
  let power = Number(exponent) - fraction.length;
  if (numerator === 0n) return "0";
  while (numerator % 10n === 0n) {
    numerator /= 10n;
    power++;
  }
  return `${text.startsWith("-") ? "-" : ""}${numerator}e${power}`;
}

describe("a JSON body", () => {
  test("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4, noUnicodeString: false }), (text) => {
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("a number is read as it was written, or refused", () => {
    fc.assert(
      fc.property(decimal, (text) => {
        const isKept = exact(String(Number(text))) === exact(text);
        if (isKept) expect(parse(`{"limit":${text}}`)).toEqual({ limit: Number(text) });
        else expect(() => parse(`{"limit":${text}}`)).toThrow(/represented exactly; got/);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ["9007199254740993", "9007199254740993"],
    ["1.00000000000000000001", "1.00000000000000000001"],
    ["1e400", "1e400"],
    ["1.00000000000000000001e00000", "1.00000000000000000001e00000"],
  ])("%s would become another number, and is refused", (text, shown) => {
    expect(() => parse(`[{"cost": ${text}}]`)).toThrow(shown);
  });

  test("digits inside a text are left alone", () => {
    expect(parse('{"a":"9007199254740993 \\" 1e400"}')).toEqual({ a: '9007199254740993 " 1e400' });
  });

  test("a field that is there twice is refused, also where it is escaped or nested", () => {
    for (const text of ['{"cost":0,"cost":5}', '{"cost":0,"c\\u006fst":5}', '[{"a":1},{"b":{"c":1,"c":1}}]']) {
      expect(() => parse(text)).toThrow("body must not repeat a field");
    }
  });

  test("a prototype stays a plain field", () => {
    const value = parse('{"__proto__":{"limit":1}}') as object;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test("more fields than a hundred items have are refused before they are read", () => {
    const body = `[${'{"a":1},'.repeat(100_000)}{}]`;
    expect(() => parse(body)).toThrow("body must have at most 1000 fields in all");
  });

  test("bytes that are no UTF-8 are refused", () => {
    expect(() => parseJsonBody(Buffer.from([0x22, 0xff, 0x22]))).toThrow("UTF-8");
  });

  test("a million brackets are refused, not followed", () => {
    expect(() => parse("[".repeat(1_000_000))).toThrow("at most 8 levels deep");
  });

  test.each(["", "{", "nul", '{"a":1}x', "\ufeff{}", "'a'", "{a:1}", "01", "+1", "NaN"])("%j is no JSON", (text) => {
    expect(() => parse(text)).toThrow(/^body must be JSON; got/);
  });
});
