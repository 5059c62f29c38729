/**
 * Databases in trouble: killed, frozen, emptied, and written to by many at once. The limiters are real, on the real clock; what
 * they decide must not notice, and what they counted must arrive in the end.
 */
import { type Counters, Limiter, memoryOrigin, type Origin } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { postgresCounters } from "sluice/postgres";
import { sqliteCounters } from "sluice/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readWhole } from "../../packages/sluice/src/global/counters-conformance.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { byLength, figure } from "../rig/length.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { PostgresServer } from "../rig/postgres-server.ts";
import { watched } from "../rig/starvation.ts";

const isDeep = process.env["CI"] === "true";
const folder = temporaryFolder();
const open: { close(): Promise<unknown> }[] = [];
let mariadb: MariadbServer;
/** With CI=true only: the machinery is the same. */
let postgres: PostgresServer | undefined;
let prefixes = 0;

beforeAll(async () => {
  mariadb = await MariadbServer.start();
  if (isDeep) postgres = await PostgresServer.start();
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

afterAll(async () => {
  await mariadb.stop();
  await postgres?.stop();
  removeFolder(folder);
});

interface Kind {
  readonly name: string;
  readonly server: () => MariadbServer | PostgresServer;
  readonly counters: (tablePrefix: string, more?: typeof FROZEN) => Counters;
}

/** A frozen server is given up after this, whether or not a connection to it was open. */
const FROZEN = { statementTimeoutMs: 400, connectTimeoutMs: 400 };

const ALL: readonly Kind[] = [
  {
    name: "mariadb",
    server: () => mariadb,
    counters: (tablePrefix, more) => mysqlCounters({ url: mariadb.url(), tablePrefix, ...more }),
  },
  {
    name: "postgres",
    server: () => postgres!,
    counters: (tablePrefix, more) => postgresCounters({ url: postgres!.url(), tablePrefix, ...more }),
  },
];
const SERVERS = ALL.slice(0, isDeep ? ALL.length : 1);

const request = (cost: number) => ({
  namespace: "api",
  identifier: "a",
  limit: 1_000_000,
  duration: "1h" as const,
  cost,
});

/** What a call to an origin in memory takes in calm, at most. */
const CALM_MS = 50;
/** A read that failed is not tried again for 300 ms, and a breaker that it opened stays open for 1 s. */
const HEAL_MS = 1_300;
/** When a call to an origin last ended late because this process had no processor. */
let starvedAtMs = Number.NEGATIVE_INFINITY;

function watchedOrigin(): Origin {
  const origin = memoryOrigin();
  const onStarved = () => {
    starvedAtMs = performance.now();
  };
  return {
    isVolatile: true,
    raise: (raises) => watched(() => origin.raise(raises), 0, CALM_MS, onStarved),
    read: (reads) => watched(() => origin.read(reads), 0, CALM_MS, onStarved),
    close: () => origin.close(),
  };
}

/** The database must not degrade an answer. Only a read of the origin that waited for a processor may. */
async function expectSure(limiter: Limiter, cost: number): Promise<void> {
  const { success, degraded } = await limiter.limit(request(cost));
  expect(success).toBe(true);
  if (degraded) expect(performance.now() - starvedAtMs).toBeLessThan(HEAL_MS);
}

/** Two regions that share a database, each with an origin. Both have imported. */
async function setUp({ counters }: Kind) {
  const tablePrefix = `f${prefixes++}_`;
  const [eu, us] = ["eu", "us"].map((region) => {
    const global = counters(tablePrefix, FROZEN);
    const options = { floor: 0, publishMs: 100, importMs: 100, closeTimeoutMs: 500 };
    const limiter = new Limiter({ region, origin: watchedOrigin(), global, ...options });
    open.push(limiter);
    return limiter;
  }) as [Limiter, Limiter];
  await poll("both have imported", async () => (await eu.ready()) && (await us.ready()));
  const foreign = (limiter: Limiter) => limiter.inspect(request(0)).current.foreign;
  return { tablePrefix, eu, us, foreign };
}

describe.each(SERVERS)("$name in trouble", (kind) => {
  test("killed and started again: both regions decide on, and everything is published after the return", async () => {
    const { eu, us, foreign } = await setUp(kind);
    await eu.limit(request(5));
    await poll("imported", () => foreign(us) === 5);
    await kind.server().process.kill();
    await expectSure(eu, 3);
    await poll("noticed", () => (eu.stats().global?.publishesFailed ?? 0) > 0);
    await expectSure(us, 1);
    await kind.server().process.begin();
    await poll("republished", () => foreign(us) === 8 && foreign(eu) === 1);
    expect(eu.stats().global!.store!.failures["connection"]).toBeGreaterThan(0);
  });

  test("frozen: statements are given up in time, no request waits, and it goes on where it was after the thaw", async () => {
    const { eu, us, foreign } = await setUp(kind);
    await eu.limit(request(5));
    await poll("imported", () => foreign(us) === 5);
    await kind.server().process.freeze();
    try {
      await poll("given up", async () => {
        await expectSure(eu, 1);
        return (eu.stats().global!.store!.failures["timeout"] ?? 0) >= 2;
      });
    } finally {
      await kind.server().process.thaw();
    }
    await poll("caught up", () => foreign(us) > 5 && foreign(us) === eu.inspect(request(0)).current.own);
  });

  test("its table emptied under load: what the regions hold is published again", async () => {
    const { eu, us, foreign, tablePrefix } = await setUp(kind);
    await eu.limit(request(5));
    await poll("imported", () => foreign(us) === 5);
    const late = setUpLate(kind, tablePrefix);
    await kind.server().ask(`DELETE FROM ${tablePrefix}counters`);
    await poll("told again", () => late.inspect(request(0)).current.foreign === 5);
  });

  function setUpLate({ counters }: Kind, tablePrefix: string): Limiter {
    const limiter = new Limiter({
      region: "late",
      global: counters(tablePrefix, FROZEN),
      importMs: 100,
    });
    open.push(limiter);
    return limiter;
  }
});

describe.each(SERVERS)("$name and the publish floor", (kind) => {
  const LIMIT = 1_000;
  /** The default error budget: what regions may keep to themselves, all together, in parts of a limit. */
  const BUDGET = 0.02;
  const REGIONS = ["eu", "us", "ap"];

  test("three regions each just under it: nothing is told, and all that is admitted stays within the error budget", async () => {
    const tablePrefix = `f${prefixes++}_`;
    const regions = REGIONS.map((region) => {
      const limiter = new Limiter({ region, global: kind.counters(tablePrefix), publishMs: 100, importMs: 100 });
      open.push(limiter);
      return limiter;
    });
    const one = { namespace: "api", identifier: "a", limit: LIMIT, duration: "1h" as const };
    const admitted = () => regions.reduce((sum, limiter) => sum + limiter.inspect(one).current.own, 0);
    const ask = async (limiter: Limiter, times: number) => {
      for (let i = 0; i < times; i++) await limiter.limit(one);
    };
    await poll("all heard of each other", () => regions.every((limiter) => limiter.stats().global?.regionsLive === 3));
    const floor = regions[0]!.stats().global!.floor;
    expect(floor).toBe(BUDGET / 4);
    const under = Math.ceil(floor * LIMIT) - 1;
    for (const limiter of regions) await ask(limiter, under);
    // Each has looked at its keys since: what says so is that it was heard again, by the round after that.
    const statements = () => regions.map((limiter) => limiter.stats().global!.store!.statements);
    const before = statements();
    await poll("rounds went by", () => statements().every((count, i) => count > before[i]! + 4));
    expect(await kind.server().ask(`SELECT * FROM ${tablePrefix}counters`)).toEqual([]);
    // Now they ask for an eighth in turn, until nothing is left; the others know each time what was taken.
    for (let turn = 0; turn < 12; turn++) {
      const limiter = regions[turn % regions.length]!;
      await ask(limiter, LIMIT / 8);
      const isHeard = (other: Limiter) => {
        const { own, foreign } = other.inspect(one).current;
        return own + foreign === admitted();
      };
      await poll("heard", () => regions.every(isHeard));
    }
    for (const limiter of regions) await ask(limiter, LIMIT / 8);
    expect(admitted()).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted()).toBeLessThanOrEqual((1 + BUDGET) * LIMIT);
  });
});

describe.each([
  ...SERVERS,
  { name: "sqlite", counters: (tablePrefix: string) => sqliteCounters({ path: `${folder}/many.db`, tablePrefix }) },
])("$name under many writers", ({ name, counters }) => {
  const WRITERS = 6;
  /** A minute, as the promise says, in the lab. */
  const forMs = byLength({ short: 2_000, ci: 6_000, lab: name === "mariadb" ? 60_000 : 15_000 });

  test(`${WRITERS} that write the same cells beside a cleanup: nothing is given up or told as a failure, nothing is lost`, {
    timeout: forMs + 30_000,
  }, async () => {
    const tablePrefix = `${name.slice(0, 2)}many_`;
    const stores = Array.from({ length: WRITERS }, () => counters(tablePrefix));
    open.push(...stores);
    const keys = Array.from({ length: 200 }, (_, i) => ({
      workspace: "w",
      namespace: "n",
      identifier: `k${i}`,
      durationMs: 60_000 as never,
    }));
    const endMs = performance.now() + forMs;
    let deleted = 0;
    let rounds = 0;
    /** What each region has told last, by either of its writers. */
    const told = [0, 0, 0];
    const write = async (store: Counters, writer: number) => {
      for (let count = 1; performance.now() < endMs || count < 4; count++) {
        const expiresAtMs = Date.now() + 3_600_000;
        // Two writers a region, as two processes have it; and rows that expire at once, for the cleanup to find.
        const rows = keys.map((key) => ({ key, sequence: 7, count, expiresAtMs }));
        const short = keys.map((key) => ({ key, sequence: 1_000 * writer + count, count, expiresAtMs: Date.now() }));
        await store.publish(`region${writer >> 1}`, [...rows, ...short]);
        told[writer >> 1] = Math.max(told[writer >> 1]!, count);
        const gone = await store.cleanUp(Date.now(), 500);
        deleted += gone;
        rounds++;
      }
      return store;
    };
    await Promise.all(stores.map(write));
    const { cells } = await readWhole(stores[0]!, "elsewhere", null);
    const total = told.reduce((sum, count) => sum + count, 0);
    expect(cells.map(({ foreign }) => foreign)).toEqual(keys.map(() => total));
    expect(rounds).toBeGreaterThanOrEqual(3 * WRITERS);
    expect(deleted).toBeGreaterThan(0);
    const health = stores.map((store) => store.health!());
    // Statements may have met: what counts is that none was given up, and that none is told as a failure.
    expect(health.map(({ failures }) => failures)).toEqual(stores.map(() => ({})));
    const retries = health.reduce((sum, one) => sum + one.retries, 0);
    figure(
      `${name}: ${rounds} rounds of ${WRITERS} writers, ${deleted} rows deleted, ${retries} statements sent again`,
    );
  });
});
