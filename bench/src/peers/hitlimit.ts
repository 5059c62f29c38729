/**
 * @joint-ops/hitlimit: `hit` of its memory store, synchronous, as its middleware's fast path calls it. It returns the
 * same object every time, so a caller has to read it before the next call.
 */
import { memoryStore } from "@joint-ops/hitlimit";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

type Hit = Awaited<ReturnType<ReturnType<typeof memoryStore>["hit"]>>;

export function create({ limit }: Load): Instance<string, Hit> {
  const store = memoryStore();
  return {
    call: (key) => store.hit(key, WINDOW_MS, limit),
    isAllowed: (hit) => hit.count <= limit,
    used: (hit) => hit.count,
    close: () => store.shutdown?.(),
  };
}
