/**
 * The timed loop of a synchronous contender. Every contender runs its own copy of this module (contenders.ts), so that
 * no call site sees two contenders' functions: a site that has is slower for all of them, and for reasons that are none
 * of theirs.
 */

/** Written by the loop on every call: what a contender returns is really made and really kept. */
let last: unknown;

/** Calls `call` with `keys[order[i]]` for every `i` in [from, to). Returns how many nanoseconds that took. */
export function run(
  call: (key: unknown) => unknown,
  keys: readonly unknown[],
  order: Uint32Array,
  from: number,
  to: number,
): number {
  const startedMs = performance.now();
  for (let i = from; i < to; i++) last = call(keys[order[i]!]);
  return (performance.now() - startedMs) * 1e6;
}

/** What the last call of the last run answered. */
export const lastResult = (): unknown => last;
