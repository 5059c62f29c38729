import { describe, expect, test } from "vitest";
import { SYSTEM } from "../system/system.ts";
import { newId } from "./admin-id.ts";
import { hashOf, isMistyped, isSameHash, newToken, startOf } from "./token.ts";

describe("token", () => {
  test("it has a prefix, 32 characters of chance and a checksum, and no two are the same", () => {
    const tokens = Array.from({ length: 200 }, () => newToken(SYSTEM.random));
    for (const token of tokens) expect(token).toMatch(/^sluice_[0-9A-Za-z]{38}$/);
    expect(new Set(tokens).size).toBe(200);
  });

  test("one that was mistyped in one place is told; what has another form is not judged", () => {
    const token = newToken(SYSTEM.random);
    expect(isMistyped(token)).toBe(false);
    for (let i = "sluice_".length; i < token.length; i++) {
      const other = token[i] === "0" ? "1" : "0";
      expect(isMistyped(token.slice(0, i) + other + token.slice(i + 1))).toBe(true);
    }
    for (const preset of ["any preset of the owner's", "sluice_root_key_of_ours"])
      expect(isMistyped(preset)).toBe(false);
  });

  test("every letter and digit comes equally often", () => {
    // 2^32 is no multiple of 62: drawn by remainder alone, four of them would come more often, by too little to see. So at the edge:
    const drawn = [2 ** 32 - 1, 2 ** 32 - 4, 61, 0];
    const id = newId("key", { uint32: () => drawn.shift() ?? 5 });
    expect(id.slice("key_".length)).toBe(`z0${"5".repeat(18)}`);
  });

  test("what is shown of it is too little to guess the rest, also of a short preset", () => {
    const token = newToken(SYSTEM.random);
    expect(startOf(token)).toBe(token.slice(0, 11));
    expect(startOf("12345678")).toBe("12");
  });

  test("hashes are compared whole", () => {
    const hash = hashOf("a");
    expect(isSameHash(hash, hashOf("a"))).toBe(true);
    expect(isSameHash(hash, hashOf("b"))).toBe(false);
    expect(isSameHash(hash, hash.slice(1))).toBe(false);
    expect(isSameHash(hash, `${hash.slice(0, -1)}${hash.endsWith("0") ? "1" : "0"}`)).toBe(false);
  });
});
