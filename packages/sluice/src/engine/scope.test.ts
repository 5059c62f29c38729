import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { DurationMs } from "../core/brands.ts";
import { SluiceError } from "../core/errors.ts";
import { HashState, KeyHash } from "./key-hash.ts";
import { type Scope, Scopes } from "./scope.ts";

const hash = new KeyHash(new SeededRandom(1));

/** What a scope of these fields must hold, worked out anew. */
function expectScope(scope: Scope, workspace: string, namespace: string, durationMs: number): void {
  const state = new HashState();
  hash.begin(state, workspace, namespace, durationMs as DurationMs);
  const { hash: found, ...fields } = scope;
  expect(fields).toMatchObject({ workspace, namespace, durationMs });
  expect(found).toEqual(state);
}

/** More than the cache has places, so that every place is shared; short names of few letters, so that they meet often. */
const name = fc.oneof(
  fc.constantFrom("a", "b", "ba", "ab", "default", "__proto__", "constructor"),
  fc.nat({ max: 400 }).map((n) => `n${n}`),
);
const durations: readonly (readonly [given: number | string, ms: number])[] = [
  [60_000, 60_000],
  ["1m", 60_000],
  ["60s", 60_000],
  [1_000, 1_000],
  ["1s", 1_000],
  [1_001, 1_001],
  ["30d", 2_592_000_000],
];

type Fields = readonly [workspace: string, namespace: string, duration: string | number];

/** Two scopes that share a place of the cache, found by search: there are 256 places. */
function meeting(): readonly [Fields, Fields] {
  const one: Fields = ["acme", "api", "1m"];
  for (let i = 0; i < 100_000; i++) {
    const other: Fields = [`w${i}`, `n${i}`, "2m"];
    const scopes = new Scopes(hash);
    if (scopes.find(...one) === scopes.find(...other)) return [one, other];
  }
  throw new Error("no two scopes meet");
}

