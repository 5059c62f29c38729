/**
 * How many bytes of resident memory one key costs: the growth of the process while a table is filled, over the keys.
 * Keys are built on the fly and dropped, so a contender pays for the strings it keeps and for no others. Runs in a
 * process of its own, with nothing else in it.
 */
import { LIMIT_ALLOWED } from "./cases.ts";
import { contenderNamed, loadLoop } from "./contenders.ts";
import { keyText } from "./key-feed.ts";

export interface MemoryFigure {
  readonly contender: string;
  readonly keys: number;
  readonly bytesPerKey: number;
}

/** Keys alive at once outside the table. */
const CHUNK_KEYS = 10_000;

/** Keys that are asked again, spread evenly over all of them. */
const SAMPLE_KEYS = 1000;

/** Strings made and dropped before the first reading: V8's young generation reaches its full size, once. */
const CHURN_KEYS_MAX = 2_000_000;

export async function measureMemory(name: string, keys: number): Promise<MemoryFigure> {
  const contender = contenderNamed(name);
  const create = await contender.load();
  const loop = await loadLoop(contender);
  const order = Uint32Array.from({ length: CHUNK_KEYS }, (_, i) => i);

  const churnKeys = Math.min(CHURN_KEYS_MAX, 2 * keys);
  for (let made = 0; made < churnKeys; made += CHUNK_KEYS) chunkOfKeys(made, CHUNK_KEYS);
  const before = await residentBytes();

  const instance = create({ keysMax: Math.ceil(keys * 1.1), limit: LIMIT_ALLOWED });
  for (let held = 0; held < keys; held += CHUNK_KEYS) {
    const chunk = chunkOfKeys(held, Math.min(CHUNK_KEYS, keys - held));
    await loop.run(instance.call, chunk, order, 0, chunk.length);
  }
  const bytesPerKey = ((await residentBytes()) - before) / keys;

  // The instance has to be alive while it is measured, and to hold what it was given: a sample is asked a second time.
  for (let number = 0; number < keys; number += Math.ceil(keys / SAMPLE_KEYS)) {
    await loop.run(instance.call, [keyText(number)], order, 0, 1);
    const used = instance.used(loop.lastResult(), keyText(number));
    if (used !== 2) throw new Error(`${name} counted ${used} for a key asked twice: it does not hold ${keys} keys`);
  }
  await instance.close();
  return { contender: name, keys, bytesPerKey };
}

function chunkOfKeys(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => keyText((from + i) % 10_000_000));
}

/** After a few full collections, with turns between them in which V8 gives pages back. */
async function residentBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("memory is measured under --expose-gc");
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage.rss();
}
