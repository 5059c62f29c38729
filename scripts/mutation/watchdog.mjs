/**
 * Ends a test that never gives the event loop back: a thread beside it kills the process once the test has cost more of the
 * processor than it may, and leaves behind which mutant that was. Stryker starts another process and asks again; that one knows.
 *
 * Stryker's own timeout goes by the clock: on a busy machine a slow test looks endless, and a survivor killed.
 */
import { existsSync, writeFileSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";

const LOOK_EVERY_MS = 200;
/** Where the two threads meet: what the process may have used by the end of the test, and the mutant's number. */
const LIMIT = 0;
const MUTANT = 1;

/** What this process has used of the processor. */
export function usedMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export class Watchdog {
  #path;
  #shared = new Float64Array(new SharedArrayBuffer(16));

  /** @param {string} path where it leaves its marks: the beginning of a file's name */
  constructor(path) {
    this.#path = path;
    this.#shared[LIMIT] = Number.POSITIVE_INFINITY;
    new Worker(new URL(import.meta.url), { workerData: { path, shared: this.#shared } }).unref();
  }

  /** @param {string} mutant */
  hasEnded(mutant) {
    return existsSync(`${this.#path}${mutant}`);
  }

  /**
   * @param {string} mutant
   * @param {number} costMaxMs
   */
  watch(mutant, costMaxMs) {
    this.#shared[MUTANT] = Number(mutant);
    this.#shared[LIMIT] = usedMs() + costMaxMs;
  }

  rest() {
    this.#shared[LIMIT] = Number.POSITIVE_INFINITY;
  }
}

if (!isMainThread && workerData?.shared !== undefined) {
  const { path, shared } = workerData;
  setInterval(() => {
    if (usedMs() < shared[LIMIT]) return;
    writeFileSync(`${path}${shared[MUTANT]}`, "");
    process.kill(process.pid, "SIGKILL");
  }, LOOK_EVERY_MS);
}
