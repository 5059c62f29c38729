/** One endurance run: a built `sluice serve` with a real Redis and MariaDB, asked at a rate while the stores are troubled in turn. */

import { SYSTEM } from "../../../packages/server/src/system/system.ts";
import { Latencies, type Percentiles } from "../../../packages/server/src/tools/load/latencies.ts";
import type { LoadResult } from "../../../packages/server/src/tools/load/load-result.ts";
import { LoadTally } from "../../../packages/server/src/tools/load/load-result.ts";
import { OpenLoop } from "../../../packages/server/src/tools/load/open-loop.ts";
import { removeFolder, temporaryFolder } from "../../../test/rig/child-processes.ts";
import { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { poll } from "../../../test/rig/poll.ts";
import { RedisServer } from "../../../test/rig/redis-server.ts";
import { SluiceServer } from "../../../test/rig/sluice-server.ts";
import { TcpFaultProxy } from "../../../test/rig/tcp-fault-proxy.ts";
import { Demand } from "./demand.ts";
import { CALM, FAULTS, FaultTurns, type Stores } from "./faults.ts";
import { type Sample, sample } from "./samples.ts";

export interface EnduranceOptions {
  readonly minutes: number;
  readonly rate: number;
  /** From the begin of one fault to that of the next. */
  readonly everyMs: number;
  readonly log: (line: string) => void;
  /** Ends it early, with what it has. */
  readonly stop: AbortSignal;
}

export interface Phase {
  readonly name: string;
  readonly answered: number;
  readonly corrected: Percentiles;
  readonly service: Percentiles;
}

export interface Endurance {
  readonly load: LoadResult;
  readonly faults: number;
  readonly faultsFailed: number;
  readonly phases: readonly Phase[];
  readonly samples: readonly Sample[];
  readonly falseDenials: number;
  readonly excess: number;
  /** What the server says it allowed and denied. */
  readonly counted: { readonly allowed: number; readonly denied: number; readonly degraded: number };
  /** What the client heard. */
  readonly heard: { readonly allowed: number; readonly denied: number };
  readonly exitCode: number | null;
}

const KEY = "a-root-key-for-endurance-runs";
/**
 * Enough that a request waits for the server and not for a connection: while Redis is slow, some 800 requests a second (newcomers, and
 * allows after a denial) wait 200 to 300 ms for a read each, so up to 240 are open at once. With 64 the rest would queue here for seconds.
 */
const CONNECTIONS = 512;
const TIMEOUT_MS = 10_000;
const SAMPLE_EVERY_MS = 10_000;
const READY_WITHIN_MS = 60_000;

export async function endure(options: EnduranceOptions): Promise<Endurance> {
  const stores = await startStores();
  const folder = temporaryFolder();
  const environment = {
    SLUICE_ROOT_KEY: KEY,
    SLUICE_REDIS_URL: `redis://127.0.0.1:${stores.redisProxy.port}`,
    SLUICE_SQL_URL: stores.mariadb.url(stores.mariadbProxy.port),
    SLUICE_REGION: "endurance",
  };
  const server = await SluiceServer.start(folder, { environment });
  try {
    return await measure(server, stores, options);
  } finally {
    await server.stop("SIGKILL");
    await Promise.all([stores.redisProxy.stop(), stores.mariadbProxy.stop()]);
    await Promise.all([stores.redis.stop(), stores.mariadb.stop()]);
    removeFolder(folder);
  }
}

async function startStores(): Promise<Stores> {
  const [redis, mariadb] = await Promise.all([RedisServer.start(), MariadbServer.start()]);
  const redisProxy = await TcpFaultProxy.start(redis.port);
  return { redis, mariadb, redisProxy, mariadbProxy: await TcpFaultProxy.start(mariadb.process.port) };
}

async function measure(server: SluiceServer, stores: Stores, options: EnduranceOptions): Promise<Endurance> {
  // Makes the namespace, which needs the database: on a busy machine the server may listen before it knows the key.
  const first = { namespace: "endurance", identifier: "first", limit: 1, duration: 60_000, cost: 0 };
  await poll("the namespace", async () => (await server.post("limit", first)).status === 200, READY_WITHIN_MS);

  const tally = new LoadTally();
  const demand = new Demand();
  const turns = new FaultTurns(stores, options.everyMs, options.log);
  const phases = new Map([CALM, ...FAULTS.map(({ name }) => name)].map((name) => [name, new PhaseTimes(name)]));
  const loop = new OpenLoop(
    {
      url: new URL(server.url),
      key: KEY,
      rate: options.rate,
      durationMs: options.minutes * 60_000,
      connections: CONNECTIONS,
      timeoutMs: TIMEOUT_MS,
      openingBody: JSON.stringify(first),
      bodyOf: (index) => demand.bodyOf(index),
      sink: {
        answered: (request, endedMs, answer) => {
          tally.answered(request, endedMs, answer);
          demand.answered(request.index, answer);
          phases.get(turns.phase)!.record(endedMs - request.dueMs, endedMs - request.sentMs);
        },
        failed: (request, endedMs, code) => {
          tally.failed(request, endedMs, code);
          demand.failed(request.index);
        },
      },
    },
    SYSTEM,
  );
  await loop.open();
  const before = await server.metrics();
  options.stop.addEventListener("abort", () => loop.stop());

  const samples: Sample[] = [];
  const beganMs = performance.now();
  const sampleOnce = async () => {
    const one = await sample(server, (performance.now() - beganMs) / 60_000);
    samples.push(one);
    options.log(lineOf(one, tally, demand, turns));
  };
  const sampling = setInterval(() => {
    sampleOnce().catch((error: unknown) => options.log(`no sample: ${String(error)}`));
  }, SAMPLE_EVERY_MS);
  turns.begin();
  const load = tally.result(await loop.run());
  clearInterval(sampling);
  await turns.stop();

  const after = await server.metrics();
  const risen = (name: string, labels?: Readonly<Record<string, string>>) =>
    (after.sum(name, labels) ?? 0) - (before.sum(name, labels) ?? 0);
  const { code } = await server.stop();
  return {
    load,
    faults: turns.struck,
    faultsFailed: turns.failed,
    phases: [...phases.values()].map((phase) => phase.read()),
    samples,
    falseDenials: demand.falseDenials,
    excess: demand.excess,
    counted: {
      allowed: risen("sluice_decisions_total", { outcome: "allowed" }),
      denied: risen("sluice_decisions_total", { outcome: "denied" }),
      degraded: risen("sluice_decisions_degraded_total"),
    },
    heard: { allowed: demand.allowed, denied: demand.denied },
    exitCode: code,
  };
}

class PhaseTimes {
  readonly #name: string;
  readonly #corrected = new Latencies();
  readonly #service = new Latencies();

  constructor(name: string) {
    this.#name = name;
  }

  record(correctedMs: number, serviceMs: number): void {
    this.#corrected.record(correctedMs);
    this.#service.record(serviceMs);
  }

  read(): Phase {
    const { count } = this.#corrected;
    return { name: this.#name, answered: count, corrected: this.#corrected.read(), service: this.#service.read() };
  }
}

function lineOf(one: Sample, tally: LoadTally, { falseDenials, excess }: Demand, { phase }: FaultTurns): string {
  const { p99 } = tally.corrected;
  return [
    `${one.minute.toFixed(1)} min`,
    `${tally.answers} answered`,
    `${tally.errors} errors`,
    `${falseDenials} false denials`,
    `${excess} excess`,
    `p99 ${p99.toFixed(1)} ms`,
    `RSS ${one.rssMib.toFixed(0)} MiB`,
    `heap ${one.heapMib.toFixed(0)} MiB`,
    `${one.fds} fds`,
    `${one.cells} cells, ${one.dirtyCells} dirty`,
    phase,
  ].join(", ");
}
