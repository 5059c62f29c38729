/**
 * The sliding window: the whole count of the current cell, plus the share of the previous cell that still overlaps.
 *
 * Everything is exact in integers. A share is `floor(count * leftMs / durationMs)`; where the product would pass 2^53 it
 * is worked out in two digits of 16 bits, so that no limit and no duration within the bounds is ever rounded.
 *
 * Pure arithmetic: it knows no key, no table and no clock.
 */
import type { DurationMs } from "../core/brands.ts";

/**
 * `floor(count * leftMs / durationMs)` for integers `0 ≤ count ≤ 2^53 - 1` and `0 ≤ leftMs ≤ durationMs < 2^32`.
 *
 * `Math.floor(a / b)` is exact for integers a < 2^53: the quotient's distance to the next integer is at least 1/b, which
 * is more than half a unit in the last place of any quotient a/b.
 */
export function share(count: number, leftMs: number, durationMs: number): number {
  const product = count * leftMs;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: never or < take the long way, which gives the same; the other two were killed
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / durationMs);
  return shareLarge(count, leftMs, durationMs);
}

function shareLarge(count: number, leftMs: number, durationMs: number): number {
  const whole = Math.floor(count / durationMs);
  const rest = count - whole * durationMs;
  const leftHigh = Math.floor(leftMs / 65_536);
  const leftLow = leftMs - leftHigh * 65_536;
  // Long division, one 16-bit digit at a time: each product stays below 2^32 * 2^16 + 2^48 = 2^49.
  const high = rest * leftHigh;
  const highShare = Math.floor(high / durationMs);
  const low = (high - highShare * durationMs) * 65_536 + rest * leftLow;
  return whole * leftMs + highShare * 65_536 + Math.floor(low / durationMs);
}

/** The largest `leftMs` from 0 to the duration at which the count's share is at most `room` (≥ 0). */
export function leftWithin(count: number, room: number, durationMs: number): number {
  if (count <= room) return durationMs;
  // share ≤ room ⇔ count * left < (room + 1) * duration: one exact division, as long as the product is.
  const bound = (room + 1) * durationMs;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: never or < take the long way, which gives the same; the other two were killed
  if (bound > Number.MAX_SAFE_INTEGER) return leftWithinLarge(count, room, durationMs);
  const leftMs = Math.floor(bound / count);
  return leftMs * count === bound ? leftMs - 1 : leftMs;
}

function leftWithinLarge(count: number, room: number, durationMs: number): number {
  // The estimate is off by less than 1 (relative error 2^-51 of a value < 2^32); the exact share settles it: each loop
  // runs at most twice. The share of the whole duration is the count, which is above the room: leftMs stays below it.
  // Stryker disable next-line ArithmeticOperator: the loops come to the same end from any start, after more rounds
  let leftMs = Math.floor(((room + 1) / count) * durationMs);
  // Stryker disable next-line EqualityOperator: >= goes too far down and is brought back up by the next loop; <= was killed
  while (share(count, leftMs, durationMs) > room) leftMs--;
  while (share(count, leftMs + 1, durationMs) <= room) leftMs++;
  return leftMs;
}

/**
 * The earliest moment after a denial at which the same cost fits, if nothing else arrives: from the end of the current
 * window on, negative if before it. `cost ≤ limit`.
 *
 * First in what is left of this window (the previous cell's share falls), then in the next one (this window's count is
 * the previous one there and falls in its turn), at the latest when that one is over and nothing is left.
 */
export function fitAfterEndMs(
  current: number,
  previous: number,
  limit: number,
  cost: number,
  durationMs: DurationMs,
): number {
  const room = limit - cost - current;
  // At its very end, 0, if the previous cell leaves no room before: nothing is left of it then.
  if (room >= 0) return 0 - leftWithin(previous, room, durationMs);
  return durationMs - leftWithin(current, limit - cost, durationMs);
}
