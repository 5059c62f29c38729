/**
 * What stands before a release: builds, packs both packages into `release/`, lists what is in them, and asks for known weaknesses.
 *
 *   npm run release-check
 *
 * Ends with 1 if a package does not build, is not what it should be, has grown beyond its bound, or has a known weakness. That
 * the registry answers no audits is said plainly, and is no failure: it says nothing about the packages. It publishes nothing.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, runInOrder } from "./steps.mjs";

const release = join(root, "release");
/**
 * Bytes of the packed file: 328 kB (ES modules and CommonJS, with the middleware) and 282 kB (with the page), and about a fifth more. Growth beyond
 * that should be intended.
 *
 * @type {Record<string, number>}
 */
const PACKED_MAX = { sluice: 395_000, "@sluice/server": 340_000 };
const KIB = 1_024;

/**
 * @param {readonly string[]} args
 * @param {string} [cwd]
 */
function npm(args, cwd = root) {
  return spawnSync("npm", args, { cwd, encoding: "utf8", maxBuffer: 1e9 });
}

/** @param {string} why */
function fail(why) {
  console.log(`FAIL  ${why}`);
  process.exitCode = 1;
}

/** Packs both; says how large each is; answers the files. */
function pack() {
  const names = Object.keys(PACKED_MAX).flatMap((name) => ["--workspace", name]);
  const { stdout, stderr } = npm(["pack", "--json", "--pack-destination", release, ...names]);
  /** @type {{ name: string, filename: string, size: number, unpackedSize: number, entryCount: number }[]} */
  const packages = JSON.parse(stdout || "[]");
  if (packages.length !== Object.keys(PACKED_MAX).length) fail(`npm pack: ${stderr}`);
  for (const { name, filename, size, unpackedSize, entryCount } of packages) {
    const kib = (/** @type {number} */ bytes) => `${(bytes / KIB).toFixed(0)} KiB`;
    console.log(`ok    ${filename}: ${kib(size)} packed, ${kib(unpackedSize)} unpacked, ${entryCount} files`);
    const max = PACKED_MAX[name] ?? 0;
    if (size > max)
      fail(`${name} is ${size} bytes packed; at most ${max}, see PACKED_MAX in scripts/release-check.mjs`);
  }
  return packages.map(({ filename }) => join(release, filename));
}

/**
 * An empty project with both installed: what a user gets, and nothing of what this tree develops with.
 *
 * @param {readonly string[]} files
 */
function install(files) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
  const { version } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "sluice-release", version, private: true }));
  const { status, stderr } = npm(["install", "--ignore-scripts", "--no-audit", "--prefer-offline", ...files], folder);
  if (status !== 0) fail(`npm install: ${stderr}`);
  return folder;
}

/**
 * What they bring along, in CycloneDX's form.
 *
 * @param {string} folder
 */
function billOfMaterials(folder) {
  const { status, stdout, stderr } = npm(["sbom", "--sbom-format", "cyclonedx"], folder);
  if (status !== 0) return fail(`npm sbom: ${stderr}`);
  writeFileSync(join(release, "sbom.cdx.json"), stdout);
  /** @type {{ components: { name: string, licenses?: object[] }[] }} */
  const { components } = JSON.parse(stdout);
  const bare = components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name);
  if (bare.length > 0) fail(`without a licence: ${bare.join(", ")}`);
  console.log(`ok    sbom.cdx.json: ${components.length} packages`);
}

/**
 * Known weaknesses in what they bring along.
 *
 * @param {string} folder
 */
function audit(folder) {
  const { stdout } = npm(["audit", "--audit", "--json"], folder);
  /** @type {{ metadata?: { vulnerabilities: Record<string, number> }, message?: string }} */
  const { metadata, message = "no answer" } = JSON.parse(stdout || "{}");
  if (metadata === undefined) {
    const why = message.split("\n", 1)[0];
    console.log(
      `NOT DONE  audit: the registry in use does not support it (${why}). Run this check again with a registry that does.`,
    );
    return;
  }
  if ((metadata.vulnerabilities["total"] ?? 0) > 0) fail(`audit: ${JSON.stringify(metadata.vulnerabilities)}`);
  else console.log("ok    audit: no known vulnerabilities");
}

rmSync(release, { recursive: true, force: true });
mkdirSync(release);
const isBuilt = await runInOrder([
  { name: "build", command: "npm run build" },
  { name: "publint", command: "publint --strict packages/sluice && publint --strict packages/server" },
  { name: "types, packed", command: "attw --pack packages/sluice" },
  { name: "runs elsewhere", command: "vitest run test/built/packaging.test.ts test/deploy/files.test.ts" },
]);
if (isBuilt) {
  const folder = install(pack());
  billOfMaterials(folder);
  audit(folder);
  rmSync(folder, { recursive: true });
  console.log(process.exitCode === 1 ? "Not ready." : "Packed in release/; nothing was published.");
} else {
  process.exitCode = 1;
}
