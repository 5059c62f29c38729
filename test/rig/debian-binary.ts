/**
 * A program of Debian's packages: where it is, and installed where it is missing and the user may; else one sentence says so.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface DebianBinary {
  /** What it may be called. */
  readonly names: readonly string[];
  readonly package: string;
  /** A folder above the usual ones: `<folder>/<version>/bin`. */
  readonly versionsIn?: string;
}

export function debianBinary(wanted: DebianBinary): string {
  const path = look(wanted) ?? install(wanted);
  if (path !== undefined) return path;
  const { names, package: name } = wanted;
  throw new Error(`These suites need ${names[0]}: install Debian's ${name} (apt-get install ${name}).`);
}

function look({ names, versionsIn }: DebianBinary): string | undefined {
  const versions = versionsIn !== undefined && existsSync(versionsIn) ? readdirSync(versionsIn).sort().reverse() : [];
  const folders = [
    ...versions.map((version) => join(versionsIn ?? "", version, "bin")),
    ...(process.env["PATH"] ?? "").split(":"),
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
  ];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

function install(wanted: DebianBinary): string | undefined {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return undefined;
  // No service is started by the installation.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const apt = (args: readonly string[]) => spawnSync("apt-get", args, { env, stdio: "ignore" }).status === 0;
  const wish = ["install", "-y", "--no-install-recommends", wanted.package];
  if (!apt(wish)) {
    apt(["update"]);
    apt(wish);
  }
  return look(wanted);
}
