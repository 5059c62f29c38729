import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { DurationMs } from "../core/brands.ts";
import type { Random } from "../core/clock.ts";
import { encodeKey, type Key } from "./key.ts";
import { HashState, KeyHash } from "./key-hash.ts";

type Hash = readonly [h0: number, h1: number, h2: number];
type Seed = readonly [number, number, number, number];

const MINUTE = 60_000 as DurationMs;
const SEED: Seed = [0x01234567, 0x89abcdef, 0xfedcba98, 0x76543210];

function fixed(seed: Seed): Random {
  let drawn = 0;
  return { uint32: () => seed[drawn++ % 4]! };
}

function hashOf(hash: KeyHash, { workspace, namespace, identifier, durationMs }: Key): Hash {
  const state = new HashState();
  hash.begin(state, workspace, namespace, durationMs);
  hash.hash(state, identifier);
  return [hash.h0, hash.h1, hash.h2];
}

/** The same function from its description, slowly: HalfSipHash's round in whole numbers modulo 2^32. */
function oracle(seed: Seed, { workspace, namespace, identifier, durationMs }: Key): Hash {
  let [v0, v1, v2, v3] = seed.map(BigInt) as [bigint, bigint, bigint, bigint];
  const mod = (x: bigint) => BigInt.asUintN(32, x);
  const turned = (x: bigint, by: bigint) => mod(x << by) | (x >> (32n - by));
  const round = () => {
    v0 = mod(v0 + v1);
    v1 = turned(v1, 5n) ^ v0;
    v0 = turned(v0, 16n);
    v2 = mod(v2 + v3);
    v3 = turned(v3, 8n) ^ v2;
    v0 = mod(v0 + v3);
    v3 = turned(v3, 7n) ^ v0;
    v2 = mod(v2 + v1);
    v1 = turned(v1, 13n) ^ v2;
    v2 = turned(v2, 16n);
  };
  const absorb = (word: number) => {
    v3 ^= BigInt(word);
    round();
    v0 ^= BigInt(word);
  };
  const pair = (text: string, at: number) => text.charCodeAt(at) + (text.charCodeAt(at + 1) || 0) * 65_536;
  absorb(durationMs);
  for (const text of [workspace, namespace]) {
    absorb(text.length);
    for (let at = 0; at < text.length; at += 2) absorb(pair(text, at));
  }
  const { length } = identifier;
  for (let at = 0; at + 1 < length; at += 2) absorb(pair(identifier, at));
  v2 ^= 0xffn;
  absorb(length * 65_536 + (length % 2 === 1 ? identifier.charCodeAt(length - 1) : 0));
  for (let finish = 0; finish < 3; finish++) round();
  return [v0, v1, v2].map((word) => Number(BigInt.asIntN(32, word))) as unknown as Hash;
}

/** Distinct keys made to meet: characters moved between parts, NULs added, every length, both cases, near durations. */
function adversarialKeys(): Key[] {
  const keys = new Map<string, Key>();
  const add = (workspace: string, namespace: string, identifier: string, durationMs = 60_000) => {
    const key: Key = { workspace, namespace, identifier, durationMs: durationMs as DurationMs };
    keys.set(encodeKey(key), key);
  };
  const texts = [
    "aaaaaaaaaaaaaaaa",
    "\0".repeat(16),
    "0123456789012345",
    "1:a1:b1:c1:d1:e1",
    "aAaAaAaAaAaAaAaA",
    "😀".repeat(8),
  ];
  for (const text of texts) {
    for (let end = 3; end <= text.length; end++) {
      for (let i = 1; i < end - 1; i++) {
        for (let j = i + 1; j < end; j++) add(text.slice(0, i), text.slice(i, j), text.slice(j, end));
      }
    }
  }
  for (let i = 0; i < 30_000; i++) {
    const text = i.toString(36);
    add("w", "n", text);
    add("w", "n", `${text}\0`);
    add("w", "n", text.toUpperCase());
    add(text, "n", "i");
    add("w", text, "i");
  }
  for (let length = 1; length <= 512; length++) {
    for (const unit of ["\0", "a", "\uffff"]) add("w", "n", unit.repeat(length));
    for (let bit = 0; bit < 16; bit++) add("w", "n", "x".repeat(length - 1) + String.fromCharCode(1 << bit));
  }
  for (let durationMs = 1_000; durationMs < 6_000; durationMs++) add("w", "n", "i", durationMs);
  return [...keys.values()];
}

