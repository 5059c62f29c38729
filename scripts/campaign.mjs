/**
 * The campaign of simulated worlds, as deep as CI runs it, and nothing else: `npm run campaign`. With `--write` it renews
 * docs/sometimes.md; SLUICE_SIM_BASE chooses the worlds, as in the tests.
 */
import { spawnSync } from "node:child_process";
import { root } from "./steps.mjs";

const isWriting = process.argv.includes("--write");
const suites = ["test/sim.test.ts", "test/sim-second-half.test.ts"];
const env = { ...process.env, CI: "true", ...(isWriting ? { SLUICE_SIM_WRITE: "true" } : {}) };
const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...suites], {
  cwd: root,
  stdio: "inherit",
  env,
});
process.exit(status ?? 1);
