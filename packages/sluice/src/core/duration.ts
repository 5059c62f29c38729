/**
 * Durations: a number of milliseconds, or a short string such as "10s".
 *
 * Only whole units are accepted, so that "1.5h" or "5 parsecs" is an error and not a guess.
 */
import { DURATION_MAX_MS, DURATION_MIN_MS } from "./bounds.ts";
import type { DurationMs } from "./brands.ts";
import { SluiceError } from "./errors.ts";

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export type DurationUnit = keyof typeof UNIT_MS;
/** Milliseconds as a number, or a whole number with a unit: `"1500ms"`, `"10s"`, `"5m"`, `"1h"`, `"30d"`. */
export type Duration = number | `${bigint}${DurationUnit}`;

/** Enough for 30 d in milliseconds; more is out of bounds whatever the unit. */
const DIGITS_MAX = 10;

/** The duration in milliseconds, or a SluiceError that names `field`. */
export function parseDuration(value: unknown, field = "duration"): DurationMs {
  const ms = typeof value === "string" ? textMs(value) : value;
  if (typeof ms !== "number" || !Number.isInteger(ms) || ms < DURATION_MIN_MS || ms > DURATION_MAX_MS) {
    throw new SluiceError("RL_DURATION_INVALID", field, value);
  }
  return ms as DurationMs;
}

/** By hand, because a match of a regular expression would be made anew for every text that is not remembered. */
function textMs(text: string): number {
  let digits = 0;
  let count = 0;
  for (; digits < text.length && digits <= DIGITS_MAX; digits++) {
    const digit = text.charCodeAt(digits) - 48;
    if (digit < 0 || digit > 9) break;
    count = count * 10 + digit;
  }
  if (digits === 0 || digits > DIGITS_MAX) return Number.NaN;
  for (const unit in UNIT_MS) {
    if (text.length === digits + unit.length && text.endsWith(unit)) return count * UNIT_MS[unit as DurationUnit];
  }
  return Number.NaN;
}
