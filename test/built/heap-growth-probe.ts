/** Replaces old strings by new ones, as a server does with names, and prints the most that the heap took around them, in MiB. */
import { boundHeapGrowth } from "../../packages/server/src/system/heap-growth.ts";

boundHeapGrowth();
const LIVE = 100_000;
const held: string[] = [];
let most = 0;
for (let i = 0; i < 15 * LIVE; i++) {
  held[i % LIVE] = Buffer.alloc(1_000, 97).toString("latin1");
  if (i % 10_000 === 0) most = Math.max(most, process.memoryUsage().heapTotal);
}
console.log(JSON.stringify({ mostMib: most / 2 ** 20, heldMib: (held.length * 1_016) / 2 ** 20 }));
