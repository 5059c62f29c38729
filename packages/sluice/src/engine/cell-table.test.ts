import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/seeded-random.ts";
import { COUNT_MAX, DURATION_MAX_MS } from "../core/bounds.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { CellTable, NONE } from "./cell-table.ts";

const MINUTE = 60_000 as DurationMs;
const seq = (sequence: number) => sequence as Sequence;

/** Everything a slot holds of the cell at `sequence`. */
function cellAt(table: CellTable, slot: Slot, sequence: number) {
  const at = seq(sequence);
  return {
    view: table.view(slot, at),
    own: table.own(slot, at),
    others: table.others(slot, at),
    foreign: table.foreign(slot, at),
    replayed: table.replayed(slot, at),
    published: table.published(slot, at),
    freshUntilMs: table.freshUntilMs(slot, at),
  };
}
const EMPTY = { view: 0, own: 0, others: 0, foreign: 0, replayed: 0, published: 0, freshUntilMs: 0 };

/** A table with one slot at sequence 10, both of whose cells are full of different numbers. */
function filled() {
  const table = new CellTable(4);
  const slot = table.claim(1, 2, 3, MINUTE, seq(9));
  for (const [sequence, base] of [
    [9, 100],
    [10, 200],
  ] as const) {
    table.accept(slot, seq(sequence), base + 1, 1_000);
    table.raiseOthers(slot, seq(sequence), base + 2);
    table.raiseForeign(slot, seq(sequence), base + 3);
    table.raiseReplayed(slot, seq(sequence), base + 4);
    table.raisePublished(slot, seq(sequence), base + 5);
    table.raiseFreshUntil(slot, seq(sequence), base + 6);
  }
  table.raiseStrictUntil(slot, 7_777);
  const cell = (base: number) => ({
    view: 3 * base + 6,
    own: base + 1,
    others: base + 2,
    foreign: base + 3,
    replayed: base + 4,
    published: base + 5,
    freshUntilMs: base + 6,
  });
  return { table, slot, cell9: cell(100), cell10: cell(200) };
}

