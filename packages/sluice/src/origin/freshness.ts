/** How long an answer of the origin may be used: a twentieth of the window, from 50 ms to 5 s. */
const FRESH_MIN_MS = 50;
const FRESH_MAX_MS = 5_000;
const FRESH_PER_DURATION = 20;

/**
 * A flush renews a cell in time if this part of its freshness is left when the flush begins: a third for the round trip, the
 * rest for timers that fire late.
 */
export const ANSWER_PART = 0.4;

export function freshnessMs(durationMs: number): number {
  return Math.min(FRESH_MAX_MS, Math.max(FRESH_MIN_MS, durationMs / FRESH_PER_DURATION));
}

/** The shortest window that is fresh for at least `freshMs`; 0 if all are. */
export function durationOfMs(freshMs: number): number {
  return freshMs <= FRESH_MIN_MS ? 0 : freshMs * FRESH_PER_DURATION;
}
