/** Asks a limiter with an origin about the longest identifiers, and prints what it takes. Run with --expose-gc. */
const { Limiter } = await import(new URL("../../packages/sluice/dist/index.js", import.meta.url).href);
const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");

const cellsMax = Number(process.argv[2]);
const keys = Number(process.argv[3]);
/**
 * Confirms everything and keeps nothing, so that only the limiter's own memory is measured.
 *
 * @type {import("sluice").Origin}
 */
const origin = {
  raise: async (raises) => raises.map(({ total }) => ({ sum: total, component: total })),
  read: async (reads) => reads.map(() => ({ sum: 0, component: 0 })),
  close: async () => {},
};
const used = () => {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
const limiter = new Limiter({ cellsMax: 10, origin });
await limiter.limit({ namespace: "memory", identifier: "warm", limit: 10, duration: "30d" });
await limiter.close();

const confirmed = async () => {
  do await new Promise((resolve) => setTimeout(resolve, 10));
  while (full.stats().origin.unreplayed > 0 || full.stats().origin.readsInFlight > 0);
};
const before = used();
const full = new Limiter({ cellsMax, origin, commandsPerSecond: 1_000_000 });
const pad = "\u{1F600}".repeat(505);
for (let i = 0; i < keys; i++) {
  const identifier = pad + String(i).padStart(7, "0");
  void full.decide({ namespace: "memory", identifier, limit: 10, duration: "30d" });
  // Keys that the origin has not confirmed are not evicted: wait, or most are decided without a record.
  if (i % 250 === 249) await confirmed();
}
const bytes = used() - before;
const { cells, decisions } = full.stats();
console.log(JSON.stringify({ bytes, cells, unrecorded: decisions.unrecorded }));
await full.close();
