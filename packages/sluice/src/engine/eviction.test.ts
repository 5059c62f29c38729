import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import { Limiter } from "../limiter/limiter.ts";
import { CellTable, NONE } from "./cell-table.ts";
import { Eviction, type IsPinned, isExpired } from "./eviction.ts";
import { SlotSet } from "./slot-set.ts";

const SECOND = 1_000 as DurationMs;
const HOUR = 3_600_000 as DurationMs;
/** The start of a window of either duration. */
const NOW_MS = 1_000 * HOUR;
const TICK = 100;
const pinsNothing: IsPinned = () => false;

interface Cell {
  readonly own?: number;
  readonly limit?: number;
  readonly lastUse?: number;
  readonly durationMs?: DurationMs;
  /** How many windows ago it was counted. */
  readonly windowsAgo?: number;
}

function tableOf(cells: readonly Cell[], capacity = cells.length): CellTable {
  const table = new CellTable(capacity);
  for (const [i, { own = 5, limit = 10, lastUse = 50, durationMs = HOUR, windowsAgo = 0 }] of cells.entries()) {
    const sequence = (Math.floor(NOW_MS / durationMs) - windowsAgo) as Sequence;
    const slot = table.claim(i, i, i, durationMs, sequence);
    table.accept(slot, sequence, own, limit);
    table.touch(slot, lastUse);
  }
  return table;
}

function victimOf(cells: readonly Cell[], nowMs = NOW_MS, isPinned = pinsNothing): number {
  return new Eviction(tableOf(cells), 1, isPinned).victim(nowMs, TICK);
}