describe("cell table", () => {
  test("a slot holds its current and its previous cell, each with its own numbers", () => {
    const { table, slot, cell9, cell10 } = filled();
    expect([8, 9, 10, 11].map((at) => cellAt(table, slot, at))).toEqual([EMPTY, cell9, cell10, EMPTY]);
    expect([table.viewPrevious(slot), table.viewCurrent(slot)]).toEqual([cell9.view, cell10.view]);
    expect([table.sequence(slot), table.durationMs(slot), table.limitLow(slot)]).toEqual([10, MINUTE, 1_000]);
  });

  test.each([
    ["forwards by 1 the current cell becomes the previous one", 11, { 9: false, 10: true }],
    ["forwards by 2 both start empty", 12, { 9: false, 10: false }],
    ["forwards by many both start empty", 4_000_000_000, { 9: false, 10: false }],
    ["backwards by 1 the previous cell becomes current again", 9, { 9: true, 10: false }],
    ["backwards by 2 both start empty", 8, { 9: false, 10: false }],
    ["backwards to the first window both start empty", 0, { 9: false, 10: false }],
    ["nowhere nothing changes", 10, { 9: true, 10: true }],
  ])("turned %s", (_, to, kept) => {
    const { table, slot, cell9, cell10 } = filled();
    table.rotate(slot, seq(to));
    expect(table.sequence(slot)).toBe(to);
    expect(cellAt(table, slot, 9)).toEqual(kept[9] ? cell9 : EMPTY);
    expect(cellAt(table, slot, 10)).toEqual(kept[10] ? cell10 : EMPTY);
    for (const at of [to - 1, to].filter((at) => at !== 9 && at !== 10)) expect(cellAt(table, slot, at)).toEqual(EMPTY);
    expect(table.strictUntilMs(slot), "the strict deadline belongs to the key").toBe(7_777);
    expect(table.limitLow(slot), "the lowest limit stays until the window's first cost").toBe(1_000);
    expect(table.find(1, 2, 3, MINUTE)).toBe(slot);
  });

  test("the largest durations and sequences come back as they went in", () => {
    const table = new CellTable(2);
    for (const [i, sequence] of [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2].entries()) {
      const durationMs = (DURATION_MAX_MS - i) as DurationMs;
      const slot = table.claim(-1, -2, -3, durationMs, seq(sequence));
      table.accept(slot, seq(sequence), 5, 9);
      expect([table.durationMs(slot), table.sequence(slot), table.view(slot, seq(sequence))]).toEqual([
        durationMs,
        sequence,
        5,
      ]);
      expect(table.find(-1, -2, -3, durationMs)).toBe(slot);
      table.release(slot);
    }
  });

  test("a hash with two durations is two keys, and every bit of a hash counts", () => {
    const table = new CellTable(200);
    const slots = new Set([table.claim(0, 0, 0, MINUTE, seq(1)), table.claim(0, 0, 0, 1_000 as DurationMs, seq(1))]);
    for (let bit = 0; bit < 32; bit++) {
      for (let word = 0; word < 3; word++) {
        const [h0, h1, h2] = [0, 1, 2].map((i) => (i === word ? 1 << bit : 0)) as [number, number, number];
        expect(table.find(h0, h1, h2, MINUTE)).toBe(NONE);
        slots.add(table.claim(h0, h1, h2, MINUTE, seq(1)));
      }
    }
    expect(slots.size).toBe(98);
  });

  test("a claim on a full table and the release of a free slot are defects", () => {
    const table = new CellTable(2);
    const slot = table.claim(1, 1, 1, MINUTE, seq(1));
    table.claim(2, 2, 2, MINUTE, seq(1));
    expect(table.hasRoom).toBe(false);
    expect(() => table.claim(3, 3, 3, MINUTE, seq(1))).toThrow("a claim on a full table");
    expect([table.size, table.find(3, 3, 3, MINUTE)]).toEqual([2, NONE]);
    table.release(slot);
    expect(() => table.release(slot)).toThrow("a free slot released");
    expect(table.size).toBe(1);
  });

  test("a slot claimed again is empty", () => {
    const { table, slot } = filled();
    table.touch(slot, 5);
    table.release(slot);
    expect(table.claim(7, 8, 9, MINUTE, seq(10))).toBe(slot);
    for (const at of [8, 9, 10, 11]) expect(cellAt(table, slot, at)).toEqual(EMPTY);
    expect([table.strictUntilMs(slot), table.lastUse(slot)]).toEqual([0, 0]);
    expect(table.limitLow(slot)).toBe(Number.POSITIVE_INFINITY);
  });

  test("the lowest limit of a window is kept", () => {
    const table = new CellTable(1);
    const slot = table.claim(1, 2, 3, MINUTE, seq(1));
    for (const limit of [50, 20, 90]) table.accept(slot, seq(1), 1, limit);
    expect(table.limitLow(slot)).toBe(20);
    table.accept(slot, seq(2), 1, 70);
    expect(table.limitLow(slot)).toBe(70);
  });

  const FIELDS = ["others", "foreign", "replayed", "published", "freshUntilMs"] as const;
  const RAISE = {
    others: "raiseOthers",
    foreign: "raiseForeign",
    replayed: "raiseReplayed",
    published: "raisePublished",
    freshUntilMs: "raiseFreshUntil",
  } as const;
  const message = fc.record({
    field: fc.constantFrom(...FIELDS),
    sequence: fc.integer({ min: 7, max: 12 }),
    count: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: COUNT_MAX }), fc.constant(COUNT_MAX)),
  });

  test("any order and any repetition of the same messages gives the same state: the largest of each", () => {
    const messages = fc.array(message, { maxLength: 20 });
    const delivery = messages.chain((sent) =>
      fc.tuple(
        fc.constant(sent),
        fc.array(fc.nat(), { maxLength: 30 }),
        fc.shuffledSubarray(sent, { minLength: sent.length }),
      ),
    );
    fc.assert(
      fc.property(delivery, ([sent, repeats, shuffled]) => {
        const deliver = (all: typeof sent) => {
          const table = new CellTable(1);
          const slot = table.claim(1, 2, 3, MINUTE, seq(10));
          for (const { field, sequence, count } of all) table[RAISE[field]](slot, seq(sequence), count);
          return [7, 8, 9, 10, 11, 12].map((at) => cellAt(table, slot, at));
        };
        const repeated = sent.length === 0 ? [] : repeats.map((i) => sent[i % sent.length]!);
        const inOrder = deliver(sent);
        expect(deliver([...repeated, ...shuffled, ...repeated])).toEqual(inOrder);
        for (const at of [9, 10]) {
          for (const field of FIELDS) {
            const counts = sent.filter((one) => one.field === field && one.sequence === at).map(({ count }) => count);
            expect(inOrder[at - 7]![field]).toBe(Math.max(0, ...counts));
          }
        }
        expect([inOrder[0], inOrder[1], inOrder[4], inOrder[5]]).toEqual([EMPTY, EMPTY, EMPTY, EMPTY]);
      }),
      { numRuns: 500 },
    );
  });

  test("no count falls while a slot keeps its sequence", () => {
    const step = fc.oneof(message, fc.record({ cost: fc.integer({ min: 0, max: 2 ** 40 }) }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { table, slot } = filled();
        let before = [9, 10].map((at) => cellAt(table, slot, at));
        for (const one of steps) {
          if ("cost" in one) table.accept(slot, seq(10), one.cost, 5);
          else table[RAISE[one.field]](slot, seq(one.sequence), one.count);
          const after = [9, 10].map((at) => cellAt(table, slot, at));
          for (const [i, cell] of after.entries()) {
            for (const field of Object.keys(EMPTY) as (keyof typeof EMPTY)[]) {
              expect(cell[field]).toBeGreaterThanOrEqual(before[i]![field]);
            }
          }
          before = after;
        }
      }),
      { numRuns: 300 },
    );
  });

  /** One key of the model: where it is, and what it must hold. */
  interface Known {
    readonly hash: readonly [number, number, number, DurationMs];
    slot: Slot;
    sequence: number;
    readonly cells: Map<number, { own: number; others: number; foreign: number }>;
  }

  test.each([1, 2, 3, 4])("it does what a plain map does, with homes that collide and wrap around, seed %i", (seed) => {
    const random = new SeededRandom(seed);
    const capacity = 48;
    const table = new CellTable(capacity);
    const known = new Map<string, Known>();
    // 128 entries in the index: homes at its end, so that chains wrap to its start; few tags, so that they meet as well.
    const homes = [0, 1, 62, 63, 126, 127, -1, -2];
    const draw = (): Known["hash"] => [
      random.pick(homes) + 128 * random.below(2),
      random.below(2) << 8,
      random.below(3),
      random.pick([MINUTE, 1_000 as DurationMs]),
    ];
    const expectSame = (when: string) => {
      expect([table.size, table.hasRoom], when).toEqual([known.size, known.size < capacity]);
      for (const { hash, slot, sequence, cells } of known.values()) {
        expect(table.find(...hash), when).toBe(slot);
        expect([table.isFree(slot), table.sequence(slot), table.durationMs(slot)], when).toEqual([
          false,
          sequence,
          hash[3],
        ]);
        for (const at of [sequence - 1, sequence]) {
          const { own, others, foreign } = cells.get(at) ?? { own: 0, others: 0, foreign: 0 };
          expect(cellAt(table, slot, at), when).toMatchObject({ own, others, foreign, view: own + others + foreign });
        }
      }
    };
    for (let step = 0; step < 4_000; step++) {
      const when = `seed ${seed}, step ${step}`;
      const hash = draw();
      const key = hash.join();
      const found = known.get(key);
      if (found === undefined) {
        expect(table.find(...hash), when).toBe(NONE);
        if (known.size === capacity) continue;
        const sequence = random.below(4) + 1;
        known.set(key, { hash, slot: table.claim(...hash, seq(sequence)), sequence, cells: new Map() });
        continue;
      }
      const { slot, cells } = found;
      const count = random.below(1_000);
      const action = random.below(10);
      if (action < 4) {
        table.release(slot);
        known.delete(key);
        expect([table.find(...hash), table.isFree(slot)], when).toEqual([NONE, true]);
        if (step % 16 === 0) expectSame(when);
        continue;
      }
      const at = action < 8 ? Math.max(1, found.sequence + random.below(5) - 2) : found.sequence - random.below(2);
      if (action < 8) {
        if (action === 7) table.rotate(slot, seq(at));
        else table.accept(slot, seq(at), count, 1_000);
        found.sequence = at;
        for (const held of cells.keys()) if (held !== at && held !== at - 1) cells.delete(held);
      }
      const cell = cells.get(at) ?? { own: 0, others: 0, foreign: 0 };
      cells.set(at, cell);
      if (action < 7) cell.own += count;
      if (action === 8) {
        table.raiseOthers(slot, seq(at), count);
        cell.others = Math.max(cell.others, count);
      }
      if (action === 9) {
        table.raiseForeign(slot, seq(at), count);
        cell.foreign = Math.max(cell.foreign, count);
      }
      if (step % 16 === 0) expectSame(when);
    }
    expectSame(`seed ${seed}, at the end`);
    expect(table.highWater).toBeLessThanOrEqual(capacity);
  });

  test.each([
    ["past its first size", 3_000, 3_000],
    ["past its last step", 180_000, 300_000],
  ])("growing the index %s loses no key", (_, keys, capacity) => {
    const random = new SeededRandom(keys);
    const table = new CellTable(capacity);
    const hashes = Array.from(
      { length: keys },
      () => [random.uint32() | 0, random.uint32() | 0, random.uint32() | 0] as const,
    );
    const slots = hashes.map(([h0, h1, h2], i) => {
      const slot = table.claim(h0, h1, h2, MINUTE, seq(1));
      table.accept(slot, seq(1), i, i);
      // Some go while the index grows, and come back at the end.
      if (i % 7 === 3) table.release(slot);
      return slot;
    });
    const wrong = (isRight: (i: number) => boolean) => hashes.findIndex((_hash, i) => !isRight(i));
    const found = (i: number) => table.find(...hashes[i]!, MINUTE);
    expect(
      wrong((i) => (i % 7 === 3 ? found(i) === NONE : found(i) === slots[i] && table.own(slots[i]!, seq(1)) === i)),
    ).toBe(-1);
    for (const [i, [h0, h1, h2]] of hashes.entries())
      if (i % 7 === 3) slots[i] = table.claim(h0, h1, h2, MINUTE, seq(1));
    expect(wrong((i) => found(i) === slots[i])).toBe(-1);
    expect([table.size, new Set(slots).size]).toEqual([keys, keys]);
    for (const slot of slots) table.release(slot);
    expect(wrong((i) => found(i) === NONE)).toBe(-1);
    expect(table.size).toBe(0);
  });

  test.each([
    [1_048_576, 2 ** 21],
    [300_000, 2 ** 19],
  ])(
    "the index of %i slots starts small, grows by steps, and has its last size by 175,000 keys",
    (capacity, entries) => {
      // Counted in what is allocated outside the heap: nothing else is, and what is collected only makes it less.
      const random = new SeededRandom(capacity);
      const allocated = () => process.memoryUsage().arrayBuffers;
      globalThis.gc?.();
      const empty = allocated();
      const table = new CellTable(capacity);
      const records = capacity * (64 + 72);
      expect(allocated() - empty - records, "an index of 2^12 entries").toBeLessThan(2 ** 12 * 4 + 1_000);
      const rises: { size: number; bytes: number }[] = [];
      let before = allocated();
      for (let size = 1; size <= 290_000; size++) {
        table.claim(random.uint32() | 0, random.uint32() | 0, random.uint32() | 0, MINUTE, seq(1));
        if (size % 64 !== 0) continue;
        const after = allocated();
        if (after > before) rises.push({ size, bytes: after - before });
        before = after;
      }
      // An index of n entries is left at n / 1.5 keys, and looked at every 64: the work of a step is what it enters.
      const smaller = [2 ** 12, 2 ** 14, 2 ** 16, 2 ** 18];
      const steps = smaller.map((from) => Math.ceil((Math.floor(from / 1.5) + 1) / 64) * 64);
      expect(rises.map(({ size }) => size)).toEqual(steps);
      expect(Math.max(...rises.map(({ size }) => size))).toBeLessThanOrEqual(175_000);
      // The indexes before it may all be collected at that very step, and take as much from what is seen of it.
      const left = smaller.reduce((sum, size) => sum + size, 0);
      expect(rises.at(-1)?.bytes, "the last step").toBeGreaterThanOrEqual(4 * (entries - left));
      expect(table.size).toBe(290_000);
    },
  );
});
