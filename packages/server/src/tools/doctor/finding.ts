/** What `sluice doctor` found about one thing, and what to change. */

export type Status = "ok" | "warn" | "fail";

export interface Finding {
  readonly status: Status;
  /** What was looked at: `redis memory`. */
  readonly subject: string;
  readonly text: string;
  /** What to change; null: nothing. */
  readonly advice: string | null;
}

export function ok(subject: string, text: string): Finding {
  return { status: "ok", subject, text, advice: null };
}

export function warn(subject: string, text: string, advice: string): Finding {
  return { status: "warn", subject, text, advice };
}

export function fail(subject: string, text: string, advice: string): Finding {
  return { status: "fail", subject, text, advice };
}

/** Milliseconds with as many digits as matter. */
export function milliseconds(ms: number): string {
  return `${Math.abs(ms) < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** The middle one of several times that something took. */
export async function medianMs(times: number, nowMs: () => number, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const beganMs = nowMs();
    await work();
    took.push(nowMs() - beganMs);
  }
  return took.sort((a, b) => a - b)[times >> 1]!;
}

/** docs/operating.md, "Clocks". */
const SKEW_WARN_MS = 500;
const SKEW_FAIL_MS = 5_000;

/** How far another clock is ahead of this one, known to within half a round trip. */
export function skewFinding(subject: string, skewMs: number, roundTripMs: number): Finding {
  const sureMs = Math.max(0, Math.abs(skewMs) - roundTripMs / 2);
  const text = `its clock is ${milliseconds(Math.abs(skewMs))} ${skewMs < 0 ? "behind" : "ahead of"} this one (±${milliseconds(roundTripMs / 2)})`;
  const advice =
    "synchronize all machines by NTP or chrony: windows and expiry depend on the clock (docs/operating.md, Clocks)";
  if (sureMs >= SKEW_FAIL_MS) return fail(subject, text, advice);
  return sureMs >= SKEW_WARN_MS ? warn(subject, text, advice) : ok(subject, text);
}
