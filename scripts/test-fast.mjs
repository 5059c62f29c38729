/** The suites that need no server, no other process and no build, at a length of less than a minute on two cores. */
import { spawnSync } from "node:child_process";
import { root } from "./steps.mjs";

/** The named worlds and the isolation of whole worlds take too long here. */
const FOLDERS = [
  "packages/",
  "test/protocol/",
  "test/sim/campaign",
  "test/sim/determinism",
  "test/sim/copied-constants",
];
const given = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", ...(given.length > 0 ? given : FOLDERS)],
  { cwd: root, stdio: "inherit", env: { ...process.env, SLUICE_LENGTH: "fast" } },
);
process.exitCode = status ?? 1;
