/** The servers that are compared, each a process of its own: they print where they listen. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../test/rig/free-port.ts";

export const TOKEN = "a-root-key-for-benchmarks";
/** Clock ticks a second of /proc: fixed on Linux. */
const TICKS_PER_SECOND = 100;

export class ServerProcess {
  readonly url: string;
  /** Empty: it has no listener for operators. */
  readonly opsUrl: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(urls: { readonly url: string; readonly opsUrl: string }, child: ChildProcess, folder: string) {
    this.url = urls.url;
    this.opsUrl = urls.opsUrl;
    this.#child = child;
    this.#folder = folder;
  }

  static bare(): Promise<ServerProcess> {
    return ServerProcess.#start([fileURLToPath(new URL("./bare-server.mjs", import.meta.url))], {});
  }

  /** `sluice serve`, as built. */
  static async sluice(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const program = fileURLToPath(new URL("../../../packages/server/bin/sluice.mjs", import.meta.url));
    const opsPort = await freePort();
    const args = [program, "serve", "--port", "0", "--ops-port", String(opsPort)];
    return ServerProcess.#start(args, { SLUICE_ROOT_KEY: TOKEN, ...env }, `http://127.0.0.1:${opsPort}`);
  }

  static async #start(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    opsUrl = "",
  ): Promise<ServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
    const child = spawn(process.execPath, args, {
      env: { ...process.env, SLUICE_DATA: folder, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      const url = /listens on (http:\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stdout.resume();
      return new ServerProcess({ url, opsUrl }, child, folder);
    }
    throw new Error(`${args.join(" ")} ended before it listened`);
  }

  /** What it has used of a core since it started, in seconds. */
  get cpuS(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
