import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RollingHash } from "./rolling-hash.ts";

const drawing = (drawn: number) => new RollingHash({ uint32: () => drawn });

/** Of 2^k units: the text that, with its complement, has the same hash at every base modulo a power of two. */
function thueMorse(k: number, [a, b]: readonly [string, string]): string {
  return Array.from({ length: 2 ** k }, (_, i) => ((i.toString(2).match(/1/g)?.length ?? 0) % 2 === 0 ? a : b)).join(
    "",
  );
}

describe("rolling hash", () => {
  test("the hash of a part is that of the same text alone, and the remainder of the whole polynomial", () => {
    const PRIME = 67_108_859n;
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 40 }),
        fc.nat(),
        fc.nat(),
        fc.nat(2 ** 32 - 1),
        (text, a, b, drawn) => {
          const [start, end] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y) as [number, number];
          const hashes = drawing(drawn);
          hashes.read(text);
          const part = text.slice(start, end);
          expect(hashes.of(start, end - start)).toBe(hashes.ofText(part));
          const base = 65_536n + (BigInt(drawn) % (PRIME - 65_536n));
          let sum = 0n;
          for (let i = 0; i < part.length; i++) sum = (sum * base + BigInt(part.charCodeAt(i)) + 1n) % PRIME;
          expect(BigInt(hashes.ofText(part))).toBe(sum);
        },
      ),
    );
  });

  test("texts that share a hash at one base do not at another", () => {
    const here = drawing(777_777_777);
    const byHash = new Map<number, string>();
    let pair: readonly [string, string] | undefined;
    // About one pair in 2^26 shares a hash: among 60,000 texts there are some 27 of them.
    for (let i = 0; i < 60_000; i++) {
      const text = `user_${(Math.imul(i, 0x9e3779b1) >>> 0).toString(36)}`;
      const known = byHash.get(here.ofText(text));
      if (known !== undefined) pair = [known, text];
      byHash.set(here.ofText(text), text);
    }
    const [one, other] = pair!;
    expect(here.ofText(one)).toBe(here.ofText(other));
    const elsewhere = drawing(123_456_789);
    expect(elsewhere.ofText(one)).not.toBe(elsewhere.ofText(other));
  });

  test("texts that share a hash at every base modulo a power of two do not share one here", () => {
    for (const drawn of [0, 1, 12_345, 2 ** 31]) {
      const hashes = drawing(drawn);
      for (const k of [8, 9, 10]) {
        expect(hashes.ofText(thueMorse(k, ["a", "b"]))).not.toBe(hashes.ofText(thueMorse(k, ["b", "a"])));
      }
    }
  });
});
