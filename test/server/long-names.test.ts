/** A server with Redis that clients send the longest identifiers to: what their names take is bounded in bytes, and told. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const CELLS = 500;
/** So long that no window ends during a test. */
const DURATION = 30 * 86_400_000;
/** 512 characters, of which 506 take four bytes each. */
const longest = (i: number) => "\u{1F600}".repeat(506) + String(i).padStart(6, "0");
/** Three parts of 512 characters, and 208 bytes. */
const NAME_MAX_BYTES = 208 + 3 * 2_048;

let folder = "";
let redis: RedisServer;
let server: SluiceServer;

beforeAll(async () => {
  folder = temporaryFolder();
  redis = await RedisServer.start();
  const environment = { SLUICE_REDIS_URL: redis.url, SLUICE_ROOT_KEY: "a-root-key-for-tests" };
  server = await SluiceServer.start(folder, { args: ["--cells", String(CELLS)], environment });
  await server.post("createNamespace", { name: "api" });
}, 60_000);

afterAll(async () => {
  await server?.stop();
  await redis?.stop();
  removeFolder(folder);
});

test("long identifiers evict each other, and never exceed their memory; a short one stays", async () => {
  const read = async (name: string) => (await server.metrics()).sum(name) ?? Number.NaN;
  const ask = (identifier: string) => ({ namespace: "api", identifier, limit: 100, duration: DURATION });
  await server.post("limit", ask("customer"));
  for (let batch = 0; batch < 10; batch++) {
    const items = Array.from({ length: 40 }, (_, i) => ask(longest(40 * batch + i)));
    expect((await server.post("multiLimit", items)).status).toBe(200);
    // Keys that Redis has not confirmed are not evicted.
    await poll("Redis has it all", async () => (await read("sluice_origin_dirty_cells")) === 0);
    expect(await read("sluice_name_bytes")).toBeLessThan(320 * CELLS + NAME_MAX_BYTES);
    expect(await read("sluice_name_excess_bytes")).toBeLessThan(80 * CELLS + NAME_MAX_BYTES);
  }
  expect(await read("sluice_name_bytes_max")).toBe(320 * CELLS);
  expect(await read("sluice_name_excess_bytes_max")).toBe(80 * CELLS);
  expect(await read("sluice_cells_evicted_total")).toBeGreaterThan(0);
  expect(await read("sluice_cells")).toBeLessThan(CELLS / 2);
  const { body } = await server.post("limit", ask("customer"));
  expect(body).toMatchObject({ data: { remaining: 98 } });
}, 60_000);
