/**
 * Every known attack at once (test/attacks), while an honest tenant sends its requests by a schedule. The honest tenant's answers are all
 * right, and as fast as without the attack; the server keeps within the memory that docs/operating.md states, answers its probes, and
 * stops cleanly while the attack goes on.
 *
 * In `npm test` for some seconds, where times are not judged; with CI=true for less than a minute; in the lab (`server-attack`) for ten
 * minutes. Servers and attackers are on loopback.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { type LoadResult, LoadTally } from "../../packages/server/src/tools/load/load-result.ts";
import { OpenLoop } from "../../packages/server/src/tools/load/open-loop.ts";
import { makeCertificate } from "../rig/certificate.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { byLength, figure } from "../rig/length.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer, sluice, type Variables } from "../rig/sluice-server.ts";
import { starvedMs } from "../rig/starvation.ts";
import { Attacker, type AttackReport } from "./attacker.ts";
import { memoryMaxMib, type Sizes } from "./sizing.ts";

interface Plan {
  readonly calmMs: number;
  readonly attackMs: number;
  readonly rate: number;
  /** With MariaDB, a second server with workers and TLS, and judged times. */
  readonly isWhole: boolean;
}

const PLAN: Plan = byLength({
  short: { calmMs: 500, attackMs: 2_000, rate: 200, isWhole: false },
  ci: { calmMs: 5_000, attackMs: 20_000, rate: 1_000, isWhole: true },
  lab: { calmMs: 60_000, attackMs: 600_000, rate: 1_000, isWhole: true },
});
const CELLS = 200_000;
/** Caps that the attack reaches, so that the sum of docs/operating.md is not far above what the server takes; the others are defaults. */
const NAMESPACES_MAX = 2_000;
const OVERRIDES_MAX = 2_000;
const STARS_MAX = 20_000;
const ROWS_MAX = 50_000;
const SIZES: Sizes = {
  cells: CELLS,
  "hitters.namespaces": 64,
  namespacesMax: NAMESPACES_MAX,
  "overrides.workspaceMax": OVERRIDES_MAX,
  "overrides.workspaceStarsMax": STARS_MAX,
  workspaceRowsMax: ROWS_MAX,
};
/** One hostile workspace fills its caps. */
const MEMORY_MAX_MIB = memoryMaxMib(SIZES, 1);
/** docs/operating.md, Sizing servers: 150 MiB, and 960 bytes for each of `cells`. */
const PARENT_MAX_MIB = 150 + (960 * CELLS) / 2 ** 20;
/** Twice what the honest tenant needs; what the hostile one may use of the processor. */
const QUOTA_PER_SECOND = 2_000;
const P99_MAX_MS = 50;
const P99_RATIO_MAX = 3;
/**
 * The time that the server and the generator were without a processor, in parts of the time that the attack took. On two cores the attack
 * itself makes it 0.2. From twice that on, a latency says more of the machine than of the server; the lab runs alone, and judges always.
 */
const STARVED_MAX = byLength({ short: 0, ci: 0.4, lab: Number.POSITIVE_INFINITY });
const PROBE_WITHIN_MS = 5_000;
/** The directory of keys is read every second. */
const REVOKED_WITHIN_MS = 2_000;
const STOP = ["--shutdown-timeout", PLAN.isWhole ? "8s" : "2s"];
const ARGS = [
  ...STOP,
  "--cells",
  String(CELLS),
  "--namespaces-max",
  String(NAMESPACES_MAX),
  "--overrides-workspace-max",
  String(OVERRIDES_MAX),
  "--overrides-workspace-stars-max",
  String(STARS_MAX),
  "--workspace-rows-max",
  String(ROWS_MAX),
  "--quota-limit",
  String(10 * QUOTA_PER_SECOND),
  "--quota-duration",
  "10s",
];

let folder = "";
let redis: RedisServer;
let mariadb: MariadbServer | undefined;
let server: SluiceServer;
let attacker: Attacker | undefined;
let honestKey = "";
let hostileKey = "";

/** What a command prints as JSON. */
async function json<T>(environment: Variables, ...args: string[]): Promise<T> {
  const { code, out, err } = await sluice([...args, "--json", "--data", join(folder, "data")], environment);
  if (code !== 0) throw new Error(`sluice ${args.join(" ")}: ${err}`);
  return JSON.parse(out) as T;
}