describe("scope", () => {
  test("a found scope holds what was asked for, whoever was at its place before", () => {
    const asked = fc.array(fc.tuple(name, name, fc.constantFrom(...durations)), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(asked, (requests) => {
        const scopes = new Scopes(hash);
        for (const [workspace, namespace, [given, ms]] of requests) {
          expectScope(scopes.find(workspace, namespace, given), workspace, namespace, ms);
        }
      }),
    );
  });

  test("a scope's number changes whenever its fields do, and is never given twice", () => {
    const scopes = new Scopes(hash);
    const fieldsOf = new Map<number, string>();
    fc.assert(
      fc.property(name, name, fc.constantFrom(...durations), (workspace, namespace, [given, ms]) => {
        const { id } = scopes.find(workspace, namespace, given);
        const fields = JSON.stringify([workspace, namespace, ms]);
        expect(id).toBeGreaterThan(0);
        expect(fieldsOf.get(id) ?? fields).toBe(fields);
        fieldsOf.set(id, fields);
      }),
      { numRuns: 5_000 },
    );
  });

  test("asking again finds the same scope without filling it anew", () => {
    const scopes = new Scopes(hash);
    const { id } = scopes.find("acme", "api", "1m");
    expect(scopes.find("acme", "api", "1m").id).toBe(id);
  });

  test("two scopes at one place take turns and never mix", () => {
    const [one, other] = meeting();
    const scopes = new Scopes(hash);
    expect(scopes.find(...other)).toBe(scopes.find(...one));
    for (let turn = 0; turn < 3; turn++) {
      expectScope(scopes.find(...one), one[0], one[1], 60_000);
      expectScope(scopes.find(...other), other[0], other[1], 120_000);
      expectScope(scopes.find(other[0], other[1], 120_000), other[0], other[1], 120_000);
    }
  });

  test.each<[string, readonly Fields[]]>([
    [
      "durations of one length",
      [
        ["acme", "api", "1s"],
        ["acme", "api", "1m"],
        ["acme", "api", "1h"],
        ["acme", "api", "1d"],
      ],
    ],
    [
      "durations of one unit",
      [
        ["acme", "api", "10s"],
        ["acme", "api", "30s"],
      ],
    ],
    [
      "durations in milliseconds",
      [
        ["acme", "api", 1_000],
        ["acme", "api", 60_000],
        ["acme", "api", 3_600_000],
        ["acme", "api", 86_400_000],
      ],
    ],
    [
      "namespaces that end alike",
      [
        ["acme", "user-api", "1m"],
        ["acme", "team-api", "1m"],
      ],
    ],
    [
      "namespaces of one begin",
      [
        ["acme", "api-1", "1m"],
        ["acme", "api-2", "1m"],
        ["acme", "api-3", "1m"],
      ],
    ],
    [
      "a workspace and a namespace that change places",
      [
        ["acme", "api", "1m"],
        ["api", "acme", "1m"],
      ],
    ],
  ])("ordinary neighbours do not drive each other out: %s", (_, neighbours) => {
    const scopes = new Scopes(hash);
    const ids = neighbours.map((fields) => scopes.find(...fields).id);
    expect(new Set(neighbours.map((fields) => scopes.find(...fields))).size).toBe(neighbours.length);
    expect(
      neighbours.map((fields) => scopes.find(...fields).id),
      "filled once each",
    ).toEqual(ids);
  });

  test("names that differ elsewhere than at their begin, middle and end do not drive each other out", () => {
    const scopes = new Scopes(hash);
    expect(scopes.find("axme", "api", "1m")).not.toBe(scopes.find("acme", "api", "1m"));
  });

  test("a service with 64 scopes keeps most of them", () => {
    // 8 namespaces by 8 durations in 256 places. Thrown at random, 64 would meet 57 places; half of that is asked for.
    const scopes = new Scopes(hash);
    const found = new Set<Scope>();
    for (const namespace of ["api", "login", "signup", "search", "upload", "export", "mail", "webhooks"])
      for (const given of ["1s", "10s", "30s", "1m", "5m", "15m", "1h", "1d"])
        found.add(scopes.find(undefined, namespace, given));
    expect(found.size).toBeGreaterThan(28);
  });

  test("one window written in two ways is one scope in content", () => {
    const scopes = new Scopes(hash);
    for (const given of ["1m", "60s", 60_000, "60000ms"]) {
      expectScope(scopes.find("acme", "api", given), "acme", "api", 60_000);
    }
  });

  test("a scope of one's own is never overwritten", () => {
    const scopes = new Scopes(hash);
    const own = scopes.create("acme", "api", "1m");
    const { id } = own;
    for (let i = 0; i < 1_000; i++) scopes.find(`w${i}`, `n${i}`, 1_000 + i);
    expect(scopes.find("acme", "api", "1m")).not.toBe(own);
    expect(scopes.create("acme", "api", "1m")).not.toBe(own);
    expectScope(own, "acme", "api", 60_000);
    expect(own.id).toBe(id);
  });

  test("without a workspace the scope is the default one's", () => {
    const scopes = new Scopes(hash);
    expectScope(scopes.find(undefined, "api", "1m"), "default", "api", 60_000);
    expectScope(scopes.create(undefined, "api", "1m"), "default", "api", 60_000);
    expect(scopes.find("default", "api", "1m").id).toBe(scopes.find(undefined, "api", "1m").id);
  });

  test.each([
    ["a bad workspace", "\ud800cme", "api", "1m", "RL_WORKSPACE_INVALID"],
    ["a bad namespace", "acme", "ap\ud800", "1m", "RL_NAMESPACE_INVALID"],
    ["a workspace that is no text", 7, "api", "1m", "RL_WORKSPACE_INVALID"],
    ["a namespace that is no text", "acme", 7, "1m", "RL_NAMESPACE_INVALID"],
    ["a bad duration", "acme", "api", "1x", "RL_DURATION_INVALID"],
  ])("after %s the place still answers for the one before and for the next", (_, workspace, namespace, given, code) => {
    const scopes = new Scopes(hash);
    const [one, other] = meeting();
    scopes.find(...one);
    expect(() => scopes.find(workspace, namespace, given)).toThrow(expect.objectContaining({ code }));
    expect(() => scopes.create(workspace, namespace, given)).toThrow(expect.objectContaining({ code }));
    expect(() => scopes.find(workspace, namespace, given)).toThrow(expect.objectContaining({ code }));
    expectScope(scopes.find(...one), one[0], one[1], 60_000);
    expectScope(scopes.find(...other), other[0], other[1], 120_000);
  });

  test("a field that is illegal at a place in use leaves that place as it was", () => {
    // A scope is never left half filled: 2,000 bad ones go over all 256 places.
    const scopes = new Scopes(hash);
    const { id } = scopes.find("acme", "api", "1m");
    for (let i = 0; i < 2_000; i++) {
      expect(() => scopes.find(`w${i}`, `n${i}`, "1x")).toThrow(SluiceError);
      expect(() => scopes.find(`w${i}`, `n${i}\ud800`, "1m")).toThrow(SluiceError);
    }
    expect(scopes.find("acme", "api", "1m").id, "not even filled anew").toBe(id);
    expectScope(scopes.find("acme", "api", "1m"), "acme", "api", 60_000);
  });

  test("an illegal field is refused at an unused place too", () => {
    // Found so: the empty workspace and namespace without a duration are what an unfilled scope holds. It was taken for a
    // hit, and a cell with a duration of 0 was claimed, which the table takes for a free one.
    const bad = ["", undefined, null, 0, Number.NaN, false, {}];
    for (const workspace of [...bad, "acme"]) {
      for (const namespace of bad) {
        for (const given of [...bad, "1m"]) {
          const shown = `${String(workspace)}, ${String(namespace)}, ${String(given)}`;
          expect(() => new Scopes(hash).find(workspace, namespace, given), shown).toThrow(SluiceError);
        }
      }
    }
  });
});
