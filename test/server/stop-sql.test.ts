/** How `sluice serve` stops with SQL and without Redis: the region's row is the only copy of its counts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const KEY = "a-preset-key-of-24-chars";
/** So long that no window ends during a test. */
const DURATION = 30 * 86_400_000;

let folder = "";
let mariadb: MariadbServer;
const started: SluiceServer[] = [];
beforeAll(async () => {
  folder = temporaryFolder();
  mariadb = await MariadbServer.start();
}, 120_000);
afterAll(async () => {
  for (const server of started) await server.stop("SIGKILL");
  await mariadb.stop();
  removeFolder(folder);
});

async function serve(workers: string, ...args: string[]): Promise<SluiceServer> {
  const environment = { SLUICE_ROOT_KEY: KEY, SLUICE_SQL_URL: mariadb.url(), SLUICE_REGION: "eu" };
  const server = await SluiceServer.start(folder, { args: ["--workers", workers, ...args], environment });
  started.push(server);
  await poll("readiness", async () => (await server.ready()).status === 200);
  return server;
}

async function allowed(server: SluiceServer, identifier: string, times: number, cost = 1): Promise<number> {
  const request = { namespace: "api", identifier, limit: 100, duration: DURATION, cost };
  const answers = await Promise.all(Array.from({ length: times }, () => server.post("limit", request)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  return answers.filter(({ body }) => body.data.success).length;
}

async function storedOf(identifier: string): Promise<number> {
  const [row] = await mariadb.ask(`SELECT SUM(count) AS total FROM sluice_counters WHERE identifier = '${identifier}'`);
  return Number(row!["total"]);
}

describe.each(["1", "2"])("a stop with SQL and without Redis, workers: %s", (workers) => {
  test("stores counts below the floor and exits with 0; the next server continues from them", {
    timeout: 120_000,
  }, async () => {
    // Seen: 95 of 100 were accepted, the exit code was 0, no row was in the database, and the next server allowed 95 again.
    const identifier = `kept_${workers}`;
    const first = await serve(workers);
    expect(await allowed(first, identifier, 95)).toBe(95);
    const { code, err } = await first.stop();
    expect({ code, err: err.includes("error:") }).toEqual({ code: 0, err: false });
    expect(await storedOf(identifier)).toBe(95);
    const second = await serve(workers);
    expect(await allowed(second, identifier, 1, 6)).toBe(0);
    expect(await allowed(second, identifier, 1, 5)).toBe(1);
    expect((await second.stop()).code).toBe(0);
  });

  test("with the database frozen exits with 4, and says how much was lost", { timeout: 120_000 }, async () => {
    const server = await serve(workers, "--shutdown-timeout", "1s");
    expect(await allowed(server, `lost_${workers}`, 7)).toBe(7);
    await mariadb.process.freeze();
    const { code, err } = await server.stop();
    await mariadb.process.thaw();
    expect(code).toBe(4);
    expect(err).toContain("error: stopped with losses: 7 of the accepted cost was not stored");
    expect(server.log("stopped")).toMatchObject([{ level: "error", lost: 7 }]);
  });
});