async function keyOf(
  environment: Variables,
  workspace: string,
): Promise<{ readonly id: string; readonly key: string }> {
  return json(environment, "keys", "create", "--workspace", workspace, "--permissions", "*");
}

const environmentOf = (): Variables => ({
  SLUICE_REDIS_URL: redis.url,
  ...(mariadb === undefined ? {} : { SLUICE_SQL_URL: mariadb.url() }),
});

beforeAll(async () => {
  folder = temporaryFolder();
  [redis, mariadb] = await Promise.all([RedisServer.start(), PLAN.isWhole ? MariadbServer.start() : undefined]);
  server = await SluiceServer.start(folder, { args: ARGS, environment: environmentOf() });
  const stores = mariadb === undefined ? {} : { SLUICE_SQL_URL: mariadb.url() };
  for (const workspace of ["honest", "hostile"]) await json(stores, "workspaces", "create", workspace);
  honestKey = (await keyOf(stores, "honest")).key;
  hostileKey = (await keyOf(stores, "hostile")).key;
  for (const key of [honestKey, hostileKey]) {
    await poll("the server knows the key", async () => (await server.post("listNamespaces", {}, key)).status === 200);
  }
  await server.post("createNamespace", { name: "api" }, honestKey);
  for (const name of ["long", "rows", "patterns", "audit", "queued"])
    await server.post("createNamespace", { name }, hostileKey);
}, 60_000);

afterAll(async () => {
  await attacker?.stop();
  await server.stop("SIGKILL");
  await Promise.all([redis.stop(), mariadb?.stop()]);
  removeFolder(folder);
});

const bodyOf = (index: number, cost = 1) =>
  `{"namespace":"api","identifier":"user_${index % 1_000}","limit":1000000,"duration":60000,"cost":${cost}}`;

/** The honest tenant's requests, by a schedule, on connections that are opened now. */
async function honest(durationMs: number): Promise<LoadResult> {
  const tally = new LoadTally();
  const url = new URL(server.url);
  const loop = new OpenLoop(
    {
      url,
      key: honestKey,
      rate: PLAN.rate,
      durationMs,
      connections: 64,
      timeoutMs: 15_000,
      openingBody: bodyOf(0, 0),
      bodyOf: (index) => bodyOf(index),
      sink: tally,
    },
    SYSTEM,
  );
  await loop.open();
  return tally.result(await loop.run());
}

/** Answers that are wrong: none of these requests is near its limit. */
function wrongOf({ due, allowed, denied, httpErrors, connectionErrors, unsent }: LoadResult) {
  return { missing: due - allowed, denied, httpErrors, connectionErrors, unsent };
}
const NONE_WRONG = { missing: 0, denied: 0, httpErrors: {}, connectionErrors: {}, unsent: 0 };

