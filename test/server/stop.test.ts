/** How `sluice serve` ends: what is under way is answered, what is dirty is replayed, and the exit code says whether all of it was. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";
import { storedTotal } from "../rig/stored-cells.ts";

const KEY = "a-preset-key-of-24-chars";
const LIMIT = { namespace: "api", identifier: "user_1", limit: 1_000, duration: 600_000 };

let folder = "";
let redis: RedisServer;
const started: SluiceServer[] = [];
beforeAll(async () => {
  folder = temporaryFolder();
  redis = await RedisServer.start();
});
afterAll(async () => {
  for (const server of started) await server.stop("SIGKILL");
  await redis.stop();
  removeFolder(folder);
});

async function serve(...args: string[]): Promise<SluiceServer> {
  const environment = { SLUICE_ROOT_KEY: KEY, SLUICE_REDIS_URL: redis.url };
  const server = await SluiceServer.start(folder, { args, environment });
  started.push(server);
  return server;
}

/** What is accepted in the last flush interval stands in memory alone. */
async function accept(server: SluiceServer, times: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: times }, () => server.post("limit", LIMIT)));
  expect(answers.map(({ status, body }) => [status, body.data.success])).toEqual(answers.map(() => [200, true]));
}

describe("a stop", () => {
  test("with Redis in reach replays everything that was accepted, and ends with 0", async () => {
    const server = await serve();
    await accept(server, 20);
    const { code, err } = await server.stop();
    expect({ code, err: err.includes("error:") }).toEqual({ code: 0, err: false });
    expect(await storedTotal(redis)).toBe(20);
  });

  test("with Redis frozen ends within its time with 4, and says how much was lost; Ctrl-C is a stop like any other", async () => {
    const server = await serve("--shutdown-timeout", "1s");
    await accept(server, 3);
    const before = await poll("replayed", async () => (await storedTotal(redis)) === 23 && 23);
    await redis.freeze();
    await accept(server, 7);
    const { code, err, tookMs } = await server.stop("SIGINT");
    await redis.thaw();
    expect(code).toBe(4);
    expect(err).toContain("error: stopped with losses: 7 of the accepted cost was not stored");
    expect(server.log("stopped")).toMatchObject([{ level: "error", lost: 7, cut: 0 }]);
    // Half a second for each of the two steps, and what a busy machine adds.
    expect(tookMs).toBeLessThan(20_000);
    expect(before).toBe(23);
  });

  test("Redis away at the start: answers, is ready, and says which layer is away", async () => {
    const environment = { SLUICE_ROOT_KEY: KEY, SLUICE_REDIS_URL: "redis://:very-secret@127.0.0.1:1" };
    const server = await SluiceServer.start(folder, { environment });
    started.push(server);
    await accept(server, 1);
    const { status, body } = await server.ready();
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, layers: { region: { status: "away", reason: "connection" } } });
    expect((await server.stop("SIGKILL")).err).not.toContain("very-secret");
  });
});
