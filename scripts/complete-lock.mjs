/**
 * Adds to package-lock.json the binaries of other platforms that the registry in use did not offer.
 *
 * A mirror may hold only what its own platform needs. npm then leaves the other optional packages out of the lock file,
 * and `npm ci` refuses that file as incomplete. Run this after every `npm install` that went through such a mirror:
 *
 *   node scripts/complete-lock.mjs             the lock file of the root
 *   node scripts/complete-lock.mjs <folder>    of the packages of one suite (suite-packages.mjs)
 *
 * The entries carry version and platform, so every machine picks its own. They carry no integrity: npm adds it where it
 * can see the package. Where nothing is missing, nothing changes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./steps.mjs";

const lockFile = join(resolve(root, process.argv[2] ?? "."), "package-lock.json");
const systems = ["android", "darwin", "freebsd", "linux", "openharmony", "win32"];
const processors = ["arm64", "arm", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/**
 * The platform, as the binary packages spell it in their names: `@rolldown/binding-linux-arm64-musl`.
 *
 * @param {string} name
 */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (cpu === undefined)
    throw new Error(`${name} is missing from the lock file, and its name does not contain a platform`);
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : "glibc";
  return {
    cpu: [cpu],
    ...(os === "linux" ? { libc: [libc] } : {}),
    ...(os === undefined ? {} : { os: [os] }),
  };
}

/**
 * Where Node looks for `name` when the package at `path` asks for it: the nearest folder first.
 *
 * @param {string} path
 * @param {string} name
 */
function placesOf(path, name) {
  const places = [];
  for (let folder = path; folder !== ""; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    places.push(`${folder}/node_modules/${name}`);
  }
  return [...places, `node_modules/${name}`];
}

/**
 * @typedef {object} Entry
 * @property {string} [version]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {Record<string, string>} [optionalDependencies]
 */

/** @type {{ packages: Record<string, Entry> }} */
const lock = JSON.parse(readFileSync(lockFile, "utf8"));
let added = 0;

for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const version = range.replace(/^[~^]/, "");
    const places = placesOf(path, name);
    const found = places.map((place) => lock.packages[place]).find((package_) => package_ !== undefined);
    if (found !== undefined && (range !== version || found.version === version)) continue;
    const place = places.findLast((candidate) => lock.packages[candidate] === undefined);
    if (place === undefined) throw new Error(`${path}: no place found for ${name}@${version}`);
    lock.packages[place] = { version, ...(entry.dev ? { dev: true } : {}), optional: true, ...platformOf(name) };
    added += 1;
  }
}

const [project, ...rest] = Object.entries(lock.packages);
if (project === undefined) throw new Error("package-lock.json does not name the project");
rest.sort(([a], [b]) => a.localeCompare(b, "en"));
if (added > 0) {
  writeFileSync(
    lockFile,
    `${JSON.stringify({ ...lock, packages: Object.fromEntries([project, ...rest]) }, null, 2)}\n`,
  );
}
console.log(`package-lock.json: ${added} added`);
