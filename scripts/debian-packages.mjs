/**
 * The Debian programs that the suites use, and the installation of those that are missing.
 *
 *   node scripts/debian-packages.mjs            installs everything that is missing, with one `apt-get install`
 *   node scripts/debian-packages.mjs '[{…}]'    only these (JSON, see DebianBinary)
 *
 * Only one process of a machine installs at a time, and looks again once it is its turn: several test workers that installed at
 * once lost the race for apt's lock, and their tests failed. A process that may not install (not root, or no apt-get) does
 * nothing here: the suite that needs the program says what to install. `SLUICE_APT` names another command than apt-get, for
 * example a script that calls `sudo`; then root is not needed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} DebianBinary
 * @property {readonly string[]} names what it may be called
 * @property {string} package
 * @property {string} [versionsIn] a folder above the usual ones: `<folder>/<version>/bin`
 */

const PROGRAM = fileURLToPath(import.meta.url);
/** For another program that installs, such as Debian's own updates. */
const APT_LOCK_TIMEOUT_S = 300;
/** Longer than one installation of everything on a slow line. */
const TURN_TIMEOUT_S = 900;

/** @satisfies {Record<string, DebianBinary>} */
export const DEBIAN = {
  redis: { names: ["redis-server", "valkey-server"], package: "redis-server" },
  mariadb: { names: ["mariadbd", "mysqld"], package: "mariadb-server" },
  mariadbInstaller: { names: ["mariadb-install-db", "mysql_install_db"], package: "mariadb-server" },
  postgres: { names: ["postgres"], package: "postgresql", versionsIn: "/usr/lib/postgresql" },
  initdb: { names: ["initdb"], package: "postgresql", versionsIn: "/usr/lib/postgresql" },
  chromium: { names: ["chromium"], package: "chromium" },
  openssl: { names: ["openssl"], package: "openssl" },
  script: { names: ["script"], package: "bsdutils" },
  systemdAnalyze: { names: ["systemd-analyze"], package: "systemd" },
  go: { names: ["go"], package: "golang-go" },
  wrk: { names: ["wrk"], package: "wrk" },
};

/** What `npm test` uses. Go is large, and only needed where the chart is rendered; wrk is for the benchmark alone. */
export function neededBySuites() {
  const { wrk: _, go, redis, ...others } = DEBIAN;
  const isRedisGiven = process.env["SLUICE_REDIS"] !== undefined;
  return [...(isRedisGiven ? [] : [redis]), ...Object.values(others), ...(process.env["CI"] === "true" ? [go] : [])];
}

/**
 * The path of the program, if it is here.
 *
 * @param {DebianBinary} wanted
 * @returns {string | undefined}
 */
export function look({ names, versionsIn }) {
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

/**
 * Installs what is missing of these, one process of the machine at a time. Whether it could is for the caller to look.
 *
 * @param {readonly DebianBinary[]} wanted
 */
export function installMissing(wanted) {
  const missing = wanted.filter((one) => look(one) === undefined);
  if (missing.length === 0 || aptCommand() === undefined) return;
  const turn = ["--timeout", String(TURN_TIMEOUT_S), join(tmpdir(), "sluice-apt.lock")];
  const { error } = spawnSync("flock", [...turn, process.execPath, PROGRAM, "--in-turn", JSON.stringify(missing)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) console.error(`cannot install ${packagesOf(missing).join(", ")}: ${error.message}`);
}

/** @returns {string | undefined} undefined: this process may not install */
function aptCommand() {
  const given = process.env["SLUICE_APT"];
  if (given !== undefined) return given;
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get") ? "/usr/bin/apt-get" : undefined;
}

/**
 * Holds the lock of `installMissing`.
 *
 * @param {readonly DebianBinary[]} wanted
 */
function installInTurn(wanted) {
  // Another process may have installed them while this one waited for its turn.
  const packages = packagesOf(wanted.filter((one) => look(one) === undefined));
  const command = aptCommand();
  if (packages.length === 0 || command === undefined) return;
  console.log(`installing ${packages.join(", ")} (apt-get) …`);
  const beganMs = performance.now();
  // RUNLEVEL: the installation starts no service.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const lock = ["-o", `DPkg::Lock::Timeout=${APT_LOCK_TIMEOUT_S}`];
  /** @param {readonly string[]} args */
  const apt = (...args) => spawnSync(command, [...lock, ...args], { env, encoding: "utf8" });
  const steps = [apt("update"), apt("install", "-y", "--no-install-recommends", ...packages)];
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
  if (steps[1]?.status === 0) {
    console.log(`installed in ${seconds} s`);
    return;
  }
  const said = steps.map(({ stdout, stderr, error }) => `${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`);
  console.error(`not installed after ${seconds} s:\n${said.join("").trim().slice(-4_000)}`);
}

/** @param {readonly DebianBinary[]} wanted */
function packagesOf(wanted) {
  return [...new Set(wanted.map((one) => one.package))];
}

if (process.argv[1] === PROGRAM) {
  const [first, second] = process.argv.slice(2);
  if (first === "--in-turn") installInTurn(JSON.parse(second ?? "[]"));
  else installMissing(first === undefined ? neededBySuites() : JSON.parse(first));
}
