import { describe, expect, test } from "vitest";
import type { Sequence, Slot } from "../core/brands.ts";
import { AcceptedLimits } from "./accepted-limits.ts";

const SLOT = 1 as Slot;
const at = (sequence: number) => sequence as Sequence;

describe("accepted limits", () => {
  test("the highest limit of each of a slot's two windows is kept, and none of any other slot or window", () => {
    const limits = new AcceptedLimits(3);
    for (const limit of [10, 1_000, 50]) limits.raise(SLOT, at(7), limit);
    limits.raise(SLOT, at(8), 20);
    expect([7, 8].map((sequence) => limits.read(SLOT, at(sequence)))).toEqual([1_000, 20]);
    for (const sequence of [5, 6, 9, 10]) expect(limits.read(SLOT, at(sequence))).toBe(Number.POSITIVE_INFINITY);
    for (const slot of [0, 2]) expect(limits.read(slot as Slot, at(7))).toBe(Number.POSITIVE_INFINITY);
  });

  test("a window takes the place of the one before the last, whatever the limits were", () => {
    const limits = new AcceptedLimits(2);
    limits.raise(SLOT, at(7), 1_000);
    limits.raise(SLOT, at(9), 10);
    expect([limits.read(SLOT, at(9)), limits.read(SLOT, at(7))]).toEqual([10, Number.POSITIVE_INFINITY]);
  });

  test("a charge is remembered with its window, whatever limits come before or after it", () => {
    const limits = new AcceptedLimits(3);
    limits.raise(SLOT, at(7), 10);
    expect(limits.isCharged(SLOT, at(7))).toBe(false);
    for (const limit of [5, 5]) limits.charge(SLOT, at(7), limit);
    expect([limits.read(SLOT, at(7)), limits.isCharged(SLOT, at(7))]).toEqual([10, true]);
    for (const limit of [10, 2 ** 40, 3]) limits.raise(SLOT, at(7), limit);
    expect([limits.read(SLOT, at(7)), limits.isCharged(SLOT, at(7))]).toEqual([2 ** 40, true]);
    limits.raise(SLOT, at(8), 3);
    expect([6, 8, 9].map((sequence) => limits.isCharged(SLOT, at(sequence)))).toEqual([false, false, false]);
    limits.raise(SLOT, at(9), 3);
    expect([limits.read(SLOT, at(9)), limits.isCharged(SLOT, at(9))]).toEqual([3, false]);
  });

  test("a slot that is released has accepted nothing: in the first window of time and in the last", () => {
    for (const [sequence, other] of [
      [at(0), at(1)],
      [at(2 ** 32 - 2), at(2 ** 32 - 3)],
    ] as const) {
      const limits = new AcceptedLimits(2);
      expect(limits.read(SLOT, sequence)).toBe(Number.POSITIVE_INFINITY);
      limits.raise(SLOT, sequence, 2 ** 40);
      limits.raise(SLOT, other, 1);
      expect(limits.read(SLOT, sequence)).toBe(2 ** 40);
      limits.forget(SLOT);
      expect(limits.read(SLOT, sequence)).toBe(Number.POSITIVE_INFINITY);
      expect(limits.read(SLOT, other)).toBe(Number.POSITIVE_INFINITY);
    }
  });
});
