import { describe, expect, test } from "vitest";
import { encodeKey } from "../../engine/key.ts";
import { RedisCellNames } from "./cell.ts";
import { slotOf } from "./route.ts";

const names = new RedisCellNames("sluice:");
const nameOf = (identifier: string, namespace = "n") =>
  names.of(encodeKey({ workspace: "w", namespace, identifier, durationMs: 60_000 as never }), 7);

describe("names of cells in Redis", () => {
  test("a key without a closing brace stands in its name", () => {
    expect(nameOf("user_1")).toBe("sluice:1:{60000:1:w1:n6:user_1}:7");
    expect(nameOf("{user")).toBe("sluice:1:{60000:1:w1:n5:{user}:7");
  });

  test("identifiers cannot end the hash tag: keys that begin alike are spread over a Cluster", () => {
    for (const start of ["}", "{}", "a}"]) {
      const slots = new Set(Array.from({ length: 100 }, (_, i) => slotOf(nameOf(`${start}${i}`))));
      // 100 of 16,384 slots: pairs that meet are expected 0.3 times. The names are always the same, so this cannot vary.
      expect(slots.size).toBeGreaterThan(95);
    }
    expect(slotOf(nameOf("x", "}a"))).not.toBe(slotOf(nameOf("y", "}a")));
  });

  test("both cells of a key are on one node, and different keys have different names", () => {
    const key = "60000:1:w1:n2:}a";
    expect(slotOf(names.of(key, 7))).toBe(slotOf(names.of(key, 8)));
    const all = ["}", "}}", "{}", "a}", "}a", "}a "].map((identifier) => nameOf(identifier));
    expect(new Set(all).size).toBe(all.length);
  });
});
