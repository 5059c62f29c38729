/** Guessed keys: slowed down, logged and counted, and never at the cost of a client with a valid key. */
import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const KEY = "a-preset-key-of-24-chars";
const LIMIT = JSON.stringify({ namespace: "api", identifier: "user_1", limit: 1_000_000, duration: 600_000 });
/** docs/server.md: 100 at once, and 10 per second. */
const BURST = 100;
const PER_SECOND = 10;

let folder = "";
let server: SluiceServer;
beforeAll(async () => {
  folder = temporaryFolder();
  server = await SluiceServer.start(folder, { environment: { SLUICE_ROOT_KEY: KEY } });
});
afterAll(async () => {
  await server.stop("SIGKILL");
  removeFolder(folder);
});

interface Heard {
  readonly status: number;
  readonly connection: string | undefined;
  readonly retryAfter: string | undefined;
  readonly tookMs: number;
}

function ask(key: string, agent: Agent): Promise<Heard> {
  const beganMs = performance.now();
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": LIMIT.length,
  };
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}/v2/ratelimit.limit`, { method: "POST", agent, headers }, (response) => {
      response.resume();
      const { connection, "retry-after": retryAfter } = response.headers;
      response.on("end", () =>
        resolve({ status: response.statusCode!, connection, retryAfter, tookMs: performance.now() - beganMs }),
      );
    });
    asked.on("error", reject);
    asked.end(LIMIT);
  });
}

test("beyond the budget of an address unknown keys are answered 429, late and with the end of the connection; a valid key is not affected", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const beganMs = performance.now();
  const guesses: Heard[] = [];
  // Until it is refused, however slow this machine is.
  for (let refusedCount = 0; refusedCount < 20; ) {
    const more = await Promise.all(Array.from({ length: 32 }, (_, i) => ask(`guess-${guesses.length + i}`, agent)));
    refusedCount += more.filter(({ status }) => status === 429).length;
    guesses.push(...more);
  }
  const refused = guesses.filter(({ status }) => status === 429);
  const unknown = guesses.filter(({ status }) => status === 401);
  expect(refused.length + unknown.length).toBe(guesses.length);
  expect(unknown.length).toBeGreaterThanOrEqual(BURST);
  expect(unknown.length).toBeLessThanOrEqual(BURST + (PER_SECOND * (performance.now() - beganMs)) / 1_000);
  for (const { connection, retryAfter, tookMs } of refused) {
    expect({ connection, retryAfter }).toEqual({ connection: "close", retryAfter: "10" });
    // The server's delay of 1 s; the two clocks may differ by a tick of the timer.
    expect(tookMs).toBeGreaterThan(990);
  }
  const other = ask("another-guess", agent);
  expect((await ask(KEY, agent)).status).toBe(200);
  await other;
  agent.destroy();

  const lines = server.log("authentication.failing");
  // At most one line per 10 s.
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 10_000);
  expect(lines[0]).toMatchObject({ level: "warn", address: "127.0.0.1", failures: expect.any(Number) });
  expect(server.said().err).not.toContain("guess-");
  expect((await server.metrics()).sum("sluice_http_auth_failures_total")).toBe(guesses.length + 1);
});
