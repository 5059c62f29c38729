/**
 * `npm run bench-sql`: what the global layer costs a database, how that grows, what requests feel of one in trouble, and how long
 * the event loop of a region with many live cells stands still. Prints tables; docs/operating.md and docs/benchmarks-sql.md have
 * those of a full run.
 */
import { parseArgs } from "node:util";
import { median } from "../median.ts";
import { type CostFigure, type CostShape, measureCost } from "./cost.ts";
import { measureOutage, TROUBLES } from "./outage.ts";
import { measureRhythm } from "./rhythm.ts";
import { measureSqlStalls } from "./stalls.ts";
import { STORES } from "./stores.ts";

const SECTIONS = ["cost", "rhythm", "outage", "stalls"];
const usage = `npm run bench-sql --workspace bench -- [flags]

  --only NAME       one section: ${SECTIONS.join(", ")}
  --store NAME      one database: ${STORES.map(({ name }) => name).join(", ")}
  --cells N         live cells of the stalls (default 1000000)
  --round-ms N      from one publish to the next, and from one import to the next (default 1000, which is Sluice's own)
  --trouble-ms N    how long a database is frozen; other troubles last a quarter of it (default 60000)
  --quick           tiny inputs: tries out the benchmark, measures nothing`;

function refuse(message: string): never {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}

