import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Slot } from "../core/brands.ts";
import { NONE } from "./cell-table.ts";
import { SlotSet } from "./slot-set.ts";

const CAPACITY = 5;
const slot = fc.integer({ min: 0, max: CAPACITY - 1 }) as fc.Arbitrary<Slot>;
const step = fc.record({ what: fc.constantFrom("add", "delete", "rotate"), slot });

describe("slot set", () => {
  test("does what a Set does, and rotates its first to the end", () => {
    const property = fc.property(fc.array(step), (steps) => {
      const [set, model] = [new SlotSet(CAPACITY), new Set<Slot>()];
      for (const { what, slot } of steps) {
        if (what === "rotate") {
          const [first = NONE] = model;
          expect(set.rotate()).toBe(first);
          if (model.delete(first)) model.add(first);
        } else if (what === "add") {
          set.add(slot);
          model.add(slot);
        } else {
          set.delete(slot);
          model.delete(slot);
        }
        expect([...set]).toEqual([...model]);
        expect(set.size).toBe(model.size);
        for (let each = 0 as Slot; each < CAPACITY; each++) expect(set.has(each)).toBe(model.has(each));
      }
    });
    fc.assert(property);
  });

  test("the slot that was just given may leave while it is looked through", () => {
    const set = new SlotSet(CAPACITY);
    for (const slot of [3, 0, 4, 1] as Slot[]) set.add(slot);
    const given: Slot[] = [];
    for (const slot of set) {
      given.push(slot);
      if (slot !== 4) set.delete(slot);
    }
    expect([given, [...set]]).toEqual([[3, 0, 4, 1], [4]]);
  });
});
