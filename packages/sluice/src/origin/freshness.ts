/** How long what was heard from the origin may be used: a twentieth of the window, from 50 ms to 5 s. */
const FRESH_MIN_MS = 50;
const FRESH_MAX_MS = 5_000;
const FRESH_PER_DURATION = 20;

export function freshnessMs(durationMs: number): number {
  return Math.min(FRESH_MAX_MS, Math.max(FRESH_MIN_MS, durationMs / FRESH_PER_DURATION));
}
