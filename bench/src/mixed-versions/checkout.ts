/**
 * An earlier version of the program, built in a folder of its own from this repository's history.
 *
 * What it installs is taken from here by links, but for the packages of the project itself: those must be of that version, too.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PACKAGES = ["sluice", "server"];
const OWN = ["sluice", "@sluice"];

export interface Checkout {
  readonly commit: string;
  /** What `sluice` is there. */
  readonly command: string;
  remove(): void;
}

/** The commit of a name such as `HEAD~3`; undefined if this clone has none of that name. */
export function commitOf(name: string): string | undefined {
  try {
    return git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
  } catch {
    return undefined;
  }
}

export function checkOut(commit: string): Checkout {
  const folder = mkdtempSync(join(tmpdir(), "sluice-version-"));
  const remove = () => {
    git("worktree", "remove", "--force", folder);
    rmSync(folder, { recursive: true, force: true });
  };
  git("worktree", "add", "--detach", "--quiet", folder, commit);
  try {
    link(ROOT, folder);
    symlinkSync("../packages/sluice", join(folder, "node_modules", "sluice"));
    // Versions before the simulator had its own package do not follow this link.
    mkdirSync(join(folder, "node_modules", "@sluice"));
    symlinkSync("../../packages/sim", join(folder, "node_modules", "@sluice", "sim"));
    for (const name of PACKAGES) link(join(ROOT, "packages", name), join(folder, "packages", name));
    execFileSync("npm", ["run", "build"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  } catch (error) {
    remove();
    throw error;
  }
  return { commit, command: join(folder, "packages", "server", "bin", "sluice.mjs"), remove };
}

function link(from: string, to: string): void {
  const source = join(from, "node_modules");
  const target = join(to, "node_modules");
  mkdirSync(target);
  if (!existsSync(source)) return;
  for (const name of readdirSync(source)) {
    if (!OWN.includes(name)) symlinkSync(join(source, name), join(target, name));
  }
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}
