/** The suites that need no server, no other process and no build, at a length of less than a minute on two cores. */
import { spawnSync } from "node:child_process";
import { root } from "./steps.mjs";

const FOLDERS = ["packages/", "test/protocol/", "test/sim/"];
const given = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", ...(given.length > 0 ? given : FOLDERS)],
  { cwd: root, stdio: "inherit", env: { ...process.env, SLUICE_LENGTH: "fast" } },
);
process.exitCode = status ?? 1;
