/** Numbers and times as people read them: in the reader's own zone, with UTC beside it. */

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en");
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A rate: one decimal below ten, so that the width hardly changes. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 10) return perSecond.toFixed(1);
  return perSecond < 10_000 ? WHOLE.format(Math.round(perSecond)) : COMPACT.format(perSecond);
}

export function count(value: number): string {
  return WHOLE.format(value);
}

export function short(value: number): string {
  return value < 10_000 ? WHOLE.format(value) : COMPACT.format(value);
}

export function clock(ms: number): string {
  return CLOCK.format(ms);
}

export function moment(ms: number): string {
  return MOMENT.format(ms);
}

export function utc(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

export function seconds(s: number | null): string {
  if (s === null) return "–";
  if (s === Number.POSITIVE_INFINITY) return "> 2.5 s";
  if (s >= 1) return `≤ ${s} s`;
  return `≤ ${+(s * 1_000).toPrecision(2)} ms`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** `1 h 30 min`: two units at most. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const [unit, name] of UNITS) {
    const whole = Math.floor(rest / unit);
    if (whole > 0 && parts.length < 2) parts.push(`${whole} ${name}`);
    rest -= whole * unit;
  }
  return parts.join(" ");
}

export function bytes(value: number): string {
  return `${Math.round(value / 1_048_576)} MiB`;
}
