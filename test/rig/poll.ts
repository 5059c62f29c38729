/** Waiting for a condition on real servers: asked again and again, never slept for. */

const EVERY_MS = 5;

/** Resolves with the first value that is neither undefined nor false; rejects with what was last seen after `withinMs`. */
export async function poll<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 10_000,
): Promise<T> {
  const endMs = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await ask();
      if (value !== undefined && value !== false) return value as T;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs} ms`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
