/** The garbage that a server leaves in its heap is bounded: docs/operating.md's sizing rests on it. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const PROBE = fileURLToPath(new URL("heap-growth-probe.ts", import.meta.url));
const PRELOAD = fileURLToPath(new URL("v8-flags-preload.cjs", import.meta.url));
/** docs/operating.md, Memory: the heap is at most half again as large as what is in use, with 32 MiB for new objects. */
const GARBAGE_FACTOR = 1.5;
const YOUNG_MIB = 32;
/** What the probe itself takes, with the loader of TypeScript. */
const PROBE_MIB = 24;

async function probe(): Promise<{ readonly mostMib: number; readonly heldMib: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", PROBE]);
  return JSON.parse(stdout) as { mostMib: number; heldMib: number };
}

test("the heap of a server stays below half again what is in use", async () => {
  const { mostMib, heldMib } = await probe();
  expect(mostMib).toBeLessThan(GARBAGE_FACTOR * (heldMib + PROBE_MIB) + YOUNG_MIB);
}, 60_000);

test.each([1, 2])(
  "a server with %i workers has the bound in each of its processes",
  async (workers) => {
    const folder = temporaryFolder();
    const environment = { NODE_OPTIONS: `--require ${PRELOAD}` };
    const server = await SluiceServer.start(folder, { args: ["--workers", String(workers)], environment });
    await server.stop();
    const flags = server
      .said()
      .err.split("\n")
      .filter((line) => line.startsWith("v8 flag --heap-growing-percent="));
    expect(flags.length).toBe(workers === 1 ? 1 : 1 + workers);
    removeFolder(folder);
  },
  60_000,
);
