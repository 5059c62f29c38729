/**
 * `npm run bench-sql`: what the global layer costs a database, how that grows, and how long the event loop of a region with
 * many live cells stands still. Prints tables; docs/operating.md has those of a full run.
 */
import { parseArgs } from "node:util";
import type { Counters } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { postgresCounters } from "sluice/postgres";
import { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { PostgresServer } from "../../../test/rig/postgres-server.ts";
import { type CostFigure, type CostShape, measureCost } from "./cost.ts";
import { measureOutage, TROUBLES } from "./outage.ts";
import { measureSqlStalls } from "./stalls.ts";

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, cells: { type: "string" }, only: { type: "string" } },
  strict: true,
});
const isQuick = values.quick === true;
/** The production size of the specs, and then one thing twice as large at a time. */
const SHAPES: readonly CostShape[] = isQuick
  ? [{ cells: 60, hot: 6, regions: 2 }]
  : [
      { cells: 24_000, hot: 2_400, regions: 10 },
      { cells: 48_000, hot: 2_400, regions: 10 },
      { cells: 24_000, hot: 4_800, regions: 10 },
      { cells: 24_000, hot: 2_400, regions: 20 },
    ];
const STALL_CELLS = values.cells === undefined ? (isQuick ? 2_000 : 1_000_000) : Number(values.cells);
const ROUNDS = isQuick ? 1 : 3;

const mariadb = await MariadbServer.start(["--innodb-buffer-pool-size=1G"]);
const postgres = await PostgresServer.start();
const stores: readonly { readonly name: string; readonly url: string; open(tablePrefix: string): Counters }[] = [
  {
    name: "MariaDB",
    url: mariadb.url(),
    open: (tablePrefix) => mysqlCounters({ url: mariadb.url(), tablePrefix, statementTimeoutMs: 60_000 }),
  },
  {
    name: "PostgreSQL",
    url: postgres.url(),
    open: (tablePrefix) => postgresCounters({ url: postgres.url(), tablePrefix, statementTimeoutMs: 60_000 }),
  },
];

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
const thousands = (number: number) => number.toLocaleString("en-US", { maximumFractionDigits: number < 10 ? 1 : 0 });

async function printCosts(shape: CostShape, at: number): Promise<void> {
  const runs = new Map<string, CostFigure[][]>(stores.map(({ name }) => [name, []]));
  // In turns, so that whatever else the machine does meets all of them.
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, open } of stores) {
      const counters = open(`c${at}_${round}_`);
      runs.get(name)!.push(await measureCost(counters, shape));
      await counters.close();
    }
  }
  const { cells, hot, regions } = shape;
  console.log(`\n${thousands(cells)} live cells, ${thousands(hot)} hot, ${regions} regions\n`);
  console.log(`| | rows | statements | ${stores.map(({ name }) => name).join(" | ")} |\n|---|---|---|---|---|`);
  runs.get(stores[0]!.name)![0]!.forEach(({ what, rows, statements }, i) => {
    const times = stores.map(({ name }) => thousands(median(runs.get(name)!.map((run) => run[i]!.tookMs))));
    console.log(`| ${what} | ${thousands(rows)} | ${statements} | ${times.map((ms) => `${ms} ms`).join(" | ")} |`);
  });
}

async function printStalls(): Promise<void> {
  console.log(`\n${thousands(STALL_CELLS)} live cells in one process: turns of the event loop\n`);
  console.log("| | store | took | 99.9 % of turns | longest | most processor time |\n|---|---|---|---|---|---|");
  for (const { name, url } of stores) {
    for (const { phase, turns, tookMs } of await measureSqlStalls(url, STALL_CELLS, "s_", isQuick ? 100 : 12_000)) {
      const { p999Ms, maxMs, busiestMs } = turns;
      const times = [p999Ms, maxMs, busiestMs].map((ms) => `${ms.toFixed(1)} ms`).join(" | ");
      console.log(`| ${phase} | ${name} | ${(tookMs / 1_000).toFixed(1)} s | ${times} |`);
    }
  }
}

async function printOutages(): Promise<void> {
  const [forMs, rounds] = isQuick ? [200, 1] : [10_000, 5];
  console.log("\nA database in trouble, while requests go on: calm and troubled in turn\n");
  console.log("| | 99th percentile of requests, troubled by calm | all published after |\n|---|---|---|");
  for (const trouble of isQuick ? TROUBLES.slice(1, 2) : TROUBLES) {
    const server = await MariadbServer.start();
    const { ratio, republishedMs } = await measureOutage(server, trouble, { forMs, rounds });
    console.log(`| ${trouble} | ${ratio.toFixed(2)} | ${(republishedMs / 1_000).toFixed(1)} s |`);
    await server.stop();
  }
}

const isWanted = (section: string) => values.only === undefined || values.only === section;
if (isWanted("cost")) for (const [at, shape] of SHAPES.entries()) await printCosts(shape, at);
if (isWanted("outage")) await printOutages();
if (isWanted("stalls")) await printStalls();
await mariadb.stop();
await postgres.stop();
process.exit(0);
