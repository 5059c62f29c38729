/**
 * What `/metrics` tells is what happened: three servers of two regions, one of them with two workers, on a real Redis each and one
 * MariaDB, which are flushed, killed, frozen and brought back under load. The clients count every answer they get; at the end each
 * server's numbers are theirs, and what Redis holds is what was accepted.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeriesTable } from "../../packages/server/src/tools/top/series.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { type Answer, SluiceServer } from "../rig/sluice-server.ts";
import { storedTotal } from "../rig/stored-cells.ts";
import { SeededRandom } from "../support/seeded-random.ts";

/** So long that no window ends during a test. */
const DURATION = 30 * 86_400_000;
const LOOPS = 3;
/** Reached within the run by some, never by others. */
const LIMITS = [50, 400, 1_000_000];
const SOON_MS = 30_000;

type Series = Map<string, number>;

/** What the clients of one server counted, by the names and labels of the metrics that should tell the same. */
class Counted {
  readonly series: Series = new Map();
  accepted = 0;

  add(name: string, labels: Record<string, string>): void {
    const key = keyOf(name, labels);
    this.series.set(key, (this.series.get(key) ?? 0) + 1);
  }

  request(operation: string, status: number): void {
    this.add("sluice_http_requests_total", { operation: `ratelimit.${operation}`, status: String(status) });
  }

  check(namespace: string, verdict: "allowed" | "denied" | "shadowed", reason: string): void {
    const outcome = verdict === "allowed" ? "allowed" : "denied";
    this.add("sluice_decisions_total", { outcome, reason });
    this.add("sluice_namespace_decisions_total", { workspace: "default", namespace, outcome: verdict });
  }
}

const keyOf = (name: string, labels: Readonly<Record<string, string>>) =>
  `${name} ${JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))}`;

interface Member {
  readonly server: SluiceServer;
  readonly redis: RedisServer;
  readonly counted: Counted;
}

let folder = "";
let mariadb: MariadbServer;
const stores: RedisServer[] = [];
const members: Member[] = [];

beforeAll(async () => {
  folder = temporaryFolder();
  const [sql, ...redis] = await Promise.all([MariadbServer.start(), RedisServer.start(), RedisServer.start()]);
  mariadb = sql;
  stores.push(...redis);
  for (const [region, args] of [
    [0, []],
    [0, []],
    [1, ["--workers", "2"]],
  ] as const) {
    const redis = stores[region]!;
    const environment = {
      SLUICE_SQL_URL: mariadb.url(),
      SLUICE_REDIS_URL: redis.url,
      SLUICE_REGION: `region-${region}`,
      SLUICE_ROOT_KEY: "a-root-key-for-tests",
    };
    members.push({ server: SluiceServer.begin(folder, { args, environment }), redis, counted: new Counted() });
  }
  await Promise.all(members.map(({ server }) => server.greeted()));
  const [{ server, counted }] = members as [Member];
  for (const namespace of ["api", "batches", "watched"]) {
    const { status } = await server.post("createNamespace", { name: namespace, shadow: namespace === "watched" });
    counted.request("createNamespace", status);
  }
  for (const member of members) {
    await poll("the namespaces", async () => {
      const { status, body } = await member.server.post("listNamespaces", {});
      member.counted.request("listNamespaces", status);
      return body.data?.length === 3;
    });
  }
}, 120_000);
afterAll(async () => {
  for (const { server } of members) await server.stop("SIGKILL");
  for (const one of stores) await one.stop();
  await mariadb.stop();
  removeFolder(folder);
});

const COUNTABLE = ["sluice_http_requests_total", "sluice_decisions_total", "sluice_namespace_decisions_total"];

/** The metrics that clients can count too, without the labels that they cannot know. */
function countable(table: SeriesTable): Series {
  const found: Series = new Map();
  for (const name of COUNTABLE) {
    for (const { labels, value } of table.all(name)) {
      const { region: _region, source: _source, ...known } = labels;
      const key = keyOf(name, known);
      if (value > 0) found.set(key, (found.get(key) ?? 0) + value);
    }
  }
  return found;
}

async function gauge(server: SluiceServer, name: string, labels: Record<string, string> = {}): Promise<number> {
  return (await server.metrics()).sum(name, labels) ?? Number.NaN;
}

class Load {
  readonly #loops: Promise<void>[];
  #isStopped = false;

