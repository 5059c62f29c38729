/** `sluice/testing`: time by hand, for the tests of an application. */
import { ManualTime } from "./limiter/manual-time.ts";

export type { ManualTime } from "./limiter/manual-time.ts";

/**
 * A clock and timers that move only by `advance`, so that a test reaches a 429 and the next window without waiting. The time begins at the
 * start of a minute, an hour and a day, unless it is given.
 *
 * @example
 * ```ts
 * import { Limiter } from "sluice";
 * import { manualTime } from "sluice/testing";
 *
 * const time = manualTime();
 * const limiter = new Limiter({ clock: time.clock, timers: time.timers });
 * const { success } = await limiter.limit({ namespace: "api", identifier: "user_1", limit: 1, duration: "1m" });
 * await time.advance(60_000);
 * ```
 */
export function manualTime(startMs?: number): ManualTime {
  return new ManualTime(startMs);
}
