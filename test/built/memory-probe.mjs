/** Fills a limiter with keys, in one or two generations, and prints what a key takes. Run with --expose-gc. */
const { Limiter } = await import(new URL("../../packages/sluice/dist/index.js", import.meta.url).href);
const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");

const keys = Number(process.argv[2]);
const generations = Number(process.argv[3]);
const DURATION_MS = 3_600_000;
let wallMs = 1_700_000_000_000;
const clock = { wallMs: () => wallMs, monoMs: () => 0 };

// The same work on a table of ten keys first: the compiled code and the young generation, which every program that makes
// decisions has, are there before the measurement begins.
const warm = new Limiter({ cellsMax: 10, clock }).rule({ namespace: "memory", limit: 10, duration: DURATION_MS });
for (let i = 0; i < 1_000_000; i++) warm.decide(`warm_${i}`);

collect();
const before = process.memoryUsage().rss;
const limiter = new Limiter({ cellsMax: keys, clock });
const rule = limiter.rule({ namespace: "memory", limit: 10, duration: DURATION_MS });
for (let generation = 0; generation < generations; generation++) {
  wallMs += 3 * DURATION_MS;
  for (let i = 0; i < keys; i++) rule.decide(`user_${generation}_${i}`);
}
collect();
const grown = process.memoryUsage().rss - before;
const { live, evicted } = limiter.stats().cells;
let sampleAnswers = true;
for (let i = 0; i < keys; i += 997) {
  if (rule.decide(`user_${generations - 1}_${i}`).current !== 2) sampleAnswers = false;
}
console.log(JSON.stringify({ keys, bytesPerKey: grown / keys, live, evicted, sampleAnswers }));
await limiter.close();
