/**
 * The global counters on real databases: the conformance suite, the suites of the global layer, and whether
 * all stores tell the same identifiers apart.
 */
import { type Counters, memoryCounters, memoryOrigin, type Origin } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeKey, type Key } from "../../packages/sluice/src/engine/key.ts";
import { countersConformance, readWhole } from "../../packages/sluice/src/global/counters-conformance.ts";
import { denialsSuite } from "../protocol/denials-suite.ts";
import { globalCountsSuite } from "../protocol/global-counts-suite.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { OVERLAP_MS, SQL_NAMES, type SqlStoreRig, startSql } from "../rig/sql-stores.ts";
import { oddIdentifiers } from "../support/odd-identifiers.ts";
import { Processes } from "../support/processes.ts";

const isDeep = process.env["CI"] === "true";
const rigs = new Map<string, SqlStoreRig>();

beforeAll(async () => {
  for (const name of SQL_NAMES) rigs.set(name, await startSql(name));
});

afterAll(async () => {
  for (const rig of rigs.values()) await rig.stop();
});

const elapse = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** Each run makes tables of its own. */
const propertyRuns = isDeep ? 15 : 2;

for (const store of SQL_NAMES) {
  const setUp = async () => {
    const counters = rigs.get(store)!.counters();
    return { counters, nowMs: () => Date.now(), elapse, overlapMs: OVERLAP_MS };
  };
  countersConformance(store, setUp, { propertyRuns });
  // What differs between the databases is in the conformance suite: the specs run on all of them with CI=true.
  if (store !== "sqlite" && !isDeep) continue;
  const makeProcesses = () => new Processes({ makeCounters: () => rigs.get(store)!.counters() });
  denialsSuite({ store, makeProcesses });
  globalCountsSuite({ store, makeProcesses, propertyRuns });
}

describe("stores", () => {
  const seed = Number(process.env["SLUICE_SEED"] ?? 20_260);
  const count = isDeep ? 100_000 : 2_000;

  /** How many cells one call speaks of, as in the layers. */
  const CELLS = 1_000;

  function keysOf(identifiers: readonly string[]): readonly Key[] {
    return identifiers.map((identifier) => ({
      workspace: "w",
      namespace: "n",
      identifier,
      durationMs: 60_000 as Key["durationMs"],
    }));
  }

  /** What a store makes of these keys, each counted with its place: identifier by identifier. */
  async function viaCounters(counters: Counters, keys: readonly Key[]): Promise<Map<string, number>> {
    const expiresAtMs = Date.now() + 3_600_000;
    for (let at = 0; at < keys.length; at += CELLS) {
      const rows = keys.slice(at, at + CELLS).map((key, i) => ({ key, sequence: 7, count: at + i + 1, expiresAtMs }));
      await counters.publish("eu", rows);
    }
    const { cells } = await readWhole(counters, "us", null);
    return new Map(cells.map(({ key, foreign }) => [encodeKey(key), foreign]));
  }

  async function viaOrigin(origin: Origin, keys: readonly Key[]): Promise<Map<string, number>> {
    const expiresAtMs = Date.now() + 3_600_000;
    const cells = keys.map((key, i) => ({ key: encodeKey(key), sequence: 7, writer: "w", total: i + 1, expiresAtMs }));
    const found = new Map<string, number>();
    for (let at = 0; at < cells.length; at += CELLS) await origin.raise(cells.slice(at, at + CELLS));
    for (let at = 0; at < cells.length; at += CELLS) {
      const some = cells.slice(at, at + CELLS);
      const counts = await origin.read(some);
      some.forEach(({ key }, i) => {
        found.set(key, counts[i]!.sum);
      });
    }
    return found;
  }

  /** The keys on which a store differs from what was counted. */
  function differences(keys: readonly Key[], found: ReadonlyMap<string, number>): readonly string[] {
    const wrong = keys.flatMap((key, i) => (found.get(encodeKey(key)) === i + 1 ? [] : [key.identifier]));
    return [...wrong, ...(found.size === keys.length ? [] : [`${found.size} cells for ${keys.length} keys`])];
  }

  test(`memory, Redis and the three databases agree on odd identifiers (SLUICE_SEED=${seed})`, {
    timeout: 180_000,
  }, async () => {
    const keys = keysOf(oddIdentifiers(seed, count));
    const clock = { wallMs: () => Date.now() };
    expect(differences(keys, await viaCounters(memoryCounters({ clock }), keys))).toEqual([]);
    expect(differences(keys, await viaOrigin(memoryOrigin({ clock }), keys))).toEqual([]);
    const redis = await RedisServer.start();
    const origin = redisOrigin({ url: redis.url });
    await poll("connected", () => origin.health?.().isConnected);
    expect(differences(keys, await viaOrigin(origin, keys))).toEqual([]);
    await origin.close();
    await redis.stop();
    for (const rig of rigs.values()) {
      expect([rig.dialect.name, ...differences(keys, await viaCounters(rig.counters(), keys))]).toEqual([
        rig.dialect.name,
      ]);
    }
  });
});
