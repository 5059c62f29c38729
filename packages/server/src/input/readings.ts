/** How a value that a person wrote becomes one of a plan: from a flag always a text, from a file also a number. */

const NUMBER = /^\d+(\.\d+)?$/;
const SPAN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A value, or undefined if this is none. */
export type ReadValue<T> = (value: unknown) => T | undefined;

export function numberWithin(low: number, high: number): ReadValue<number> {
  return (value) => {
    const number = typeof value === "string" && NUMBER.test(value.trim()) ? Number(value) : value;
    return typeof number === "number" && number >= low && number <= high ? number : undefined;
  };
}

export function integerWithin(low: number, high: number): ReadValue<number> {
  const read = numberWithin(low, high);
  return (value) => {
    const number = read(value);
    return Number.isInteger(number) ? number : undefined;
  };
}

/** A length of time in milliseconds: a number of them, or a number with a unit. */
export function spanWithin(lowMs: number, highMs: number): ReadValue<number> {
  return (value) => {
    if (typeof value === "number") return value >= lowMs && value <= highMs ? value : undefined;
    const [, count, unit = "ms"] = typeof value === "string" ? (SPAN.exec(value.trim()) ?? []) : [];
    const ms = Number(count) * UNIT_MS[unit]!;
    return ms >= lowMs && ms <= highMs ? ms : undefined;
  };
}

/** The same, for what counts whole milliseconds. */
export function wholeSpanWithin(lowMs: number, highMs: number): ReadValue<number> {
  const read = spanWithin(lowMs, highMs);
  return (value) => {
    const ms = read(value);
    return Number.isInteger(ms) ? ms : undefined;
  };
}

export function oneOf<T extends string>(choices: readonly T[]): ReadValue<T> {
  return (value) => choices.find((choice) => choice === value);
}
