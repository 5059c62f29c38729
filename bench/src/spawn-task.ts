/** Runs a task in a fresh process: nothing that another task taught the optimiser, or left in the heap, is there. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Figures, Task } from "./task.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A ceiling, not a reservation: a million keys of every contender at once are about 5 GB. */
const HEAP_MAX_MB = 12_288;

export function spawnTask(task: Task): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(here("./child.ts"), [], {
      execArgv: ["--import", "tsx", "--expose-gc", `--max-old-space-size=${HEAP_MAX_MB}`],
      cwd: here(".."),
      // tsx would follow the root's "paths" to Sluice's source; what is measured is the built package.
      env: { ...process.env, TSX_TSCONFIG_PATH: here("../tsconfig.json") },
      // Standard output is the report's: what a child prints goes to standard error.
      stdio: ["ignore", 2, 2, "ipc"],
    });
    let figures: Figures | undefined;
    child.once("message", (message) => {
      figures = message as Figures;
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (figures !== undefined && code === 0) resolve(figures);
      else reject(new Error(`the child for ${JSON.stringify(task)} ended with ${signal ?? code}`));
    });
    child.send(task);
  });
}
