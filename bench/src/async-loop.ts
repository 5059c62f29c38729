/**
 * The timed loop of an asynchronous contender: one `await` per call, one call at a time. Every contender runs its own
 * copy of this module, for the reason that sync-loop.ts gives.
 */

/** Written by the loop on every call: what a contender resolves to is really made and really kept. */
let last: unknown;

/** Awaits `call` with `keys[order[i]]` for every `i` in [from, to). Returns how many nanoseconds that took. */
export async function run(
  call: (key: unknown) => unknown,
  keys: readonly unknown[],
  order: Uint32Array,
  from: number,
  to: number,
): Promise<number> {
  const startedMs = performance.now();
  for (let i = from; i < to; i++) {
    // A rejection which is not an error is an answer: a peer says "denied" that way, and its callers write this catch.
    try {
      last = await call(keys[order[i]!]);
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      last = refusal;
    }
  }
  return (performance.now() - startedMs) * 1e6;
}

/** What the last call of the last run answered. */
export const lastResult = (): unknown => last;
