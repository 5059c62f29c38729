/** Runs a hunt in a process of its own, within the time it may take. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Patch } from "./canary.ts";
import type { Find, Order } from "./hunt.ts";
import { bundlePatched } from "./patched-bundle.ts";

/** What a canary may take until it is caught: seeds, and seconds of the processor. */
export const SEEDS_MAX = 500;
const SECONDS_MAX = 60;
/** By the clock, for a world that never ends: a busy machine takes many times the processor's seconds. */
const TIMEOUT_MS = 1_800_000;

/** Processes at once: as many as the smallest machine that runs this has cores. */
const CHILDREN_MAX = 2;
const turns: Promise<unknown>[] = Array.from({ length: CHILDREN_MAX }, () => Promise.resolve());
let hunts = 0;

/** Rejects if the child process fails, or takes longer than it may: a canary must be noticed, not crash. */
export function runHunt(patches: readonly Patch[], order: Order): Promise<Find> {
  const lane = hunts++ % CHILDREN_MAX;
  const hunted = turns[lane]!.then(() => huntAlone(patches, order));
  turns[lane] = hunted.catch(() => undefined);
  return hunted;
}

async function huntAlone(patches: readonly Patch[], order: Order): Promise<Find> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-canary-"));
  const file = join(folder, "hunt.mjs");
  try {
    await bundlePatched(patches, file);
    const printed = await runChild(file, JSON.stringify(order));
    const find = JSON.parse(printed.trim().split("\n").at(-1) ?? "") as Find;
    if (find.seconds > SECONDS_MAX) throw new Error(`took ${find.seconds.toFixed(1)} s, and may take ${SECONDS_MAX} s`);
    return find;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runChild(file: string, argument: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [file, argument], { timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(error.killed === true ? `not over within ${TIMEOUT_MS} ms` : stderr.slice(-2_000)));
    });
  });
}
