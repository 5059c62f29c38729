/** `npm run bench-redis`: Sluice beside packages that ask Redis for every decision; with `--write` into docs/. */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { RedisServer } from "../../../test/rig/redis-server.ts";
import { createContender, NAMES } from "./contenders.ts";
import { type Outage, runOutage } from "./outage.ts";
import { redisPage } from "./page.ts";
import { type Round, runRound } from "./rounds.ts";

const PAGE = new URL("../../../docs/benchmarks-redis.md", import.meta.url);
const { values } = parseArgs({ options: { write: { type: "boolean" }, quick: { type: "boolean" } }, strict: true });
const isQuick = values.quick === true;
const [roundMs, rounds, outageMs] = isQuick ? [30, 1, 100] : [1_500, 3, 5_000];

const figures: Round[] = [];
for (const callers of [1, 64, 512]) {
  // In turns, so that whatever else the machine does meets all of them.
  for (let round = 0; round < rounds; round++) {
    for (const name of NAMES) {
      const server = await RedisServer.start();
      const contender = await createContender(name, server.url);
      await runRound(contender, callers, roundMs / 3);
      figures.push(await runRound(contender, callers, roundMs));
      await contender.close();
      await server.stop();
    }
  }
}

const outages: Outage[] = [];
for (const trouble of ["frozen", "gone"] as const) {
  for (const name of NAMES) {
    const server = await RedisServer.start();
    const contender = await createContender(name, server.url);
    outages.push(await runOutage(contender, server, trouble, outageMs));
    await server.stop();
    await contender.close();
  }
}

const page = redisPage(figures, outages, { roundMs, rounds, outageMs, isQuick, now: new Date() });
process.stdout.write(page);
if (values.write === true) await writeFile(PAGE, page);
process.exit(0);
