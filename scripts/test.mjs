/** The whole gate: check, the Debian packages that are missing, build, the built package, then every suite. The suites' summary comes last. */
import { spawnSync } from "node:child_process";
import { root, runInOrder } from "./steps.mjs";

/**
 * Runs in the foreground, its output as it comes.
 *
 * @param {string} script
 * @param {readonly string[]} args
 */
function run(script, args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

run("scripts/check.mjs", []);
run("scripts/debian-packages.mjs", []);

const isPackaged = await runInOrder([
  { name: "build", command: "npm run build" },
  { name: "publint", command: "publint --strict packages/sluice && publint --strict packages/server" },
  { name: "types, packed", command: "attw --pack packages/sluice" },
]);
if (!isPackaged) process.exit(1);
if (process.env["CI"] === "true" && process.argv.length === 2) run("scripts/node-versions.mjs", []);

run("node_modules/vitest/vitest.mjs", ["run", ...process.argv.slice(2)]);
