/**
 * A deadline on a promise, on the timers that were passed in.
 *
 * The promise itself cannot be stopped: what it brings after the deadline is dropped, its rejection included.
 */
import type { Timers } from "./clock.ts";

export type Deadlined<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "late" };

/** Deadlines that are running: calling one makes it pass at once. What closes calls them all, and no timer is left. */
export type Pending = Set<() => void>;

/** Settles with what `start` brings, or with `late`. Never rejects, also if `start` throws. */
export function withDeadline<T>(
  start: () => Promise<T>,
  deadlineMs: number,
  timers: Timers,
  pending?: Pending,
  keepsAlive?: boolean,
): Promise<Deadlined<T>> {
  return new Promise((resolve) => {
    const settle = (outcome: Deadlined<T>) => {
      timers.clear(handle);
      pending?.delete(expire);
      resolve(outcome);
    };
    const expire = () => settle({ kind: "late" });
    const handle = timers.set(expire, deadlineMs, keepsAlive);
    pending?.add(expire);
    try {
      start().then(
        (value) => settle({ kind: "done", value }),
        (error: unknown) => settle({ kind: "failed", error }),
      );
    } catch (error) {
      settle({ kind: "failed", error });
    }
  });
}
