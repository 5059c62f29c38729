import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DurationMs } from "../core/brands.ts";
import { encodeKey, type Key } from "./key.ts";

/** What a careless encoding trips over: its own digits and separators, odd characters, names of object properties. */
const ALPHABET = [
  "0",
  "1",
  "2",
  ":",
  "-",
  "/",
  "|",
  " ",
  "\0",
  "a",
  "b",
  "A",
  "😀",
  "\u0301",
  "é",
  "__proto__",
  "constructor",
];
const part = fc.oneof(
  fc.array(fc.constantFrom(...ALPHABET), { minLength: 1, maxLength: 6 }).map((units) => units.join("")),
  fc.array(fc.constantFrom("0", "1", ":"), { minLength: 1, maxLength: 4 }).map((units) => units.join("")),
);
const duration = fc.constantFrom(1_000, 1_001, 10_000, 11_000, 60_000, 2_592_000_000) as fc.Arbitrary<DurationMs>;
const key: fc.Arbitrary<Key> = fc.record({ workspace: part, namespace: part, identifier: part, durationMs: duration });

/** Reads an encoded key back: what can be read back is injective. */
function decodeKey(text: string): Key {
  const parts: string[] = [];
  let at = text.indexOf(":");
  const durationMs = Number(text.slice(0, at)) as DurationMs;
  at++;
  while (at < text.length) {
    const colon = text.indexOf(":", at);
    const end = colon + 1 + Number(text.slice(at, colon));
    parts.push(text.slice(colon + 1, end));
    at = end;
  }
  expect(parts).toHaveLength(3);
  const [workspace, namespace, identifier] = parts as [string, string, string];
  return { workspace, namespace, identifier, durationMs };
}

describe("key", () => {
  test("an encoded key can be read back", () => {
    fc.assert(
      fc.property(key, (given) => {
        expect(decodeKey(encodeKey(given))).toEqual(given);
      }),
      { numRuns: 2_000 },
    );
  });

  test("two keys that share their characters but not their parts have two encodings", () => {
    const cut = fc.tuple(part, fc.nat(), fc.nat(), duration);
    fc.assert(
      fc.property(cut, fc.nat(), fc.nat(), ([text, i, j, durationMs], k, l) => {
        const cutAt = (a: number, b: number): Key => {
          const [first, second] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y) as [
            number,
            number,
          ];
          return {
            workspace: text.slice(0, first),
            namespace: text.slice(first, second),
            identifier: text.slice(second),
            durationMs,
          };
        };
        const [one, other] = [cutAt(i, j), cutAt(k, l)];
        const areSame = one.workspace === other.workspace && one.namespace === other.namespace;
        expect(encodeKey(one) === encodeKey(other)).toBe(areSame);
      }),
      { numRuns: 2_000 },
    );
  });

  test("keys that only look alike stay apart", () => {
    const keys: Key[] = [
      ["a-b", "c", "x"],
      ["a", "b-c", "x"],
      ["a", "b", "c-x"],
      ["1:a", "b", "x"],
      ["1", ":ab", "x"],
      ["é", "n", "x"],
      ["e\u0301", "n", "x"],
      ["a", "n", "x"],
      ["A", "n", "x"],
      ["a\0", "n", "x"],
      ["a", "n\0", "x"],
      ["a", "n", "x\0"],
      ["__proto__", "n", "x"],
      ["constructor", "n", "x"],
    ].flatMap(([workspace, namespace, identifier]) =>
      [1_000, 10_000].map((durationMs) => ({ workspace, namespace, identifier, durationMs }) as Key),
    );
    expect(new Set(keys.map(encodeKey)).size).toBe(keys.length);
  });

  test("the encoding is the same in every release", () => {
    const durationMs = 60_000 as DurationMs;
    const given: Key = { workspace: "acme", namespace: "api", identifier: "😀:1", durationMs };
    expect(encodeKey(given)).toBe("60000:4:acme3:api4:😀:1");
  });
});
