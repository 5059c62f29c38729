import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { COUNT_MAX, DURATION_MAX_MS, DURATION_MIN_MS, LIMIT_MAX } from "../core/bounds.ts";
import type { DurationMs, Sequence } from "../core/brands.ts";
import { windowEndMs } from "./sequence.ts";
import { fitAfterEndMs, leftWithin, share } from "./sliding-window.ts";

const shareExactly = (count: number, leftMs: number, durationMs: number) =>
  Number((BigInt(count) * BigInt(leftMs)) / BigInt(durationMs));

/** The bounds themselves, powers of two, and one beside each: where rounding and carries go wrong. */
const edges = [...Array(54).keys()].flatMap((bit) => [2 ** bit - 1, 2 ** bit, 2 ** bit + 1]);
const upTo = (max: number) =>
  fc.oneof(
    fc.constantFrom(...edges.filter((edge) => edge <= max), max, max - 1),
    fc.integer({ min: 0, max }),
    fc.integer({ min: 0, max: Math.min(max, 1_000) }),
  );
const count = upTo(COUNT_MAX);
const durationMs = fc.oneof(
  fc.constantFrom(
    DURATION_MIN_MS,
    1_001,
    60_000,
    65_536,
    65_537,
    86_400_000,
    2 ** 31,
    DURATION_MAX_MS - 1,
    DURATION_MAX_MS,
  ),
  fc.integer({ min: DURATION_MIN_MS, max: DURATION_MAX_MS }),
) as fc.Arbitrary<DurationMs>;
/** A duration and a time left of it. */
const window = durationMs.chain((duration) => fc.tuple(fc.constant(duration), upTo(duration)));
const runs = { numRuns: 3_000 };

/** The effective count (docs/decisions/0001) at a moment, if nothing has arrived since the denial. */
function effectiveAt(
  atMs: number,
  current: number,
  previous: number,
  cost: number,
  sequence: number,
  duration: number,
) {
  const now = Math.floor(atMs / duration);
  const leftMs = (now + 1) * duration - atMs;
  if (now === sequence) return current + shareExactly(previous, leftMs, duration) + cost;
  if (now === sequence + 1) return shareExactly(current, leftMs, duration) + cost;
  return cost;
}

