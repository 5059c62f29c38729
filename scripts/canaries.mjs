/** Every canary, in about four minutes. `--write` renews docs/canaries.md if all were caught. */
import { spawnSync } from "node:child_process";
import { root, runInOrder } from "./steps.mjs";

const isWriting = process.argv.includes("--write");
const env = { ...process.env, CI: "true", SLUICE_CANARIES_WRITE: String(isWriting) };
const args = ["node_modules/vitest/vitest.mjs", "run", "test/canaries"];
const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: "inherit" });
process.exitCode = status ?? 1;
if (isWriting) await runInOrder([{ name: "format", command: "biome format --write docs/canaries.md" }]);
