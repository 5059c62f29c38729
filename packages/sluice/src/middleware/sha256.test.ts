/** Against Node's own SHA-256. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "./sha256.ts";

const expected = (text: string) => createHash("sha256").update(text).digest("hex");

describe("SHA-256", () => {
  test("equals Node's for every length around the ends of blocks", () => {
    for (let length = 0; length <= 200; length++)
      expect(sha256Hex("é".repeat(length))).toBe(expected("é".repeat(length)));
  });

  test("equals Node's for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => sha256Hex(text) === expected(text)));
  });

  test("keeps ill-formed texts apart, which UTF-8 does not", () => {
    expect(sha256Hex("\ud800")).not.toBe(sha256Hex("\ud801"));
    expect(sha256Hex("\ud800")).not.toBe(sha256Hex("\ufffd"));
  });
});
