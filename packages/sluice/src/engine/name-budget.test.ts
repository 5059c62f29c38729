import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatedEngine } from "../../../../test/support/gated-engine.ts";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { NONE } from "./cell-table.ts";
import { excessOf, NAME_SHARE_BYTES, nameBytes, nameExcess, textBytes } from "./name-budget.ts";

const EMOJI = "\u{1F600}";
/** The longest legal identifier: 512 characters, 2,048 bytes. */
const longest = (i: number) => EMOJI.repeat(506) + String(i).padStart(6, "0");
/** What one name may take at most: three parts of 512 characters. */
const NAME_MAX_BYTES = 208 + 3 * 2 * 1_024;
/** What large names may take beyond their shares, for every slot. */
const EXCESS_BYTES = 80;

function replayAll({ ledger }: Pick<LayeredEngine, "ledger">): void {
  for (const slot of [...ledger.unreplayed]) ledger.markReplayed(slot);
}

describe("what a name takes", () => {
  test("one byte per unit of a text in Latin-1, two of any other", () => {
    expect(["", "abc", "é".repeat(5), "€", `${"a".repeat(100)}€`, EMOJI].map(textBytes)).toEqual([0, 3, 5, 2, 202, 4]);
  });

  test("counts from the claim of a slot to its release, and again when a slot is given up for an earlier window", () => {
    const world = new LayeredEngine();
    const { budget } = world.ledger;
    world.accept("a");
    world.accept(longest(1));
    const [short, long] = [nameBytes(world.key("a")), nameBytes(world.key(longest(1)))];
    expect([budget.bytes, [...budget.large]]).toEqual([short + long, [world.slot(longest(1))]]);
    expect(budget.excess).toBe(long - NAME_SHARE_BYTES);
    world.ledger.giveUp(world.slot(longest(1)), world.key(longest(1)), world.previous);
    expect([budget.bytes, budget.excess, budget.large.size]).toEqual([short + long, long - NAME_SHARE_BYTES, 1]);
    world.engine.release(world.slot(longest(1)), true);
    world.engine.release(world.slot("a"), false);
    expect([budget.bytes, budget.excess, budget.large.size]).toEqual([0, 0, 0]);
  });
});

describe("a full name budget", () => {
  test("evicts long names, so that their excess stays within its quarter but for less than one name", () => {
    const world = new LayeredEngine(1_000);
    const { budget } = world.ledger;
    for (let i = 0; i < 3_000; i++) {
      world.accept(longest(i));
      replayAll(world);
      expect(budget.excess).toBeLessThan(budget.excessMax + NAME_MAX_BYTES);
    }
    expect([budget.bytesMax, budget.excessMax]).toEqual([1_000 * NAME_SHARE_BYTES, 1_000 * EXCESS_BYTES]);
    expect(world.engine.table.size).toBe(Math.ceil(budget.excessMax / nameExcess(world.key(longest(0)))));
    expect(world.engine.tally.read("evicted")).toBe(3_000 - world.engine.table.size);
  });

  test("evicts long names for short ones, so that all names together stay within it but for less than one", () => {
    const world = new LayeredEngine(1_000);
    const { budget, engine } = { budget: world.ledger.budget, engine: world.engine };
    for (let i = 0; i < 500; i++) {
      world.accept(longest(i));
      replayAll(world);
    }
    // The texts take 112 bytes, the most that a name may without being large.
    for (let i = 0; i < 1_000; i++) {
      world.accept(`user_${i}`.padEnd(102, "."));
      expect(budget.bytes).toBeLessThan(budget.bytesMax + NAME_MAX_BYTES);
    }
    expect([engine.table.size, budget.large.size, engine.tally.read("unrecorded")]).toEqual([1_000, 0, 0]);
  });

  test("evicts no key with a short name, however many long ones come", () => {
    const world = new LayeredEngine(1_000);
    const short = Array.from({ length: 900 }, (_, i) => `user_${i}`);
    for (const identifier of short) world.accept(identifier);
    for (let i = 0; i < 2_000; i++) {
      replayAll(world);
      world.accept(longest(i));
    }
    expect(short.every((identifier) => world.find(identifier) !== NONE)).toBe(true);
    expect(world.engine.tally.read("unrecorded")).toBe(0);
  });

  test("keeps a long name that is in use, and evicts those that are asked about once", () => {
    const world = new LayeredEngine(10_000);
    for (let i = 0; i < 10_000; i++) {
      // The customer is far from its limit, the others use half of theirs with their first request.
      if (i % 100 === 0) world.accept(longest(999_999), 1, 1_000);
      world.accept(longest(i), 1, 2);
      replayAll(world);
    }
    const slot = world.slot(longest(999_999));
    expect(world.engine.table.own(slot, world.sequence)).toBe(100);
  });

  test("gives a new long name no slot if all long names are pinned, until the origin has confirmed their counts", () => {
    const world = new LayeredEngine(100);
    const { engine, ledger } = world;
    for (let i = 0; i < 1_000; i++) world.accept(longest(i));
    expect(ledger.budget.excess).toBeLessThan(ledger.budget.excessMax + NAME_MAX_BYTES);
    expect([engine.tally.read("evicted"), engine.tally.read("unrecorded")]).toEqual([0, 1_000 - engine.table.size]);
    replayAll(world);
    world.accept(longest(1_000));
    expect(world.find(longest(1_000))).not.toBe(NONE);
  });

  // While Redis was away, a client that invented long identifiers used up the memory for names with keys that may not be evicted, and
  // every new key was decided by `whenFull`, though most of the table was free.
  test("leaves short names every free slot of the table, even if all long names are pinned", () => {
    const world = new LayeredEngine(1_000);
    const { engine, ledger } = world;
    for (let i = 0; i < 10_000; i++) world.accept(longest(i));
    const free = 1_000 - engine.table.size;
    expect(free).toBeGreaterThan(950);
    const unrecorded = engine.tally.read("unrecorded");
    for (let i = 0; i < free; i++) world.accept(`user_${i}`);
    expect([engine.table.size, engine.tally.read("unrecorded")]).toEqual([1_000, unrecorded]);
    expect(ledger.budget.bytes).toBeLessThan(ledger.budget.bytesMax + NAME_MAX_BYTES);
  });

  test("leaves names that are just not large three quarters of the table, even if all long names are pinned", () => {
    const world = new LayeredEngine(1_000);
    const { engine, ledger } = world;
    for (let i = 0; i < 10_000; i++) world.accept(longest(i));
    const long = engine.table.size;
    for (let i = 0; i < 1_000; i++) world.accept(`user_${i}`.padEnd(102, "."));
    // Large names have their shares, and a quarter of the budget and less than one name beyond.
    expect(engine.table.size).toBeGreaterThanOrEqual(750 - Math.ceil(NAME_MAX_BYTES / NAME_SHARE_BYTES));
    expect(engine.table.size).toBeGreaterThan(long);
    expect(ledger.budget.bytes).toBeLessThan(ledger.budget.bytesMax + NAME_MAX_BYTES);
  });

  test("is not exceeded for a key that only another region has asked about", () => {
    const world = new LayeredEngine(8);
    const { engine } = world;
    const rooms = () => [world.key("short"), world.key(longest(1))].map((key) => engine.hasRoomFor(key));
    expect(rooms()).toEqual([true, true]);
    // One long name takes more than its share and the 640 bytes of the excess.
    world.accept(longest(0));
    expect([engine.table.hasRoom, ...rooms()]).toEqual([true, true, false]);
  });
});

