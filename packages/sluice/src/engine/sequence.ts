/** Windows and their numbers: fixed spans of `durationMs`, aligned to the Unix epoch. */
import type { DurationMs, Sequence } from "../core/brands.ts";

export function sequenceAt(wallMs: number, durationMs: DurationMs): Sequence {
  return Math.floor(wallMs / durationMs) as Sequence;
}

export function windowStartMs(sequence: Sequence, durationMs: DurationMs): number {
  return sequence * durationMs;
}

export function windowEndMs(sequence: Sequence, durationMs: DurationMs): number {
  return (sequence + 1) * durationMs;
}

/** A cell matters as the current one, then as the previous one: until this moment. */
export function cellExpiryMs(sequence: Sequence, durationMs: DurationMs): number {
  return (sequence + 2) * durationMs;
}
