import cluster from "node:cluster";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSettings } from "../config/load-settings.ts";
import { WorkerLink } from "./worker-link.ts";

test("worker link › a word to a worker that has just died does not end its parent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-link-"));
  const exec = join(folder, "worker.mjs");
  writeFileSync(exec, "process.send('here');\n");
  cluster.setupPrimary({ exec, args: [], execArgv: [] });
  const worker = cluster.fork();
  const link = new WorkerLink(worker, 1, loadSettings({}, {}).settings, false);
  const unheard = link.listening.catch((error: Error) => error.message);
  await once(worker, "message");
  link.kill();
  // Without a turn of the event loop: it is dead, and this process has not heard of it yet.
  while (!/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${link.pid}/stat`, "utf8")));
  expect(worker.isConnected()).toBe(true);
  expect(await link.readiness()).toBeNull();
  expect(await link.ended).toEqual({ lost: 0, cut: 0, silent: 1 });
  expect(await unheard).toMatch(/exited before it was listening/);
  rmSync(folder, { recursive: true });
});