  constructor(seed: number) {
    this.#loops = members.flatMap((member, m) =>
      Array.from({ length: LOOPS }, (_, i) => this.#loop(member, new SeededRandom(seed + m * LOOPS + i))),
    );
    for (const loop of this.#loops) loop.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }

  async #loop(member: Member, random: SeededRandom): Promise<void> {
    while (!this.#isStopped) {
      const kind = random.below(10);
      if (kind === 0) await broken(member, random);
      else if (kind < 4) await batch(member, random);
      else await single(member, random);
    }
  }
}

function item(random: SeededRandom, namespace: string) {
  const at = random.below(LIMITS.length);
  const limit = LIMITS[at]!;
  // A cost above the limit is a denial of its own kind.
  const cost = random.chance(0.02) ? limit + 1 : random.below(4);
  return { namespace, identifier: `user_${at}_${random.below(3)}`, limit, cost, duration: DURATION };
}

const denial = ({ cost, limit }: { cost: number; limit: number }) => (cost > limit ? "cost" : "limit");

async function single({ server, counted }: Member, random: SeededRandom): Promise<void> {
  const body = item(random, random.pick(["api", "watched"]));
  const { status, body: answer } = await server.post("limit", body);
  counted.request("limit", status);
  expect(status).toBe(200);
  const { success, shadowed } = answer.data as { success: boolean; shadowed?: boolean };
  if (shadowed === true) counted.check(body.namespace, "shadowed", denial(body));
  else if (success) counted.check(body.namespace, "allowed", "allowed");
  else counted.check(body.namespace, "denied", denial(body));
  if (success && shadowed !== true) counted.accepted += body.cost;
}

async function batch({ server, counted }: Member, random: SeededRandom): Promise<void> {
  const items = Array.from({ length: 1 + random.below(4) }, () => item(random, "batches"));
  const { status, body: answer } = await server.post("multiLimit", items);
  counted.request("multiLimit", status);
  expect(status).toBe(200);
  const { passed, limits } = answer.data as { passed: boolean; limits: { passed: boolean }[] };
  for (const [i, one] of items.entries()) {
    if (passed) counted.check("batches", "allowed", "allowed");
    else counted.check("batches", "denied", limits[i]!.passed ? "batch" : denial(one));
    if (passed) counted.accepted += one.cost;
  }
}

/** Bad bodies and strangers' keys: answered, and nothing is decided. */
async function broken({ server, counted }: Member, random: SeededRandom): Promise<void> {
  const isStranger = random.chance(0.5);
  const body = isStranger ? item(random, "api") : { ...item(random, "api"), limit: -1 };
  const { status }: Answer = await server.post("limit", body, isStranger ? "nobody" : server.key);
  counted.request("limit", status);
  expect(status).toBe(isStranger ? 401 : 400);
}

async function everyone(what: string, ask: (member: Member) => Promise<boolean>, of = members): Promise<void> {
  for (const member of of) await poll(what, () => ask(member), SOON_MS);
}

test("after a run with faults, every server tells what its clients counted", async () => {
  const load = new Load(20_261_116);
  const processes = (member: Member) => (member === members[2] ? 2 : 1);
  const losses = async (count: number) =>
    everyone(
      `${count} losses`,
      async (member) => (await gauge(member.server, "sluice_origin_losses_total")) === count * processes(member),
    );
  const calm = () =>
    everyone(
      "no open breaker",
      async ({ server }) => (await gauge(server, "sluice_origin_breaker", { state: "open" })) === 0,
    );
  const answered = (count: number) =>
    everyone(
      `${count} answers`,
      async ({ counted }) => [...counted.series.values()].reduce((a, b) => a + b, 0) > count,
    );

  await answered(100);
  for (const one of stores) await one.ask("FLUSHALL");
  await losses(1);

  for (const one of stores) await one.freeze();
  await everyone(
    "an open breaker",
    async ({ server }) => (await gauge(server, "sluice_origin_breaker_opened_total")) > 0,
  );
  for (const one of stores) await one.thaw();
  await calm();

  await mariadb.process.freeze();
  await everyone("old imports", async ({ server }) => (await gauge(server, "sluice_global_import_age_seconds")) > 2);
  await mariadb.process.thaw();
  await everyone("new imports", async ({ server }) => (await gauge(server, "sluice_global_import_age_seconds")) < 2);

  for (const one of stores) {
    await one.kill();
    await one.begin();
  }
  await losses(2);
  await calm();
  await load.stop();

  for (const { server, counted } of members) {
    const table = await server.metrics();
    expect(Object.fromEntries(countable(table))).toEqual(Object.fromEntries(counted.series));
    const requests = [...counted.series].filter(([key]) => key.startsWith("sluice_http_requests_total"));
    expect(table.sum("sluice_http_request_duration_seconds_count")).toBe(
      requests.reduce((sum, [, count]) => sum + count, 0),
    );
  }

  // An event is logged after the metric has changed.
  await everyone("a log line for each opening of a breaker", async ({ server }) => {
    const opened = server.log("limiter.breaker").filter(({ state }) => state === "open");
    const logged = opened.reduce((sum, { omitted }) => sum + 1 + Number(omitted), 0);
    return (await server.metrics()).sum("sluice_origin_breaker_opened_total") === logged;
  });

  await everyone("an end of degraded decisions", async ({ server }) => {
    const events = server.log("limiter.degraded");
    const decisions = events.reduce((sum, one) => sum + Number(one["decisions"] ?? 0), 0);
    const metric = await gauge(server, "sluice_decisions_degraded_total");
    // Of more than five events in ten seconds some are left out, with what they counted.
    return events.every(({ omitted }) => omitted === 0) ? decisions > 0 && decisions === metric : decisions <= metric;
  });
  await everyone("all to be replayed", async ({ server }) => (await gauge(server, "sluice_origin_dirty_cells")) === 0);
  for (const redis of stores) {
    const accepted = members
      .filter((one) => one.redis === redis)
      .reduce((sum, { counted }) => sum + counted.accepted, 0);
    expect(await storedTotal(redis)).toBe(accepted);
  }
}, 180_000);