describe("a batch", () => {
  test("is refused as a whole if names lack room, and evicts nobody then", () => {
    const { engine, ledger, decideMany, item, slot } = gatedEngine({ cellsMax: 350, whenFull: "deny" });
    // 28,000 bytes of excess: 15 such names. The first ten are pinned.
    decideMany(Array.from({ length: 10 }, (_, i) => item(longest(i))));
    decideMany(Array.from({ length: 5 }, (_, i) => item(longest(10 + i))));
    for (let i = 10; i < 15; i++) ledger.markReplayed(slot(longest(i)));
    const [size, bytes] = [engine.table.size, ledger.budget.bytes];
    const beyond = decideMany(Array.from({ length: 6 }, (_, i) => item(longest(20 + i)))) as { success: boolean };
    expect([beyond.success, engine.table.size, ledger.budget.bytes]).toEqual([false, size, bytes]);
    const within = decideMany(Array.from({ length: 5 }, (_, i) => item(longest(20 + i)))) as { success: boolean };
    expect([within.success, engine.table.size]).toEqual([true, 15]);
  });

  test("counts all of its items or none, whatever is pinned and however long the names are", () => {
    const identifiers = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 12 });
    const step = fc.record({ identifiers, pinned: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 40 }),
        (steps, cellsMax) => {
          const { engine, ledger, decideMany, item, slot, sequence } = gatedEngine({ cellsMax, whenFull: "deny" });
          const nameOf = (i: number) => (i % 3 === 0 ? `short_${i}` : i % 3 === 1 ? longest(i) : "é".repeat(150 + i));
          const own = (i: number) => {
            const at = slot(nameOf(i));
            return at === NONE ? 0 : engine.table.own(at, sequence());
          };
          for (const { identifiers, pinned } of steps) {
            const before = identifiers.map(own);
            const { success } = decideMany(identifiers.map((i) => item(nameOf(i)))) as { success: boolean };
            const after = identifiers.map(own);
            expect(after).toEqual(before.map((count) => count + (success ? 1 : 0)));
            expect(ledger.budget.bytes).toBeLessThan(ledger.budget.bytesMax + NAME_MAX_BYTES);
            const names = [...Array(engine.table.highWater).keys()].map((at) => ledger.name(at as never)?.bytes ?? 0);
            expect(ledger.budget.bytes).toBe(names.reduce((sum, bytes) => sum + bytes, 0));
            expect(ledger.budget.excess).toBeLessThan(ledger.budget.excessMax + NAME_MAX_BYTES);
            expect(ledger.budget.excess).toBe(names.reduce((sum, bytes) => sum + excessOf(bytes), 0));
            for (const at of [...ledger.unreplayed]) if (at % 4 !== pinned) ledger.markReplayed(at);
          }
        },
      ),
    );
  });
});