describe("sliding window", () => {
  test("a share is exact in integers over the whole range", () => {
    fc.assert(
      fc.property(count, window, (counted, [duration, leftMs]) => {
        expect(share(counted, leftMs, duration)).toBe(shareExactly(counted, leftMs, duration));
      }),
      { numRuns: 8_000 },
    );
  });

  test("a share is exact where the product is a multiple of the duration, and one beside it", () => {
    // The quotient is then an integer or just below one: the place where a rounded division would be one too many.
    fc.assert(
      fc.property(window, fc.integer({ min: 0, max: COUNT_MAX }), ([duration, leftMs], n) => {
        const near = Math.min(COUNT_MAX - 1, Math.floor(n / duration) * duration);
        for (const counted of [Math.max(0, near - 1), near, near + 1]) {
          expect(share(counted, leftMs, duration)).toBe(shareExactly(counted, leftMs, duration));
        }
      }),
      runs,
    );
  });

  test("a whole window's share is the count, and an ended window's share is nothing", () => {
    fc.assert(
      fc.property(count, durationMs, (counted, duration) => {
        expect(share(counted, duration, duration)).toBe(counted);
        expect(share(counted, 0, duration)).toBe(0);
      }),
      runs,
    );
  });

  test("the time left within which a share fits is the largest such time", () => {
    fc.assert(
      fc.property(count, count, durationMs, (counted, room, duration) => {
        // share ≤ room ⇔ count * left < (room + 1) * duration
        const largest =
          counted === 0 ? duration : Number(((BigInt(room) + 1n) * BigInt(duration) - 1n) / BigInt(counted));
        expect(leftWithin(counted, room, duration)).toBe(Math.min(duration, largest));
      }),
      { numRuns: 8_000 },
    );
  });

  test("the time left is exact where the room is just below or above the count", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: COUNT_MAX }), durationMs, (counted, duration) => {
        for (const room of [0, 1, counted - 2, counted - 1]) {
          const leftMs = leftWithin(counted, room, duration);
          expect(shareExactly(counted, leftMs, duration)).toBeLessThanOrEqual(room);
          expect(shareExactly(counted, leftMs + 1, duration)).toBeGreaterThan(room);
        }
        expect(leftWithin(counted, counted, duration)).toBe(duration);
      }),
      runs,
    );
  });

  test.each([
    [1_204_545_776_087, 334_386_915_693, 2_592_000_000, 719_549_977],
    [1_291_102_160_062, 980_811_355_909, 686_339_920, 521_391_729],
    [8_089_535_830_794_938, 639_613_662_939_275, 86_400_000, 6_831_371],
    [1_517_575_303_246_319, 1_146_212_402_215_263, 2_592_000_000, 1_957_716_721],
  ])("the time left is not 1 ms short where the estimate is: count %i, room %i", (counted, room, duration, leftMs) => {
    // (room + 1) * duration is n * count + 1, 2 or 3: the quotient lies above n by a few times 1 / count, less than the
    // last place of a double, and rounding brings it below n. Random counts almost never come so near.
    const estimate = Math.floor(((room + 1) / counted) * duration);
    expect((room + 1) * duration, "the product is not exact").toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(estimate, "the estimate is no longer too low: find another case").toBe(leftMs - 1);
    expect(shareExactly(counted, leftMs, duration)).toBeLessThanOrEqual(room);
    expect(shareExactly(counted, leftMs + 1, duration)).toBeGreaterThan(room);
    expect(leftWithin(counted, room, duration)).toBe(leftMs);
  });

  test("a denied cost fits at the earliest fit, not 1 ms before, and stays fitting", () => {
    const limit = fc.oneof(fc.integer({ min: 0, max: 20 }), upTo(LIMIT_MAX));
    // Counts around the limit, so that all three endings occur: this window, the next one, and the one after it.
    const near = (at: number) => fc.oneof(upTo(at), upTo(2 * at + 2), count);
    const denial = fc
      .tuple(window, limit)
      .chain(([[duration, leftMs], most]) =>
        fc.tuple(fc.constant(duration), fc.constant(leftMs), fc.constant(most), upTo(most), near(most), near(most)),
      );
    const endings = { thisWindow: 0, nextWindow: 0, after: 0 };
    fc.assert(
      fc.property(denial, fc.nat(), ([duration, left, most, cost, current, previous], n) => {
        const sequence = Math.floor(1_800_000_000_000 / duration) as Sequence;
        const endMs = (sequence + 1) * duration;
        const nowMs = endMs - Math.max(1, left);
        const effective = (atMs: number) => effectiveAt(atMs, current, previous, cost, sequence, duration);
        fc.pre(effective(nowMs) > most);
        const fitMs = windowEndMs(sequence, duration) + fitAfterEndMs(current, previous, most, cost, duration);
        expect(fitMs).toBeGreaterThan(nowMs);
        expect(fitMs).toBeLessThanOrEqual(endMs + duration);
        expect(effective(fitMs)).toBeLessThanOrEqual(most);
        expect(effective(fitMs - 1)).toBeGreaterThan(most);
        // Between the denial and the fit nothing fits, and after it everything does: spot checks at any place.
        expect(effective(nowMs + (n % (fitMs - nowMs)))).toBeGreaterThan(most);
        expect(effective(fitMs + (n % duration))).toBeLessThanOrEqual(most);
        endings[fitMs < endMs ? "thisWindow" : fitMs < endMs + duration ? "nextWindow" : "after"]++;
      }),
      { numRuns: 5_000 },
    );
    // Each ending is met often enough to mean something: a fifth of a percent of 5,000.
    for (const times of Object.values(endings)) expect(times).toBeGreaterThan(10);
  });
});
