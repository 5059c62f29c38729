/**
 * `sluice serve` with `globalMode: denials`: two regions on a real Redis each and one MariaDB. What one region denies, the other denies
 * too, without having counted it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

/** So long that no window ends during the test. */
const BODY = { namespace: "api", identifier: "abuser", limit: 100, duration: 30 * 86_400_000 };
/** A denial is written within 1.1 s and read within 11 s; the rest is for a machine that has other things to do. */
const DENIED_WITHIN_MS = 40_000;

let folder = "";
let mariadb: MariadbServer;
const redis: RedisServer[] = [];
const servers: SluiceServer[] = [];
beforeAll(async () => {
  folder = temporaryFolder();
  const [sql, ...stores] = await Promise.all([MariadbServer.start(), RedisServer.start(), RedisServer.start()]);
  mariadb = sql;
  redis.push(...stores);
  for (const [i, args] of [[], ["--workers", "2"]].entries()) {
    const environment = {
      SLUICE_SQL_URL: mariadb.url(),
      SLUICE_REDIS_URL: redis[i]!.url,
      SLUICE_REGION: ["a", "b"][i]!,
      SLUICE_GLOBAL_MODE: "denials",
      SLUICE_READ_TIMEOUT_MS: "250ms",
    };
    const server = SluiceServer.begin(folder, { environment, args });
    servers.push(server);
    await server.greeted();
    // The first one prints the key.
    server.key = servers[0]!.key;
  }
}, 120_000);
afterAll(async () => {
  for (const server of servers) await server.stop("SIGKILL");
  for (const one of redis) await one.stop();
  await mariadb.stop();
  removeFolder(folder);
});

const ask = async (server: SluiceServer, more: object) => (await server.post("limit", { ...BODY, ...more })).body.data;

describe("servers of two regions in mode denials", () => {
  test("deny together what one of them denied, and the region that denied keeps what it has left", {
    timeout: 120_000,
  }, async () => {
    const [a, b] = servers as [SluiceServer, SluiceServer];
    await poll("readiness", async () => (await a.ready()).status === 200 && (await b.ready()).status === 200);
    expect(await ask(a, { cost: 60 })).toMatchObject({ success: true });
    // Counts are not sent: b knows nothing of the 60.
    expect(await ask(b, { cost: 1 })).toMatchObject({ success: true, remaining: 99 });
    expect(await ask(a, { cost: 50 })).toMatchObject({ success: false });
    const inflated = async () => (await b.metrics()).sum("sluice_denials_total", { event: "inflated" });
    await poll("both workers of b to read it", async () => (await inflated()) === 2, DENIED_WITHIN_MS);
    for (let i = 0; i < 4; i++) expect(await ask(b, { cost: 1 })).toMatchObject({ success: false, remaining: 0 });
    // a reads its own row too: by now, or with the next read, which comes within 11 s.
    const reads = async () => (await a.metrics()).sum("sluice_denials_read_age_seconds")!;
    const before = await reads();
    await poll("a to read", async () => (await reads()) < before, DENIED_WITHIN_MS);
    expect(await ask(a, { cost: 40 })).toMatchObject({ success: true, remaining: 0 });
    const metrics = await a.metrics();
    expect(metrics.sum("sluice_denials_total", { event: "emitted" })).toBe(1);
    expect(metrics.sum("sluice_denials_total", { event: "inflated" })).toBe(0);
    expect(metrics.sum("sluice_denials_breaker", { state: "closed" })).toBe(1);
    expect(metrics.sum("sluice_global_rows_published_total")).toBe(0);
    expect((await b.ready()).body).toMatchObject({ layers: { global: { status: "ok" } } });
  });
});
