/** Two servers on one data folder: each would count alone, and nothing else would tell. Commands work beside a server. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { type ServerOptions, SluiceServer, sluice } from "../rig/sluice-server.ts";

let folder = "";
const started: SluiceServer[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop("SIGKILL");
  removeFolder(folder);
});

async function serve(options: ServerOptions = {}): Promise<SluiceServer> {
  const server = await SluiceServer.start(folder, options);
  started.push(server);
  return server;
}

describe("a second server on a data folder", () => {
  test("without Redis is warned; commands, and a start after a crash, are not", async () => {
    const first = await serve({ args: ["--workers", "2"] });
    const listed = await sluice(["keys", "list", "--data", join(folder, "data")]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    const second = await serve();
    expect(first.log("data.shared")).toEqual([]);
    expect(second.log("data.shared")).toMatchObject([
      { level: "warn", reason: expect.stringMatching(/^another server uses \/.*\/data, and there is no Redis/) },
    ]);
    for (const server of [first, second]) await server.stop("SIGKILL");
    const third = await serve();
    expect(third.log("data.shared")).toEqual([]);
    await third.stop();
    expect((await serve()).log("data.shared")).toEqual([]);
  });

  test("with Redis is not warned: they count together", async () => {
    const redis = await RedisServer.start();
    const environment = { SLUICE_REDIS_URL: `redis://127.0.0.1:${redis.port}` };
    await serve({ environment });
    expect((await serve({ environment })).log("data.shared")).toEqual([]);
    // One that was forgotten, without the Redis of the others.
    expect((await serve()).log("data.shared")).toHaveLength(1);
    await redis.stop();
  });
});
