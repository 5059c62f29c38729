/**
 * Child processes that never outlive a test run: killed when it ends, however it ends.
 *
 * `stop` is the polite way; what is left at the exit of this process is killed there. Where Debian's `setpriv` is present, the
 * kernel kills them as well if this process is killed itself.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const running = new Set<ChildProcess>();
const folders = new Set<string>();
const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A temporary folder of this run. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-rig-"));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

export function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child =
    setpriv === undefined
      ? spawn(command, args, options)
      : spawn(setpriv, ["--pdeathsig", "KILL", command, ...args], options);
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Sends a signal and waits for the end. A stopped process takes SIGKILL and nothing else. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill(signal);
  await ended;
}
