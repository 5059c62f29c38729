/**
 * A world of real processes: three regions of two, each region with its own Redis, all with one database behind proxies that can
 * fail. One history, checked by the simulator's checker. They run the built package.
 */
import type { FaultKind, HistoryLine } from "@sluice/sim";
import { describe, expect, test } from "vitest";
import { byLength, figure, LENGTH } from "../rig/length.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { PostgresServer } from "../rig/postgres-server.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { TcpFaultProxy } from "../rig/tcp-fault-proxy.ts";
import { check, type WorkerLoad, Workers } from "../rig/workers.ts";

const REGIONS = 3;
const PROCESSES = 2;
/** Rounds are about a sixtieth of a window, as by default in the shortest that regions tell each other of. */
const DURATION_MS = byLength({ short: 5_000, ci: 12_000, lab: 60_000 });
const ROUND_MS = byLength({ short: 100, ci: 200, lab: 1_000 });
/** Large enough that one request more is no percent. */
const LIMIT = 1_200;
const WINDOWS = 2;
const STORES = [
  { name: "MariaDB", kind: "mysql", start: () => MariadbServer.start() },
  { name: "PostgreSQL", kind: "postgres", start: () => PostgresServer.start() },
] as const;

type AtEnd = (end: () => Promise<unknown>) => void;

/** Starts the world; every process asks for its part of `asked` times the limit in a window. */
async function startWorld({ kind, start }: (typeof STORES)[number], asked: number, atEnd: AtEnd) {
  const database = await start();
  atEnd(() => database.stop());
  const load: WorkerLoad = {
    identifiers: 1,
    perSecond: (asked * LIMIT * 1_000) / DURATION_MS / (REGIONS * PROCESSES),
    limit: LIMIT,
    durationMs: DURATION_MS,
  };
  const proxies: TcpFaultProxy[] = [];
  const redises: RedisServer[] = [];
  for (let i = 0; i < REGIONS; i++) {
    const redis = await RedisServer.start();
    atEnd(() => redis.stop());
    const proxy = await TcpFaultProxy.start(database.process.port);
    atEnd(() => proxy.stop());
    redises.push(redis);
    proxies.push(proxy);
  }
  const workers = new Workers(DURATION_MS);
  atEnd(() => workers.end());
  const all = proxies.flatMap(({ port }, i) =>
    Array.from({ length: PROCESSES }, () =>
      workers.start(redises[i]!, load, 5_000, {
        region: `r${i}`,
        global: { kind, url: database.url(port), roundMs: ROUND_MS },
      }),
    ),
  );
  await Promise.all(all.map((worker) => worker.ready()));
  const stop = async () => {
    const codes = (await Promise.all(all.map((worker) => worker.stop()))).map(({ code }) => code);
    expect(codes).toEqual(all.map(() => 0));
  };
  return { load, proxies, workers, stop };
}

/** What all regions admitted, in parts of the limit: by window. */
function admitted(history: readonly HistoryLine[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { event } of history) {
    if (event.kind !== "decision" || !event.isCounted) continue;
    sums.set(event.sequence, (sums.get(event.sequence) ?? 0) + event.cost / LIMIT);
  }
  return sums;
}

function expectSound(history: readonly HistoryLine[], load: WorkerLoad): void {
  const checker = check(history, load, PROCESSES, { regions: REGIONS, roundMs: ROUND_MS });
  expect(checker.problem).toBeUndefined();
  expect(checker.lowerBound.falseDenials).toBe(0);
}

// PostgreSQL differs in its statements only, which other suites run: its world is for CI=true and the lab.
describe.concurrent.each(STORES.slice(0, LENGTH === "short" ? 1 : STORES.length))(
  "three regions of two processes on $name",
  (store) => {
    test("at three times the limit admit no more than 1.05 of it from the second window on, and deny nobody by mistake, whatever the network does", {
      timeout: 400_000,
    }, async ({ expect, onTestFinished }) => {
      const ends: (() => Promise<unknown>)[] = [];
      onTestFinished(async () => {
        for (const end of ends.reverse()) await end();
      });
      const { load, proxies, workers, stop } = await startWorld(store, REGIONS, (end) => ends.push(end));
      const first = Math.floor(workers.nowMs() / DURATION_MS) + 1;
      await poll("windows over", () => workers.nowMs() > (first + WINDOWS) * DURATION_MS, 200_000);
      const faults = await troubles(proxies, workers);
      await stop();
      const history = [...workers.history(), ...faults].sort((a, b) => a.atMs - b.atMs);
      const sums = admitted(history);
      const ratios = Array.from({ length: WINDOWS }, (_, i) => sums.get(first + i) ?? 0);
      figure(`admitted ÷ limit on ${store.name}: ${ratios.map((ratio) => ratio.toFixed(3)).join(" ")}`);
      expectSound(history, load);
      // Messages that waited for a processor are late, and the checker has allowed for what was accepted in that time.
      const calm = ratios.filter((_, i) => workers.isCalm(first + i, DURATION_MS));
      for (const ratio of calm) expect(ratio).toBeLessThanOrEqual(1.05);
      expect(Math.max(...ratios)).toBeGreaterThan(0.5);
    });

    /** Each for some rounds, one region or all, as a network would: the history says when. */
    async function troubles(proxies: readonly TcpFaultProxy[], workers: Workers): Promise<readonly HistoryLine[]> {
      const lines: HistoryLine[] = [];
      const tell = (fault: FaultKind, isOn: boolean) =>
        lines.push({
          atMs: workers.nowMs(),
          process: "world",
          event: { kind: "fault", fault, target: "global", isOn },
        });
      const rounds = async (count: number) => {
        const untilMs = workers.nowMs() + count * ROUND_MS;
        await poll("some rounds", () => workers.nowMs() > untilMs, 100_000);
      };
      tell("global-slow", true);
      for (const proxy of proxies) proxy.delayMs = ROUND_MS;
      await rounds(5);
      for (const proxy of proxies) proxy.delayMs = 0;
      tell("global-slow", false);
      tell("global-away", true);
      proxies[0]!.isBlackhole = true;
      await rounds(5);
      proxies[0]!.isBlackhole = false;
      for (const proxy of proxies) proxy.reset();
      proxies[1]!.isRefusing = true;
      await rounds(3);
      for (const proxy of proxies) proxy.cut();
      proxies[1]!.isRefusing = false;
      await rounds(3);
      tell("global-away", false);
      return lines;
    }
  },
);