describe("key hash", () => {
  test("it is HalfSipHash's round over the lengths and characters of the parts", () => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
    const key = fc.record({
      workspace: text,
      namespace: text,
      identifier: text,
      durationMs: fc.integer({ min: 1_000, max: 2_592_000_000 }) as fc.Arbitrary<DurationMs>,
    });
    const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(key, fc.tuple(word, word, word, word), (given, seed) => {
        expect(hashOf(new KeyHash(fixed(seed)), given)).toEqual(oracle(seed, given));
      }),
      { numRuns: 300 },
    );
  });

  test("equal keys hash equal, whatever was hashed in between and however the string was built", () => {
    const hash = new KeyHash(fixed(SEED));
    const key: Key = { workspace: "acme", namespace: "api", identifier: "user_42", durationMs: MINUTE };
    const before = hashOf(hash, key);
    hashOf(hash, { ...key, identifier: "😀" });
    const built = ["us", "er", "_", String(42)].join("");
    expect(hashOf(hash, { ...key, identifier: built })).toEqual(before);
  });

  test("beginning writes nothing but the state it was given, and hashing does not change that", () => {
    const hash = new KeyHash(fixed(SEED));
    const state = new HashState();
    hash.begin(state, "acme", "api", MINUTE);
    const { v0, v1, v2, v3 } = state;
    hash.hash(state, "user_42");
    expect(state).toEqual({ v0, v1, v2, v3 });
    hash.begin(new HashState(), "other", "names", MINUTE);
    expect(state).toEqual({ v0, v1, v2, v3 });
  });

  test("more than 100,000 distinct keys made to meet do not meet", () => {
    const keys = adversarialKeys();
    expect(keys.length).toBeGreaterThan(100_000);
    const hash = new KeyHash(fixed(SEED));
    const whole = new Set<string>();
    const words = [new Set<number>(), new Set<number>(), new Set<number>()] as const;
    for (const key of keys) {
      const hashed = hashOf(hash, key);
      whole.add(hashed.join());
      for (let i = 0; i < 3; i++) words[i]!.add(hashed[i]!);
    }
    expect(whole.size).toBe(keys.length);
    // Each word alone is as good as 32 random bits: n^2 / 2^33 pairs meet by chance, 3.2 for the 165,000 keys here. 20 or
    // more have a probability below 1e-9.
    const byChance = keys.length ** 2 / 2 ** 33;
    expect(byChance).toBeLessThan(4);
    for (const word of words) expect(keys.length - word.size).toBeLessThan(20);
  });

  test("every word of the seed changes every word of the hash", () => {
    const key: Key = { workspace: "acme", namespace: "api", identifier: "user_42", durationMs: MINUTE };
    const seen: Hash[] = [hashOf(new KeyHash(fixed(SEED)), key)];
    for (let word = 0; word < 4; word++) {
      for (let bit = 0; bit < 32; bit++) {
        const seed = SEED.map((value, i) => (i === word ? (value ^ (1 << bit)) >>> 0 : value)) as unknown as Seed;
        seen.push(hashOf(new KeyHash(fixed(seed)), key));
      }
    }
    // 129 seeds: two equal words among them by chance once in 500,000 times; the seeds are fixed.
    for (let i = 0; i < 3; i++) expect(new Set(seen.map((hashed) => hashed[i])).size).toBe(seen.length);
  });

  test.each([1, 2, 3])("the bits that the index uses are uniform over numbered identifiers, seed %i", (seed) => {
    // 2^17 keys over 2^12 places of the index (low bits of h0), and over 2^8 tags (low bits of h1). For b bins chi-square
    // has mean b - 1 and deviation sqrt(2 (b - 1)); five deviations either side are left once in a million times.
    const hash = new KeyHash(new SeededRandom(seed));
    const state = new HashState();
    hash.begin(state, "default", "api", MINUTE);
    const count = 2 ** 17;
    const places = new Float64Array(2 ** 12);
    const tags = new Float64Array(2 ** 8);
    for (let i = 0; i < count; i++) {
      hash.hash(state, `user_${i}`);
      places[hash.h0 & (2 ** 12 - 1)]!++;
      tags[hash.h1 & 0xff]!++;
    }
    for (const bins of [places, tags]) {
      const expected = count / bins.length;
      const chiSquare = bins.reduce((sum, found) => sum + (found - expected) ** 2 / expected, 0);
      const mean = bins.length - 1;
      expect(Math.abs(chiSquare - mean)).toBeLessThan(5 * Math.sqrt(2 * mean));
    }
  });

  test("a surrogate is noticed at every position, and nothing else is taken for one", () => {
    const hash = new KeyHash(fixed(SEED));
    const state = new HashState();
    hash.begin(state, "default", "api", MINUTE);
    const units: readonly (readonly [unit: number, isSurrogate: boolean])[] = [
      [0x0000, false],
      [0x5800, false],
      [0xd7ff, false],
      [0xd800, true],
      [0xdbff, true],
      [0xdc00, true],
      [0xdfff, true],
      [0xe000, false],
      [0xf800, false],
      [0xffff, false],
    ];
    for (const [unit, isSurrogate] of units) {
      for (const filler of ["x", "\0", "\uffff"]) {
        for (let length = 1; length <= 17; length++) {
          for (let at = 0; at < length; at++) {
            const text = filler.repeat(at) + String.fromCharCode(unit) + filler.repeat(length - 1 - at);
            expect(hash.hash(state, text), `${unit.toString(16)} at ${at} of ${length}`).toBe(!isSurrogate);
          }
        }
      }
    }
  });
});
