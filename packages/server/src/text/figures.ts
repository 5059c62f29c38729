/** Numbers as a reader wants them. Written out by hand, because a locale is not to be relied on. */

/** With commas between thousands. */
export function whole(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function ratio(value: number): string {
  return value.toFixed(3);
}

/** Per second: two digits that count, where it is small. */
export function rate(perSecond: number): string {
  return perSecond >= 10 || perSecond === 0 ? whole(perSecond) : String(Number(perSecond.toPrecision(2)));
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1_000, "s"],
] as const;

/** A length of time that is to be written again as it is: in the largest unit that it is a whole number of. */
export function exactSpan(ms: number): string {
  const [unitMs, unit] = UNITS.find(([sizeMs]) => ms % sizeMs === 0) ?? [1, "ms"];
  return `${ms / unitMs}${unit}`;
}

/** A length of time: in the largest unit that it is a whole number of, else in seconds; `1500` is `1.5s`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Number(ms.toPrecision(3))}ms`;
  const [unitMs, unit] = UNITS.find(([sizeMs]) => ms % sizeMs === 0) ?? [0, ""];
  return unitMs > 0 ? `${ms / unitMs}${unit}` : `${Number((ms / 1_000).toPrecision(3))}s`;
}
