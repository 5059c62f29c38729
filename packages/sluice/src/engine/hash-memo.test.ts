import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { Engine } from "./engine.ts";
import { HashMemo, HashMemory } from "./hash-memo.ts";
import { KeyHash } from "./key-hash.ts";
import type { Scope } from "./scope.ts";

function freshEngine(): Engine {
  const clock = { wallMs: () => 0, monoMs: () => 0 };
  return new Engine({ clock, random: new SeededRandom(7), cellsMax: 16, whenFull: "allow" });
}

/** The hash of a key without any memory: a second generator of the same seed. */
function hashAlone(scope: Scope, identifier: string): readonly number[] {
  const hash = new KeyHash(new SeededRandom(7));
  hash.hash(scope.hash, identifier);
  return [hash.h0, hash.h1, hash.h2];
}

function located(engine: Engine, scope: Scope, identifier: string): readonly number[] {
  engine.locate(scope, identifier);
  return [engine.hash.h0, engine.hash.h1, engine.hash.h2];
}

/** Another identifier of the same place, found by search: there are 256 places. */
function meets(memo: HashMemo, id: string): string {
  for (let i = 0; i < 100_000; i++) if (memo.at(`user_${i}`) === memo.at(id)) return `user_${i}`;
  throw new Error("no two identifiers meet");
}

/** Identifiers that meet often: the place depends on the length, the last and the middle unit. */
const identifier = fc.oneof(
  fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("x", "y"), fc.constant("z")).map((units) => units.join("")),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
  fc.constantFrom("__proto__", "constructor", "😀", "😀".repeat(512), "x".repeat(512)),
);
const scopeFields = fc.tuple(
  fc.constantFrom("acme", "axme"),
  fc.constantFrom("api", "aqi"),
  fc.constantFrom("1m", "2m"),
);

describe("hash memo", () => {
  test("locating a key gives its hash, whatever was located before, through cached scopes that overwrite each other", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(scopeFields, identifier), { minLength: 1, maxLength: 60 }), (keys) => {
        const engine = freshEngine();
        for (const [fields, id] of keys) {
          const scope = engine.scopes.find(...fields);
          expect(located(engine, scope, id)).toEqual(hashAlone(scope, id));
        }
      }),
    );
  });

  test("one identifier in two scopes has two hashes, in turns", () => {
    const engine = freshEngine();
    const first = engine.scopes.create("acme", "api", "1m");
    const second = engine.scopes.create("acme", "api", "2m");
    for (let turn = 0; turn < 3; turn++) {
      expect(located(engine, first, "user_42")).toEqual(hashAlone(first, "user_42"));
      expect(located(engine, second, "user_42")).toEqual(hashAlone(second, "user_42"));
    }
    expect(hashAlone(first, "user_42")).not.toEqual(hashAlone(second, "user_42"));
  });

  test("two identifiers at one place never take each other's hash", () => {
    const memo = new HashMemo();
    const [one, other] = ["abcde", "user_42_of_the_tenant"].map((id) => [id, meets(memo, id)] as const) as [
      readonly [string, string],
      readonly [string, string],
    ];
    const engine = freshEngine();
    const scope = engine.scopes.create("acme", "api", "1m");
    for (const [a, b] of [one, other]) {
      // Every order of one and the other, up to three times in a row: met once, met twice, taken over in between.
      for (const id of [a, b, a, a, b, b, a, a, a, b, b, b, a]) {
        expect(located(engine, scope, id)).toEqual(hashAlone(scope, id));
      }
    }
  });

  test("an identifier met twice is remembered for one scope, and not for the other at the same place", () => {
    const engine = freshEngine();
    const [first, second] = [engine.scopes.create("acme", "api", "1m"), engine.scopes.create("acme", "mail", "1m")];
    for (const scope of [first, first, first, second, first, second, second, second, first]) {
      expect(located(engine, scope, "user_42")).toEqual(hashAlone(scope, "user_42"));
    }
  });

  test.each([1, 2, 3])("no caller's string is kept: what it was cut from goes, asked %i times in a row", (times) => {
    const engine = freshEngine();
    const scope = engine.scopes.create("acme", "api", "1m");
    const memo = new HashMemo();
    const places = new Set<unknown>();
    // 200 identifiers of 21 units, cut from 200 texts of 100 KB. Middle and last unit differ: so do their places.
    const identifierAt = (i: number) =>
      `0123456789${String.fromCharCode(65 + (i % 20))}bcdefghi${String.fromCharCode(65 + (i >> 3))}`;
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 200; i++) {
      const slice = identifierAt(i).padEnd(100_000, "request ").slice(0, 20);
      places.add(memo.at(slice));
      for (let time = 0; time < times; time++) engine.locate(scope, slice);
    }
    globalThis.gc?.();
    // All of them kept would be 100 KB for each place.
    expect(globalThis.gc).toBeTypeOf("function");
    expect(places.size).toBeGreaterThan(50);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(1e6);
  });

  test("an identifier is kept when it is met twice in a row with one scope and one hash", () => {
    const met = (memory: HashMemory, scopeId: number, h: readonly [number, number, number]) => {
      const [h0, h1, h2] = h;
      memory.met(scopeId, "user_42", { h0, h1, h2 } as KeyHash);
      return [memory.scopeId, memory.identifier, memory.h0, memory.h1, memory.h2];
    };
    for (const [scopeId, hash] of [
      [8, [1, 2, 3]],
      [7, [9, 2, 3]],
      [7, [1, 9, 3]],
      [7, [1, 2, 9]],
    ] as const) {
      const memory = new HashMemory();
      expect(memory.identifier).toBe("");
      expect(met(memory, 7, [1, 2, 3])).toEqual([7, "", 1, 2, 3]);
      expect(met(memory, 7, [1, 2, 3])).toEqual([7, "user_42", 1, 2, 3]);
      expect(met(memory, scopeId, hash), "another takes the place over").toEqual([scopeId, "", ...hash]);
      expect(met(memory, scopeId, hash)).toEqual([scopeId, "user_42", ...hash]);
    }
  });

  test("an illegal identifier is refused every time, not only the first", () => {
    const engine = freshEngine();
    const scope = engine.scopes.create("acme", "api", "1m");
    for (const id of [
      7 as never,
      null as never,
      { length: 3 } as never,
      "\ud800",
      "ab\udc00",
      "",
      "x".repeat(513),
      "😀".repeat(513),
      `${"😀".repeat(400)}\ud800`,
    ]) {
      for (let attempt = 0; attempt < 3; attempt++) {
        expect(() => engine.locate(scope, id)).toThrow(expect.objectContaining({ code: "RL_IDENTIFIER_INVALID" }));
      }
    }
    expect(located(engine, scope, "abc")).toEqual(hashAlone(scope, "abc"));
  });
});