function flags() {
  try {
    return parseArgs({
      options: {
        quick: { type: "boolean" },
        only: { type: "string" },
        store: { type: "string" },
        cells: { type: "string" },
        "round-ms": { type: "string" },
        "trouble-ms": { type: "string" },
      },
      strict: true,
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const values = flags();
const isQuick = values.quick === true;
const numberOf = (name: "cells" | "round-ms" | "trouble-ms", quick: number, full: number): number => {
  const number = values[name] === undefined ? (isQuick ? quick : full) : Number(values[name]);
  return Number.isSafeInteger(number) && number > 0
    ? number
    : refuse(`--${name}: a whole number above 0, not ${values[name]}`);
};
if (values.only !== undefined && !SECTIONS.includes(values.only)) refuse(`--only: no section ${values.only}`);
const stores = STORES.filter(({ name }) => values.store === undefined || name === values.store);
if (stores.length === 0) refuse(`--store: no database ${values.store}`);

/** The production size of the specs, and then one thing twice as large at a time. */
const SHAPES: readonly CostShape[] = isQuick
  ? [{ cells: 60, hot: 6, regions: 2 }]
  : [
      { cells: 24_000, hot: 2_400, regions: 10 },
      { cells: 48_000, hot: 2_400, regions: 10 },
      { cells: 24_000, hot: 4_800, regions: 10 },
      { cells: 24_000, hot: 2_400, regions: 20 },
    ];
const stallCells = numberOf("cells", 2_000, 1_000_000);
const roundMs = numberOf("round-ms", 100, 1_000);
const troubledMs = numberOf("trouble-ms", 400, 60_000);

const thousands = (number: number) => number.toLocaleString("en-US", { maximumFractionDigits: number < 10 ? 1 : 0 });
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const named = ({ cells, hot, regions }: CostShape) =>
  `${thousands(cells)} live cells, ${thousands(hot)} hot, ${regions} regions`;

async function printCosts(): Promise<void> {
  const servers = await Promise.all(stores.map(async (store) => ({ store, server: await store.start() })));
  for (const [at, shape] of SHAPES.entries()) {
    const runs = new Map<string, CostFigure[][]>(stores.map(({ name }) => [name, []]));
    // In turns, so that whatever else the machine does meets all of them.
    for (let round = 0; round < (isQuick ? 1 : 3); round++) {
      for (const { store, server } of servers) {
        const counters = store.open(server, { tablePrefix: `c${at}_${round}_`, statementTimeoutMs: 60_000 });
        runs.get(store.name)!.push(await measureCost(counters, shape));
        await counters.close();
      }
    }
    console.log(`\n${named(shape)}\n`);
    console.log(`| | rows | statements | ${stores.map(({ name }) => name).join(" | ")} |`);
    console.log(`|---|---|---|${"---|".repeat(stores.length)}`);
    runs.get(stores[0]!.name)![0]!.forEach(({ what, rows, statements }, i) => {
      const times = stores.map(({ name }) => thousands(median(runs.get(name)!.map((run) => run[i]!.tookMs))));
      console.log(`| ${what} | ${thousands(rows)} | ${statements} | ${times.map((ms) => `${ms} ms`).join(" | ")} |`);
    });
  }
  for (const { server } of servers) await server.stop();
}

async function printRhythms(): Promise<void> {
  console.log(`\nA world that publishes and imports every ${seconds(roundMs)}: rows and statements a second\n`);
  console.log("| | store | rows | statements | rows, by the server | statements, by the server | kept | failed |");
  console.log("|---|---|---|---|---|---|---|---|");
  for (const shape of SHAPES) {
    for (const store of stores) {
      const rhythm = await measureRhythm(store, shape, { roundMs, forMs: 16 * roundMs });
      const { rowsPerS, statementsPerS, serverRowsPerS, serverStatementsPerS, kept, failed } = rhythm;
      const figures = [rowsPerS, statementsPerS, serverRowsPerS, serverStatementsPerS].map(thousands).join(" | ");
      console.log(`| ${named(shape)} | ${store.name} | ${figures} | ${Math.round(100 * kept)} % | ${failed} |`);
    }
  }
}

async function printStalls(): Promise<void> {
  console.log(`\n${thousands(stallCells)} live cells in one process: turns of the event loop\n`);
  console.log("| | store | took | 99.9 % | longest | processor | without collector | mostly | over 20 ms |");
  console.log(`|${"---|".repeat(9)}`);
  for (const store of stores) {
    for (const { phase, turns, tookMs } of await measureSqlStalls(store, stallCells, roundMs)) {
      const { count, p999Ms, maxMs, busiestMs, busiestOwnMs, busiestOwn, over, overOwn } = turns;
      const times = [p999Ms, maxMs, busiestMs, busiestOwnMs].map((ms) => `${ms.toFixed(1)} ms`).join(" | ");
      const stalls = `${busiestOwn} | ${over} of ${thousands(count)}, ${overOwn}`;
      console.log(`| ${phase} | ${store.name} | ${seconds(tookMs)} | ${times} | ${stalls} |`);
    }
  }
}

async function printOutages(): Promise<void> {
  console.log(
    "\nA database in trouble while requests go on: killed, frozen (stopped, not ended), or its table emptied\n",
  );
  console.log("| | for | store | 99th percentile, calm | troubled by calm | calm by calm | all published after |");
  console.log(`|${"---|".repeat(7)}`);
  for (const trouble of isQuick ? TROUBLES.slice(1) : TROUBLES) {
    // What is silent is the worst: nothing says that it is gone.
    const forMs = trouble === "frozen" ? troubledMs : troubledMs / 4;
    const rest = isQuick ? { rounds: 1, keys: 200 } : { rounds: 3, keys: 5_000 };
    for (const store of stores) {
      const shape = { troubledMs: forMs, calmMs: forMs / 2, roundMs, ...rest };
      const { calmMs, ratio, calmRatio, republishedMs } = await measureOutage(store, trouble, shape);
      const ratios = `${(1_000 * calmMs).toFixed(1)} µs | ${ratio.toFixed(2)} | ${calmRatio.toFixed(2)}`;
      console.log(`| ${trouble} | ${seconds(forMs)} | ${store.name} | ${ratios} | ${seconds(republishedMs)} |`);
    }
  }
}

const isWanted = (section: string) => values.only === undefined || values.only === section;
if (isWanted("cost")) await printCosts();
if (isWanted("rhythm")) await printRhythms();
if (isWanted("outage")) await printOutages();
if (isWanted("stalls")) await printStalls();
process.exit(0);
