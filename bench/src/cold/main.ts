/** `npm run bench-cold`: what keys cost that are not in memory; with `--write` into docs/benchmarks-cold.md. */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { RedisServer } from "../../../test/rig/redis-server.ts";
import { createContender, NAMES } from "../redis/contenders.ts";
import { spawnTask } from "../spawn-task.ts";
import { librarySubjects } from "./library.ts";
import { type ColdFigures, coldPage } from "./page.ts";
import { runColdRound } from "./rounds.ts";
import { measureServer, serverSubjects } from "./server.ts";
import { sharedWindows } from "./shared-key.ts";

const PAGE = new URL("../../../docs/benchmarks-cold.md", import.meta.url);
const PARTS = ["redis", "library", "server", "shared-key"] as const;
type Part = (typeof PARTS)[number];
/** The processes of the shared key have started and connected by then. */
const START_MS = 4_000;

const { values } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [...PARTS] },
    rounds: { type: "string" },
    windows: { type: "string" },
  },
});
const unknown = values.only.find((part) => !PARTS.includes(part as Part));
if (unknown !== undefined) {
  process.stderr.write(`--only takes one of ${PARTS.join(", ")}, not ${JSON.stringify(unknown)}\n`);
  process.exit(2);
}
const isWanted = (part: Part) => values.only.includes(part);
const log = (line: string) => process.stderr.write(`${line}\n`);
const size = values.quick
  ? { rounds: 1, roundMs: 50, keys: 2_000, decisions: 6_400, serverS: 1, windows: 2, windowMs: 1_000, limit: 200 }
  : { rounds: 5, roundMs: 2_000, keys: 1e6, decisions: 1e6, serverS: 6, windows: 20, windowMs: 10_000, limit: 1_000 };
const rounds = Number(values.rounds ?? size.rounds);
const windows = Number(values.windows ?? size.windows);

const figures: ColdFigures = { redis: [], library: [], server: [], windows: [], degraded: 0, asked: 0 };
// In turns, so that whatever else the machine does meets all of them.
for (let round = 0; round < rounds; round++) {
  if (isWanted("redis")) await redisRound();
  if (isWanted("library")) await libraryRound();
  if (isWanted("server")) await serverRound();
}
if (isWanted("shared-key")) await sharedKey();

const page = coldPage(figures, { ...size, rounds, isQuick: values.quick, now: new Date() });
process.stdout.write(page);
if (values.write) await writeFile(PAGE, page);
process.exit(0);

async function redisRound(): Promise<void> {
  for (const inFlight of [1, 64]) {
    for (const name of NAMES) {
      const server = await RedisServer.start();
      const contender = await createContender(name, server.url);
      const round = await runColdRound(contender, server, inFlight, size.roundMs);
      figures.redis.push(round);
      log(`${name}, ${inFlight} in flight: ${round.perSecond.toFixed(0)}/s, Redis ${round.redisCpuUs.toFixed(1)} µs`);
      await contender.close();
      await server.stop();
    }
  }
}

async function libraryRound(): Promise<void> {
  for (const subject of librarySubjects) {
    const { library } = await spawnTask({ kind: "library", subject, options: size });
    figures.library.push(...library);
    for (const { us, cpuUs } of library) log(`${subject}: ${us.toFixed(2)} µs, ${cpuUs.toFixed(2)} µs of CPU`);
  }
}

async function serverRound(): Promise<void> {
  const redis = await RedisServer.start();
  for (const subject of serverSubjects) {
    const figure = await measureServer(subject, redis.url, size.serverS);
    figures.server.push(figure);
    log(`server ${subject}: ${figure.cpuUs.toFixed(1)} µs of CPU`);
  }
  await redis.stop();
}

async function sharedKey(): Promise<void> {
  const processes = 4;
  const { limit, windowMs: durationMs } = size;
  const redis = await RedisServer.start();
  const beginMs = Math.ceil((Date.now() + START_MS) / durationMs) * durationMs;
  const endMs = beginMs + (1 + windows) * durationMs;
  const common = { url: redis.url, demand: (10 * limit) / processes, limit, durationMs, beginMs, endMs };
  const tasks = Array.from({ length: processes }, (_, seed) => {
    return spawnTask({ kind: "shared-key", options: { ...common, seed } });
  });
  const measured = (await Promise.all(tasks)).flatMap(({ sharedKey: one }) => one);
  await redis.stop();
  figures.windows.push(...sharedWindows(measured, common));
  for (const { asked, degraded } of measured) {
    figures.asked += asked;
    figures.degraded += degraded;
  }
}
