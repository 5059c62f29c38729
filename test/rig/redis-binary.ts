/**
 * The server that suites run on: `SLUICE_REDIS` if it is set, else Debian's redis-server, else Valkey's.
 *
 * Where none is there and the user may install packages, it is installed; else one sentence says what is missing.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const NAMES = ["redis-server", "valkey-server"];
let found: string | undefined;

function look(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/bin", "/usr/local/bin"];
  for (const name of NAMES) {
    const path = folders.map((folder) => join(folder, name)).find((one) => existsSync(one));
    if (path !== undefined) return path;
  }
  return undefined;
}

/** The path of a server. */
export function redisBinary(): string {
  found ??= process.env["SLUICE_REDIS"] ?? look() ?? install();
  return found;
}

function install(): string {
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    const apt = (args: readonly string[]) => spawnSync("apt-get", args, { env, stdio: "ignore" }).status === 0;
    const wish = ["install", "-y", "--no-install-recommends", "redis-server"];
    if (!apt(wish)) {
      apt(["update"]);
      apt(wish);
    }
    const path = look();
    if (path !== undefined) return path;
  }
  throw new Error(
    "These suites need a Redis server: install Debian's redis-server (apt-get install redis-server), or name one in SLUICE_REDIS.",
  );
}
