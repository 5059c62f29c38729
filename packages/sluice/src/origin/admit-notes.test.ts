import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import type { Slot } from "../core/brands.ts";
import { type AdmitNote, AdmitNotes } from "./admit-notes.ts";

const MIB = 2 ** 20;

function setUp() {
  const world = new LayeredEngine(16);
  world.accept("a");
  const name = world.ledger.name(world.slot())!;
  const { sequence } = world;
  const noteOf = (slot: number, bytes = name.bytes): AdmitNote => ({
    slot: slot as Slot,
    name: { ...name, bytes },
    sequence,
    component: 1,
    life: 0,
    beganMs: 0,
  });
  const notes = new AdmitNotes();
  const take = (note: AdmitNote) => notes.take(note.slot, note.name, sequence, 1, 0);
  return { notes, noteOf, take };
}

describe("admit notes", () => {
  test("of more than ten thousand the oldest go, and are raised instead", () => {
    const { notes, noteOf, take } = setUp();
    const kept = Array.from({ length: 10_002 }, (_, slot) => noteOf(slot));
    for (const note of kept) notes.keep(note);
    expect(notes.size).toBe(10_000);
    expect([0, 1, 2, 10_001].map((slot) => take(kept[slot]!) !== null)).toEqual([false, false, true, true]);
  });

  test("the names that they hold take at most 8 MiB, and no byte is counted for a note that is gone", () => {
    const { notes, noteOf, take } = setUp();
    const kept = Array.from({ length: 3_000 }, (_, slot) => noteOf(slot, 6_000));
    for (const note of kept) notes.keep(note);
    expect(notes.bytes).toBeLessThanOrEqual(8 * MIB);
    expect(notes.bytes).toBeGreaterThan(8 * MIB - 6_150);
    const { size } = notes;
    notes.keep(noteOf(2_999, 200));
    expect([notes.size, notes.bytes < 8 * MIB - 5_800]).toEqual([size, true]);
    for (const note of kept) take(note);
    expect([notes.size, notes.bytes]).toEqual([0, 0]);
    notes.keep(noteOf(1));
    notes.lost(-1);
    expect([notes.size, notes.bytes]).toEqual([0, 0]);
  });
});