describe("eviction", () => {
  test("an expired key goes first, though it was the fullest and used last", () => {
    const full = { own: 10, lastUse: 99 };
    expect(victimOf([{ own: 1 }, { own: 1 }, { ...full, windowsAgo: 2 }, { own: 1 }])).toBe(2);
    expect(victimOf([{ own: 1 }, { ...full, durationMs: SECOND, windowsAgo: 2 }, { own: 0 }])).toBe(1);
  });

  test("a key is expired from the end of the window after its own", () => {
    const table = tableOf([{ durationMs: SECOND }, { durationMs: HOUR }]);
    const [second, hour] = [0 as Slot, 1 as Slot];
    expect([isExpired(table, second, NOW_MS + 1_999), isExpired(table, second, NOW_MS + 2_000)]).toEqual([false, true]);
    expect([isExpired(table, hour, NOW_MS + 2 * HOUR - 1), isExpired(table, hour, NOW_MS + 2 * HOUR)]).toEqual([
      false,
      true,
    ]);
  });

  test("a key of a far future is expired: only a clock that has since been set back can have made it", () => {
    const table = tableOf([{ durationMs: HOUR }]);
    const slot = 0 as Slot;
    expect(isExpired(table, slot, NOW_MS - HOUR), "one window ahead, it becomes the current one").toBe(false);
    expect(isExpired(table, slot, NOW_MS - HOUR - 1), "two windows ahead").toBe(true);
    expect(isExpired(table, slot, 0)).toBe(true);
    const cells = [{ own: 1 }, { own: 10, lastUse: 99, windowsAgo: -2 }, { own: 1 }];
    expect(victimOf(cells), "it goes first, though it is the fullest and used last").toBe(1);
  });

  test("a key that was charged far beyond its limit is worth no more than one that has used it up: the older one goes", () => {
    const overdrawn = { own: 1_000_000, limit: 10, lastUse: 50 };
    expect(victimOf([{ own: 10, lastUse: 60 }, overdrawn, { own: 10, lastUse: 70 }])).toBe(1);
    expect(victimOf([{ own: 9, lastUse: 90 }, overdrawn])).toBe(0);
  });

  test("the lowest use of its limit goes, not the lowest count", () => {
    expect(
      victimOf([
        { own: 5, limit: 10 },
        { own: 3, limit: 10 },
        { own: 4, limit: 10 },
      ]),
    ).toBe(1);
    expect(
      victimOf([
        { own: 9, limit: 10 },
        { own: 100, limit: 1_000 },
        { own: 2, limit: 10 },
      ]),
    ).toBe(1);
    expect(
      victimOf([
        { own: 10, limit: 10, lastUse: 1 },
        { own: 9, limit: 10, lastUse: 99 },
      ]),
    ).toBe(1);
  });

  test("the share of the previous window counts as use", () => {
    const cells = [{ own: 8, windowsAgo: 1 }, { own: 5 }];
    expect(victimOf(cells, NOW_MS), "8 of 10 at the start of the next window").toBe(1);
    expect(victimOf(cells, NOW_MS + HOUR / 2), "4 of 10 in the middle").toBe(0);
  });

  test("what other owners counted is use as well", () => {
    const table = tableOf([{ own: 1 }, { own: 2 }]);
    table.raiseOthers(0 as Slot, table.sequence(0 as Slot), 4);
    expect(new Eviction(table, 1, pinsNothing).victim(NOW_MS, TICK)).toBe(1);
    table.raiseForeign(1 as Slot, table.sequence(1 as Slot), 4);
    expect(new Eviction(table, 1, pinsNothing).victim(NOW_MS, TICK)).toBe(0);
  });

  test("among equals the least recently used goes, also where ticks have wrapped", () => {
    expect(victimOf([{ lastUse: 60 }, { lastUse: 40 }, { lastUse: 70 }])).toBe(1);
    const wrapped = tableOf([{ lastUse: -(2 ** 31) + 5 }, { lastUse: 2 ** 31 - 5 }, { lastUse: -(2 ** 31) + 1 }]);
    expect(new Eviction(wrapped, 1, pinsNothing).victim(NOW_MS, -(2 ** 31) + 9)).toBe(1);
  });

  test("slots of the same tick stay, expired or not", () => {
    expect(victimOf([{ own: 0, lastUse: TICK }, { own: 9 }, { windowsAgo: 3, lastUse: TICK }])).toBe(1);
    expect(
      victimOf([
        { own: 0, lastUse: TICK },
        { own: 9, lastUse: TICK },
      ]),
    ).toBe(NONE);
  });

  test("pinned slots stay", () => {
    const cells = [{ own: 0 }, { own: 1 }, { own: 9 }];
    expect(victimOf(cells, NOW_MS, (slot) => slot < 2)).toBe(2);
    expect(victimOf(cells, NOW_MS, () => true)).toBe(NONE);
  });

  test("an empty table has nothing to give up", () => {
    expect(new Eviction(new CellTable(8), 1, pinsNothing).victim(NOW_MS, TICK)).toBe(NONE);
  });

  test("a table of 64 slots is looked at whole, at any place", () => {
    for (let at = 0; at < 64; at++) {
      const cells = Array.from({ length: 64 }, (_, i) => ({ own: i === at ? 4 : 5 }));
      expect(victimOf(cells)).toBe(at);
    }
  });

  test.each([0, 1, 2 ** 31, 2 ** 32 - 1])(
    "in a large table a victim is in use, not pinned and not of this tick, seed %i",
    (seed) => {
      const random = new SeededRandom(seed);
      const cells = Array.from({ length: 500 }, () => ({
        own: random.below(10),
        lastUse: random.chance(0.3) ? TICK : 50,
      }));
      const table = tableOf(cells);
      for (let slot = 0; slot < 500; slot += 3) table.release(slot as Slot);
      const isPinned: IsPinned = (slot) => slot % 3 === 1;
      const eviction = new Eviction(table, seed, isPinned);
      const victims = new Set<number>();
      for (let attempt = 0; attempt < 2_000; attempt++) {
        const victim = eviction.victim(NOW_MS, TICK);
        if (victim === NONE) continue;
        victims.add(victim);
        expect([table.isFree(victim), isPinned(victim), table.lastUse(victim) === TICK], `seed ${seed}`).toEqual([
          false,
          false,
          false,
        ]);
      }
      // About 117 may go; the emptiest tenth of them are found again and again.
      expect(victims.size).toBeGreaterThan(10);
    },
  );

  test("an attacker who fills 99 of 100 slots of a large table once loses his own, not a customer's", () => {
    // 8 slots not used lately miss all of the attacker's with probability 0.01^8 = 10^-16 each time.
    const isCustomer = (i: number) => i % 100 === 0;
    const cells = Array.from({ length: 10_000 }, (_, i) => (isCustomer(i) ? { own: 8 } : { own: 1, limit: 100 }));
    const eviction = new Eviction(tableOf(cells), 12_345, pinsNothing);
    for (let attempt = 0; attempt < 5_000; attempt++) expect(isCustomer(eviction.victim(NOW_MS, TICK))).toBe(false);
  });

  test("nothing is found where nothing within reach may go, and the search is bounded", () => {
    const table = tableOf(Array.from({ length: 1_000 }, () => ({})));
    let asked = 0;
    const eviction = new Eviction(table, 1, () => {
      asked++;
      return true;
    });
    expect(eviction.victim(NOW_MS, TICK)).toBe(NONE);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(64);
  });

  test("in a large table a key used lately outlives one that was not, however empty it is", () => {
    // 200 slots: lately is less than 100 ticks ago. A tenth is recent: all 64 within reach are so 10^-64 of the time.
    const isRecent = (i: number) => i % 10 === 0;
    const cells = Array.from({ length: 200 }, (_, i) =>
      isRecent(i) ? { own: 0, lastUse: TICK - 99 } : { own: 9, lastUse: TICK - 100 },
    );
    const eviction = new Eviction(tableOf(cells), 77, pinsNothing);
    for (let attempt = 0; attempt < 2_000; attempt++) expect(isRecent(eviction.victim(NOW_MS, TICK))).toBe(false);
  });

  test("recency is counted across the wrap of the ticks", () => {
    const tick = -(2 ** 31) + 9;
    const isRecent = (i: number) => i % 10 === 0;
    const cells = Array.from({ length: 200 }, (_, i) =>
      isRecent(i) ? { own: 0, lastUse: (tick - 20) | 0 } : { own: 9, lastUse: (tick - 2_000) | 0 },
    );
    const eviction = new Eviction(tableOf(cells), 77, pinsNothing);
    for (let attempt = 0; attempt < 2_000; attempt++) expect(isRecent(eviction.victim(NOW_MS, tick))).toBe(false);
  });

  test.each([
    ["lately", TICK - 1, TICK - 99],
    ["long ago", TICK - 101, TICK - 199],
  ])("among keys all used %s the lowest use goes", (_, emptyUse, fullUse) => {
    // Nine in ten are empty: 8 slots without one have a probability of 10^-8 (2 * 10^-5 over all attempts; the seed is fixed).
    const isFull = (i: number) => i % 10 === 0;
    const cells = Array.from({ length: 200 }, (_cell, i) =>
      isFull(i) ? { own: 9, lastUse: fullUse } : { own: 1, lastUse: emptyUse },
    );
    const eviction = new Eviction(tableOf(cells), 77, pinsNothing);
    for (let attempt = 0; attempt < 2_000; attempt++) expect(isFull(eviction.victim(NOW_MS, TICK))).toBe(false);
  });

  test("a table of 64 slots goes by use alone, one of 65 by recency first", () => {
    const cells = (length: number) =>
      Array.from({ length }, (_, i) => (i === 0 ? { own: 0, lastUse: TICK - 1 } : { own: 9, lastUse: 1 }));
    expect(victimOf(cells(64))).toBe(0);
    expect(victimOf(cells(65))).not.toBe(0);
  });

  test.each([
    ["a request that counts", { cost: 1 }, 2],
    ["a peek", { cost: 0 }, 1],
    ["a denial", { cost: 11 }, 1],
  ])("%s makes its key the last used", (_, again, ownOfOthers) => {
    const clock = { wallMs: () => NOW_MS, monoMs: () => 0 };
    const limiter = new Limiter({ cellsMax: 3, clock, timers: { set: () => 1, clear: () => {} } });
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1h" });
    void rule.decide("oldest");
    // As full as the oldest will be: between equals the use decides nothing.
    for (const identifier of ["second", "third"]) void rule.decide(identifier, { cost: ownOfOthers });
    void rule.decide("oldest", again);
    void rule.decide("new");
    expect(["oldest", "second", "third", "new"].map((id) => rule.inspect(id).isKnown)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test("what may go is counted without the free, the pinned and those of this tick, and only up to enough", () => {
    const table = tableOf(Array.from({ length: 100 }, (_, i) => ({ lastUse: i < 30 ? TICK : 50 })));
    for (let slot = 30; slot < 40; slot++) table.release(slot as Slot);
    const eviction = new Eviction(table, 1, (slot) => slot >= 95);
    const count = (enough: number, tick = TICK) =>
      eviction.evictable(tick, { slots: enough, bytes: 0, excess: 0 }, () => 0).slots;
    expect(count(1_000)).toBe(55);
    expect([0, 1, 54, 55, 56].map((enough) => count(enough))).toEqual([0, 1, 54, 55, 55]);
    expect(count(1_000, TICK + 1), "in the next tick all but free and pinned").toBe(85);
    const empty = new Eviction(new CellTable(8), 1, pinsNothing);
    expect(empty.evictable(TICK, { slots: 8, bytes: 8, excess: 8 }, () => 1)).toEqual({
      slots: 0,
      bytes: 0,
      excess: 0,
    });
  });

  test("the bytes and the excess of what may go are counted too, until all are enough", () => {
    const table = tableOf(Array.from({ length: 10 }, () => ({ lastUse: 50 })));
    const eviction = new Eviction(table, 1, (slot) => slot === 0);
    const bytesOf = (slot: Slot) => (slot % 2 === 1 ? 1_000 : 0);
    const count = (slots: number, bytes: number, excess: number) =>
      eviction.evictable(TICK, { slots, bytes, excess }, bytesOf);
    expect(count(0, 0, 0)).toEqual({ slots: 0, bytes: 0, excess: 0 });
    expect(count(0, 2_500, 0)).toEqual({ slots: 5, bytes: 3_000, excess: 2_040 });
    expect(count(0, 0, 681)).toEqual({ slots: 3, bytes: 2_000, excess: 1_360 });
    expect(count(4, 1, 1)).toEqual({ slots: 4, bytes: 2_000, excess: 1_360 });
    expect(count(100, 0, 0)).toEqual({ slots: 9, bytes: 5_000, excess: 3_400 });
  });

  describe("among large names", () => {
    const setOf = (slots: readonly number[], capacity: number) => {
      const set = new SlotSet(capacity);
      for (const slot of slots) set.add(slot as Slot);
      return set;
    };

    test("the emptiest that is not pinned goes, and no key with another name", () => {
      const table = tableOf([{ own: 0 }, { own: 5 }, { own: 2 }, { own: 1 }]);
      const large = setOf([1, 2, 3], 4);
      expect(new Eviction(table, 1, pinsNothing).victimAmong(large, NOW_MS, TICK)).toBe(3);
      expect(new Eviction(table, 1, (slot) => slot === 3).victimAmong(large, NOW_MS, TICK)).toBe(2);
      expect(new Eviction(table, 1, () => true).victimAmong(large, NOW_MS, TICK)).toBe(NONE);
      expect(new Eviction(table, 1, pinsNothing).victimAmong(setOf([], 4), NOW_MS, TICK)).toBe(NONE);
    });

    test("a brief search looks at 64 of many, the next one at the next 64; a thorough one at all, once per tick", () => {
      let looks = 0;
      const table = tableOf(Array.from({ length: 1_000 }, () => ({ lastUse: 50 })));
      const large = setOf(
        Array.from({ length: 500 }, (_, i) => 2 * i),
        1_000,
      );
      const none = new Eviction(table, 1, () => {
        looks++;
        return true;
      });
      const looked = (isThorough: boolean, tick = TICK) => {
        looks = 0;
        expect(none.victimAmong(large, NOW_MS, tick, isThorough)).toBe(NONE);
        return looks;
      };
      expect([looked(false), looked(true), looked(true), looked(true, TICK + 1)]).toEqual([64, 564, 64, 564]);
      const only = new Eviction(table, 1, (slot) => slot !== 700);
      expect(only.victimAmong(large, NOW_MS, TICK, true)).toBe(700);
      const turns = Array.from({ length: 8 }, () => only.victimAmong(large, NOW_MS, TICK));
      expect(
        turns.filter((slot) => slot === 700),
        "500 are looked at in 8 turns of 64",
      ).not.toHaveLength(0);
    });
  });

  test("a thorough search that found nothing is not repeated in the same tick", () => {
    let looks = 0;
    const table = tableOf(Array.from({ length: 1_000 }, () => ({ lastUse: 50 })));
    const eviction = new Eviction(table, 1, () => {
      looks++;
      return true;
    });
    const looked = (tick: number) => {
      looks = 0;
      expect(eviction.victim(NOW_MS, tick, true)).toBe(NONE);
      return looks;
    };
    expect([looked(TICK), looked(TICK), looked(TICK + 1)]).toEqual([1_064, 64, 1_064]);
  });

  test("a thorough search finds the only slot that may go, wherever it is; a brief one does not", () => {
    const table = tableOf(Array.from({ length: 5_000 }, () => ({})));
    for (const only of [0, 1, 2_500, 4_999]) {
      const eviction = new Eviction(table, 9, (slot) => slot !== only);
      // 64 of 5,000 at random: one in 78 brief searches happens upon it.
      const brief = Array.from({ length: 100 }, () => eviction.victim(NOW_MS, TICK));
      expect(brief.filter((slot) => slot === NONE).length).toBeGreaterThan(80);
      for (let attempt = 0; attempt < 20; attempt++) expect(eviction.victim(NOW_MS, TICK, true)).toBe(only);
    }
    expect(new Eviction(table, 9, () => true).victim(NOW_MS, TICK, true), "and says so if there is none").toBe(NONE);
  });

  test("a thorough search takes the best of a sample where there is one", () => {
    const table = tableOf(Array.from({ length: 200 }, (_, i) => ({ own: i === 0 ? 9 : 1, lastUse: 0 })));
    expect(new Eviction(table, 9, pinsNothing).victim(NOW_MS, TICK, true)).not.toBe(0);
  });

  test.each([0.02, 0.3, 0.9])(
    "of what a sample looks at, it takes the best, and it ends with the eighth not used lately: %f are not",
    (notLately) => {
      const random = new SeededRandom(5);
      // 200 slots: lately is less than 100 ticks ago.
      const ages = () => (random.chance(notLately) ? 100 + random.below(3) : 97 + random.below(3));
      for (let attempt = 0; attempt < 200; attempt++) {
        const cells = Array.from({ length: 200 }, () => ({ own: random.below(3), lastUse: TICK - ages() }));
        const pinned = new Set(Array.from({ length: 60 }, () => random.below(200)));
        const looked: number[] = [];
        const eviction = new Eviction(tableOf(cells), random.uint32(), (slot) => {
          looked.push(slot);
          return pinned.has(slot);
        });
        const victim = eviction.victim(NOW_MS, TICK);
        const free = looked.filter((slot) => !pinned.has(slot));
        const age = (slot: number) => TICK - cells[slot]!.lastUse;
        const old = free.filter((slot) => age(slot) >= 100);
        const best = [...(old.length > 0 ? old : free)].sort(
          (a, b) => cells[a]!.own - cells[b]!.own || age(b) - age(a),
        )[0];
        expect(victim).toBe(best ?? NONE);
        expect(old.length).toBeLessThanOrEqual(8);
        if (old.length < 8) expect(looked).toHaveLength(64);
        else expect(looked.at(-1)).toBe(old.at(-1));
      }
    },
  );

  test("the seed decides whom a sample finds: another seed finds others, the same finds the same", () => {
    // Equals all: the first slot of each sample goes. Two seeds agree on one of 10,000 slots 10^-4 of the time.
    const table = tableOf(Array.from({ length: 10_000 }, () => ({})));
    const victims = (seed: number) => {
      const eviction = new Eviction(table, seed, pinsNothing);
      return Array.from({ length: 20 }, () => eviction.victim(NOW_MS, TICK));
    };
    expect(victims(123)).toEqual(victims(123));
    const [one, other] = [victims(123), victims(456)];
    expect(one.filter((slot, i) => slot === other[i]).length).toBeLessThan(5);
  });

  test("two limiters of different randomness forget different keys", () => {
    const forgotten = (seed: number) => {
      const clock = { wallMs: () => NOW_MS, monoMs: () => 0 };
      const timers = { set: () => 1, clear: () => {} };
      const limiter = new Limiter({ cellsMax: 1_000, clock, timers, random: new SeededRandom(seed) });
      const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1h" });
      for (let i = 0; i < 1_100; i++) void rule.decide(`user_${i}`);
      return Array.from({ length: 1_100 }, (_, i) => i).filter((i) => !rule.inspect(`user_${i}`).isKnown);
    };
    expect(forgotten(1)).toHaveLength(100);
    expect(forgotten(1)).toEqual(forgotten(1));
    expect(forgotten(1)).not.toEqual(forgotten(2));
  });
});
