import { describe, expect, test } from "vitest";
import { SYSTEM } from "../system/system.ts";
import { MATCH_BYTES_MAX, MatchMemory } from "./match-memory.ts";
import { OverrideMatch } from "./override-match.ts";
import { PatternText } from "./pattern-text.ts";
import type { OverrideRecord } from "./records.ts";

const RECORD: OverrideRecord = {
  id: "rlor_1",
  workspaceId: "default",
  namespaceId: "rlns_1",
  identifier: "a*",
  limit: 1,
  durationMs: 1_000,
  isShadow: false,
  updatedAtMs: 0,
};

describe("memory of matches", () => {
  test("all namespaces together stay below one maximum in bytes, and the latest is known", () => {
    const memory = new MatchMemory(10_000);
    for (let i = 0; i < 1_000; i++) {
      const owner = { i };
      memory.set(owner, "x".repeat(i % 500), i % 2 === 0 ? RECORD : null);
      expect(memory.bytes).toBeLessThanOrEqual(10_000);
      expect(memory.get(owner, "x".repeat(i % 500))).toBe(i % 2 === 0 ? RECORD : null);
    }
  });

  // Each namespace had a memory of 4,096 identifiers of its own, so 10,000 namespaces with patterns had no bound worth the name.
  test("namespaces with patterns do not take more memory the more of them there are", () => {
    const text = new PatternText(SYSTEM.random);
    const memory = new MatchMemory();
    for (let namespace = 0; namespace < 100; namespace++) {
      const match = new OverrideMatch(text, memory);
      for (let i = 0; i < 20; i++) match.set({ ...RECORD, identifier: `org_${i}_*` });
      for (let i = 0; i < 200; i++) match.for(`${"\u{1F600}".repeat(505)}${i}`);
    }
    expect(memory.bytes).toBeGreaterThan(MATCH_BYTES_MAX / 4);
    expect(memory.bytes).toBeLessThanOrEqual(MATCH_BYTES_MAX);
  });

  test("a namespace that changes forgets its own matches only", () => {
    const memory = new MatchMemory();
    const [one, other] = [{}, {}];
    memory.set(one, "a", RECORD);
    memory.set(other, "a", RECORD);
    memory.forget(one);
    expect([memory.get(one, "a"), memory.get(other, "a")]).toEqual([undefined, RECORD]);
    memory.clear();
    expect([memory.get(other, "a"), memory.bytes]).toEqual([undefined, 0]);
  });
});
