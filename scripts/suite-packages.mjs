/**
 * npm packages that only some suites need. Each set is in a folder of its own, with its own lock file, so that `npm ci` at the root stays
 * small.
 *
 *   node scripts/suite-packages.mjs              installs every folder that is not up to date
 *   node scripts/suite-packages.mjs <folder> …   only these
 *
 * A folder is up to date if its node_modules were installed from the lock file as it is now. Only one process of a machine installs at a
 * time, and looks again once it is its turn, as scripts/debian-packages.mjs does. `npm run check` installs all folders, because the types
 * of the suites need them; a suite that is run alone installs its own (test/rig/suite-packages.ts).
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./steps.mjs";

const PROGRAM = fileURLToPath(import.meta.url);
/** Longer than one installation on a slow line. */
const TURN_TIMEOUT_S = 900;
/** In node_modules: the hash of the lock file that they were installed from. */
const STAMP = ".installed-from";

/** Folders with a package.json and a package-lock.json of their own. */
export const SUITE_FOLDERS = ["test/page", "test/server/unkey", "test/middleware/frameworks"];

/**
 * Installs what is not up to date, one process of the machine at a time.
 *
 * @param {readonly string[]} folders absolute, or from the root
 * @returns {string | undefined} what npm printed, if an installation failed
 */
export function installFolders(folders) {
  const stale = folders.map((folder) => resolve(root, folder)).filter((folder) => !isUpToDate(folder));
  if (stale.length === 0) return undefined;
  const turn = ["--timeout", String(TURN_TIMEOUT_S), join(tmpdir(), "sluice-npm.lock")];
  const { status, stdout, stderr, error } = spawnSync(
    "flock",
    [...turn, process.execPath, PROGRAM, "--in-turn", ...stale],
    { encoding: "utf8" },
  );
  if (status === 0) return undefined;
  return `${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`.trim();
}

/** @param {string} folder */
function isUpToDate(folder) {
  const stamp = join(folder, "node_modules", STAMP);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash(folder);
}

/** @param {string} folder */
function lockHash(folder) {
  return createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
}

/**
 * Holds the lock of `installFolders`.
 *
 * @param {readonly string[]} folders
 * @returns {boolean} whether all of them are up to date now
 */
function installInTurn(folders) {
  // Another process may have installed some while this one waited for its turn.
  for (const folder of folders.filter((one) => !isUpToDate(one))) {
    // Some packages of frameworks name Node 22 as the oldest, and run on Node 20; `npm test` hands engine-strict of the root down to here.
    const args = ["ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--engine-strict=false"];
    const { status, error } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
    if (error !== undefined) console.error(error.message);
    if (status !== 0) return false;
    writeFileSync(join(folder, "node_modules", STAMP), lockHash(folder));
  }
  return true;
}

if (process.argv[1] === PROGRAM) {
  const [first, ...others] = process.argv.slice(2);
  if (first === "--in-turn") {
    process.exitCode = installInTurn(others) ? 0 : 1;
  } else {
    const failure = installFolders(first === undefined ? SUITE_FOLDERS : [first, ...others]);
    if (failure !== undefined) {
      console.error(failure);
      process.exitCode = 1;
    }
  }
}
