/** `sluice bench` as a process beside a real server: its counts are the server's, and a server that stands still shows. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LoadResult } from "../../packages/server/src/tools/load/load-result.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { freePort } from "../rig/free-port.ts";
import { poll } from "../rig/poll.ts";
import { freeze, thaw } from "../rig/process-signals.ts";
import { type Ended, SluiceServer, sluice } from "../rig/sluice-server.ts";

let server: SluiceServer;
const folder = temporaryFolder();
beforeAll(async () => {
  server = await SluiceServer.start(folder);
});
afterAll(async () => {
  await server.stop();
  removeFolder(folder);
});

function bench(line: string, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const known = { SLUICE_URL: server.url, SLUICE_ROOT_KEY: server.key };
  return sluice(["bench", ...line.split(" ")], { ...known, ...environment });
}

async function decisions(): Promise<number> {
  return (await server.metrics()).sum("sluice_decisions_total") ?? 0;
}

async function counted(outcome: "allowed" | "denied"): Promise<number | undefined> {
  return (await server.metrics()).sum("sluice_namespace_decisions_total", { namespace: "counted", outcome });
}

describe("sluice bench", () => {
  test("counts what the server itself counted", async () => {
    // The window is thirty days: none ends meanwhile.
    const { code, out, err } = await bench(
      "--rate 100 --duration 1s --namespace counted --identifiers 10 --limit 6 --window 30d --json",
    );
    expect(code).toBe(0);
    const result = JSON.parse(out) as LoadResult;
    expect(result).toMatchObject({ due: 100, answered: 100, allowed: 60, denied: 40 });
    expect(result).toMatchObject({ httpErrors: {}, connectionErrors: {}, unsent: 0 });
    expect(err).toMatch(/^load: 1 s of 1 s, [\d,]+ answered, p99 [\d.]+ ms$/m);
    expect(err.match(/^load: 1 s of 1 s/gm)).toHaveLength(1);
    // The others are the questions before the load, which cost nothing: one, and one on each connection.
    expect(await counted("allowed")).toBe(result.allowed + 1 + 64);
    expect(await counted("denied")).toBe(result.denied);
  });

  test("a server that stands still is charged for all who would have come meanwhile", async () => {
    const before = await decisions();
    const running = bench("--rate 100 --duration 2s --connections 4 --json");
    await poll("the load", async () => (await decisions()) > before + 20);
    await freeze(server.child.pid!);
    const stoppedMs = performance.now();
    await poll("a second", () => performance.now() - stoppedMs >= 1_000);
    await thaw(server.child.pid!);
    const { latencyMs, ...result } = JSON.parse((await running).out) as LoadResult;
    expect(result).toMatchObject({ due: 200, httpErrors: {}, connectionErrors: {} });
    // Half of all were due in that second, evenly: a tenth of all waited 800 ms. Four had been sent.
    expect(latencyMs.corrected.p90).toBeGreaterThan(700);
    expect(latencyMs.service.p90).toBeLessThan(latencyMs.corrected.p90);
    expect(latencyMs.service.max).toBeGreaterThan(900);
  });

  test("refuses a load of no request", async () => {
    const none = await bench("--rate 0.1 --duration 1s");
    expect(none).toMatchObject({ code: 2, out: "", err: expect.stringContaining("sends no request") });
  });

  test("says before the load that the server is away or refuses the key", async () => {
    const away = await bench("--duration 1s", { SLUICE_URL: `http://127.0.0.1:${await freePort()}` });
    expect(away).toMatchObject({ code: 1, out: "", err: expect.stringMatching(/^error: no answer from .*REFUSED/) });
    const wrong = await bench("--duration 1s", { SLUICE_ROOT_KEY: "a-key-that-nobody-has" });
    expect(wrong).toMatchObject({ code: 1, out: "", err: expect.stringContaining("(401)\nhint: ") });
  });
});