/** The most memory that a process has ever had. */
function peakMib(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

/** Asks for /health once a second until it is stopped; resolves with the probes that were not answered in time. */
function probe(opsUrl: string): { stop(): Promise<number> } {
  let failed = 0;
  let isStopped = false;
  const running = (async () => {
    while (!isStopped) {
      const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
      const answer = await fetch(`${opsUrl}/health`, { signal, headers: { connection: "close" } }).catch(() => null);
      if (answer?.status !== 200) failed++;
      await answer?.arrayBuffer();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await running;
      return failed;
    },
  };
}

const attack = (target: SluiceServer, key: string, only: readonly string[] = []) => {
  const { port, protocol } = new URL(target.url);
  const opsPort = Number(new URL(target.opsUrl).port);
  return new Attacker({ isTls: protocol === "https:", port: Number(port), opsPort, key }, only);
};

const shown = (report: AttackReport) =>
  Object.entries(report)
    .map(([name, outcomes]) => `${name}: ${JSON.stringify(outcomes)}`)
    .join("\n");

describe("a server under every attack at once", () => {
  let calm: LoadResult;
  let attacked: LoadResult;
  let starved = 0;

  test("without the attack, every honest request is allowed", async () => {
    calm = await honest(PLAN.calmMs);
    expect(wrongOf(calm)).toEqual(NONE_WRONG);
  }, 120_000);

  test("during the attack, every honest request is allowed, and probes are answered", async () => {
    attacker = attack(server, hostileKey);
    const probes = probe(server.opsUrl);
    const pid = server.child.pid!;
    const waited = () => starvedMs(pid) + starvedMs("thread-self");
    const before = waited();
    attacked = await honest(PLAN.attackMs);
    starved = (waited() - before) / attacked.elapsedMs;
    expect([wrongOf(attacked), await probes.stop()]).toEqual([NONE_WRONG, 0]);
  }, 900_000);

  const testWhole = (name: string, work: () => Promise<void>, timeoutMs: number) => {
    if (PLAN.isWhole) test(name, work, timeoutMs);
  };

  testWhole(
    "a revoked key of the attacker is refused",
    async () => {
      const stores = mariadb === undefined ? {} : { SLUICE_SQL_URL: mariadb.url() };
      const { id, key } = await keyOf(stores, "hostile");
      await poll("the key works", async () => (await server.post("listNamespaces", {}, key)).status !== 401);
      await json(stores, "keys", "revoke", id);
      const revokedMs = performance.now();
      await poll("the key is refused", async () => (await server.post("listNamespaces", {}, key)).status === 401);
      const tookMs = performance.now() - revokedMs;
      figure(`server-attack: a revoked key is refused after ${tookMs.toFixed(0)} ms`);
      if (starved < STARVED_MAX) expect(tookMs).toBeLessThan(REVOKED_WITHIN_MS);
    },
    60_000,
  );

  test("memory is within what docs/operating.md states", () => {
    const peak = peakMib(server.child.pid!);
    figure(`server-attack: ${peak.toFixed(0)} MiB at most, ${MEMORY_MAX_MIB.toFixed(0)} are documented`);
    expect(peak).toBeLessThan(MEMORY_MAX_MIB);
  });

  test("the server stops cleanly while the attack goes on", async () => {
    const { code } = await server.stop();
    const report = await attacker!.stop();
    attacker = undefined;
    console.log(shown(report));
    // Requests of the attacker that have not arrived whole are cut, and reported: that is code 4. No count may be lost.
    const [stopped] = server.log("stopped");
    expect([code === 0 || code === 4, stopped]).toMatchObject([true, { lost: 0, silent: 0 }]);
    for (const [name, outcomes] of Object.entries(report))
      expect([name, Object.keys(outcomes)]).not.toEqual([name, []]);
  }, 60_000);

  if (PLAN.isWhole) {
    test("the honest tenant's 99th percentile is at most 50 ms, or three times that without the attack", () => {
      const [before, during] = [calm.latencyMs.corrected.p99, attacked.latencyMs.corrected.p99];
      const share = `${(100 * starved).toFixed(1)} % of the time without a processor`;
      figure(`server-attack: p99 ${before.toFixed(1)} ms calm, ${during.toFixed(1)} ms attacked, ${share}`);
      if (starved < STARVED_MAX) expect(during).toBeLessThanOrEqual(Math.max(P99_MAX_MS, P99_RATIO_MAX * before));
    });

    test("workers with TLS: connections without a handshake are closed, and the parent's memory is bounded", async () => {
      const { certFile, keyFile } = makeCertificate();
      const other = temporaryFolder();
      const args = [...ARGS, "--workers", "2", "--tls-cert-file", certFile, "--tls-key-file", keyFile];
      const workers = await SluiceServer.start(other, { args });
      const attacking = attack(workers, workers.key, ["idle connections", "long identifiers", "rows for a month"]);
      const probes = probe(workers.opsUrl);
      await new Promise((resolve) => setTimeout(resolve, byLength({ short: 0, ci: 13_000, lab: 60_000 })));
      expect(await probes.stop()).toBe(0);
      const peak = peakMib(workers.child.pid!);
      figure(`server-attack: the parent of two workers took ${peak.toFixed(0)} MiB at most`);
      expect(peak).toBeLessThan(PARENT_MAX_MIB);
      const { code } = await workers.stop();
      const report = await attacking.stop();
      expect(code).toBe(0);
      expect(report["idle connections"]!["ended"]).toBeGreaterThan(0);
      removeFolder(other);
    }, 120_000);
  }
});
