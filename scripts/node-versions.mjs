/**
 * The suites that need no server, and one suite for each store and the server, on every supported version of Node: part of `npm test` with
 * CI=true. The versions come from the npm registry, as binaries for Linux on x64; elsewhere nothing runs, and a line says so.
 *
 *   node scripts/node-versions.mjs         all versions
 *   node scripts/node-versions.mjs 26      one of them
 *   node scripts/node-versions.mjs --all   every suite on each version: for some hours, in the lab
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, runInOrder } from "./steps.mjs";
import { installFolders } from "./suite-packages.mjs";

const FOLDER = "test/built/nodes";
const VERSIONS = ["22", "24", "26"];
/** One per store, and the server. */
const SUITES = ["test/redis/conformance", "test/sql/conformance", "test/server/http", "test/server/workers"];
const FAST = ["packages/", ...SUITES];

const given = process.argv.slice(2);
const suites = given.includes("--all") ? "" : FAST.join(" ");
const length = given.includes("--all") ? "" : "SLUICE_LENGTH=fast ";
const versions = VERSIONS.filter((version) => given.includes(version));

const failure = installFolders([FOLDER]);
if (failure !== undefined) {
  console.error(failure);
  process.exit(1);
}
const steps = (versions.length > 0 ? versions : VERSIONS).flatMap((version) => {
  const node = join(root, FOLDER, "node_modules", `node-${version}`, "bin", "node");
  if (existsSync(node))
    return [{ name: `Node ${version}`, command: `${length}${node} node_modules/vitest/vitest.mjs run ${suites}` }];
  console.log(`Node ${version} is not available for ${process.platform} on ${process.arch}: not run.`);
  return [];
});
process.exitCode = (await runInOrder(steps)) ? 0 : 1;
