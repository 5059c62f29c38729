import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { COUNT_MAX, DURATION_MAX_MS, SUM_MAX } from "../core/bounds.ts";
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
    table.lowerLimit(slot, 60);
    table.accept(slot, seq(2), 1, 65);
    expect(table.limitLow(slot), "a request that was denied counts too").toBe(60);
    for (const limit of [0, 60, 61]) expect(() => table.lowerLimit(slot, limit)).toThrow(/not lower/);
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
            const isSum = field === "others" || field === "foreign";
            expect(inOrder[at - 7]![field]).toBe(Math.min(isSum ? SUM_MAX : COUNT_MAX, Math.max(0, ...counts)));
          }
        }
        expect([inOrder[0], inOrder[1], inOrder[4], inOrder[5]]).toEqual([EMPTY, EMPTY, EMPTY, EMPTY]);
      }),
      { numRuns: 500 },
    );
  });

  test("no count falls while a slot keeps its sequence", () => {
    const step = fc.oneof(message, fc.record({ cost: fc.integer({ min: 0, max: 2 ** 40 }), isCharged: fc.boolean() }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { table, slot } = filled();
        let before = [9, 10].map((at) => cellAt(table, slot, at));
        for (const one of steps) {
          if ("cost" in one) table[one.isCharged ? "charge" : "accept"](slot, seq(10), one.cost, 5);
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

  type ModelCell = Record<"own" | (typeof FIELDS)[number], number>;

  /** One key of the model: where it is, and what it must hold. */
  interface Known {
    readonly hash: readonly [number, number, number, DurationMs];
    readonly slot: Slot;
    sequence: number;
    readonly cells: Map<number, ModelCell>;
    strictUntilMs: number;
    limitLow: number;
    lastUse: number;
  }

  /** The cell of a known key, made at need; of a window that its slot does not hold, one that nobody looks at. */
  function modelCell({ cells, sequence }: Known, at: number): ModelCell {
    const empty = { own: 0, others: 0, foreign: 0, replayed: 0, published: 0, freshUntilMs: 0 };
    const cell = cells.get(at) ?? empty;
    if (at === sequence || at === sequence - 1) cells.set(at, cell);
    return cell;
  }

  function modelTurn(key: Known, to: number): void {
    key.sequence = to;
    for (const held of key.cells.keys()) if (held !== to && held !== to - 1) key.cells.delete(held);
  }

  const DEADLINES = [0, 1, 2, 3, 50];

  /** What can be done to a known key: to its slot, and to the model. Near its window, so that some miss its two cells. */
  const ACTIONS: ((table: CellTable, key: Known, random: SeededRandom) => void)[] = [
    ...[0, 1, 2].map(() => (table: CellTable, key: Known, random: SeededRandom) => {
      const at = Math.max(1, key.sequence + random.below(5) - 2);
      const [cost, limit] = [random.below(3), random.below(5)];
      table.accept(key.slot, seq(at), cost, limit);
      modelTurn(key, at);
      const cell = modelCell(key, at);
      key.limitLow = cell.own === 0 ? limit : Math.min(key.limitLow, limit);
      cell.own += cost;
    }),
    (table, key, random) => {
      const at = Math.max(1, key.sequence + random.below(5) - 2);
      const [cost, limit] = [random.below(3), random.below(5)];
      expect(table.charge(key.slot, seq(at), cost, limit)).toBe(cost);
      modelTurn(key, at);
      const cell = modelCell(key, at);
      if (limit > 0) key.limitLow = cell.own === 0 ? limit : Math.min(key.limitLow, limit);
      cell.own += cost;
    },
    (table, key, random) => {
      const limit = random.below(5);
      if (limit === 0 || limit >= key.limitLow) return;
      table.lowerLimit(key.slot, limit);
      key.limitLow = limit;
    },
    (table, key, random) => {
      const at = Math.max(1, key.sequence + random.below(5) - 2);
      table.rotate(key.slot, seq(at));
      modelTurn(key, at);
    },
    (table, key, random) => {
      const at = Math.max(1, key.sequence + random.below(5) - 2);
      table.restart(key.slot, seq(at));
      Object.assign(key, { sequence: at, limitLow: Number.POSITIVE_INFINITY });
      key.cells.clear();
    },
    ...FIELDS.map((field) => (table: CellTable, key: Known, random: SeededRandom) => {
      const at = key.sequence + random.below(4) - 2;
      const count = field === "freshUntilMs" ? random.pick(DEADLINES) : random.below(1_000);
      table[RAISE[field]](key.slot, seq(at), count);
      const cell = modelCell(key, at);
      cell[field] = Math.max(cell[field], count);
    }),
    (table, key, random) => {
      const at = key.sequence + random.below(4) - 2;
      const count = random.below(1_000);
      table.lowerReplayed(key.slot, seq(at), count);
      const cell = modelCell(key, at);
      cell.replayed = Math.min(cell.replayed, count);
    },
    (table, key) => {
      table.makeStale(key.slot);
      for (const cell of key.cells.values()) cell.freshUntilMs = Math.min(cell.freshUntilMs, Number.MIN_VALUE);
    },
    (table, key, random) => {
      const deadlineMs = random.pick(DEADLINES);
      table.raiseStrictUntil(key.slot, deadlineMs);
      key.strictUntilMs = Math.max(key.strictUntilMs, deadlineMs);
    },
    (table, key, random) => {
      key.lastUse = random.below(2 ** 31);
      table.touch(key.slot, key.lastUse);
    },
  ];

  const near = ({ sequence }: Known) => [sequence - 2, sequence - 1, sequence, sequence + 1];

  function heldOf(table: CellTable, key: Known) {
    const { slot } = key;
    return {
      sequence: table.sequence(slot),
      durationMs: table.durationMs(slot),
      strictUntilMs: table.strictUntilMs(slot),
      limitLow: table.limitLow(slot),
      lastUse: table.lastUse(slot),
      cells: near(key).map((at) => ({ ...cellAt(table, slot, at), regional: table.regional(slot, seq(at)) })),
      settled: DEADLINES.map((monoMs) => near(key).map((at) => table.isSettled(slot, seq(at), monoMs))),
    };
  }

  function expectedOf(key: Known) {
    const { hash, sequence, strictUntilMs, limitLow, lastUse } = key;
    const cells = near(key).map((at) => {
      const { own, others, foreign, ...rest } = modelCell(key, at);
      return { own, others, foreign, ...rest, view: own + others + foreign, regional: own + others };
    });
    const isFreshAt = (monoMs: number) =>
      [sequence - 1, sequence].every((at) => monoMs < modelCell(key, at).freshUntilMs);
    const settled = DEADLINES.map((monoMs) =>
      near(key).map((at) => at === sequence && isFreshAt(monoMs) && monoMs >= strictUntilMs),
    );
    return { sequence, durationMs: hash[3], strictUntilMs, limitLow, lastUse, cells, settled };
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
      for (const key of known.values()) {
        expect(table.find(...key.hash), when).toBe(key.slot);
        expect(table.isFree(key.slot), when).toBe(false);
        expect(heldOf(table, key), when).toEqual(expectedOf(key));
      }
    };
    for (let step = 0; step < 6_000; step++) {
      const when = `seed ${seed}, step ${step}`;
      const hash = random.chance(0.7) && known.size > 0 ? random.pick([...known.values()]).hash : draw();
      const name = hash.join();
      const key = known.get(name);
      if (key === undefined) {
        expect(table.find(...hash), when).toBe(NONE);
        if (known.size === capacity) continue;
        const sequence = random.below(4) + 1;
        const slot = table.claim(...hash, seq(sequence));
        const limitLow = Number.POSITIVE_INFINITY;
        known.set(name, { hash, slot, sequence, cells: new Map(), strictUntilMs: 0, limitLow, lastUse: 0 });
      } else if (random.chance(0.08)) {
        table.release(key.slot);
        known.delete(name);
        expect([table.find(...hash), table.isFree(key.slot)], when).toEqual([NONE, true]);
      } else {
        random.pick(ACTIONS)(table, key, random);
      }
      if (step % 64 === 0) expectSame(when);
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
      const random = new SeededRandom(capacity);
      let size = 0;
      const made: { size: number; entries: number }[] = [];
      class Recorded extends Int32Array {
        constructor(given: never, from?: never) {
          super(given, from);
          if (typeof given === "number") made.push({ size, entries: this.length });
        }
      }
      const plain = globalThis.Int32Array;
      globalThis.Int32Array = Recorded as unknown as typeof Int32Array;
      try {
        const table = new CellTable(capacity);
        for (size = 1; size <= 290_000; size++)
          table.claim(random.uint32() | 0, random.uint32() | 0, random.uint32() | 0, MINUTE, seq(1));
        expect(table.size).toBe(290_000);
      } finally {
        globalThis.Int32Array = plain;
      }
      // An index of n entries is left at n / 1.5 keys: the work of a step is what it enters.
      const left = (from: number) => Math.floor(from / 1.5) + 1;
      expect(made).toEqual([
        { size: 0, entries: 2 ** 12 },
        { size: left(2 ** 12), entries: 2 ** 14 },
        { size: left(2 ** 14), entries: 2 ** 16 },
        { size: left(2 ** 16), entries: 2 ** 18 },
        { size: left(2 ** 18), entries },
      ]);
      expect(left(2 ** 18)).toBeLessThanOrEqual(175_000);
    },
  );
});
