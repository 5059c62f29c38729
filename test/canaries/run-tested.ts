/** Runs one suite on a patched source: for mistakes that no invariant of a history can show. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestedCanary } from "./canary.ts";
import type { Caught } from "./catch.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const config = fileURLToPath(new URL("patched.config.ts", import.meta.url));
const TIMEOUT_MS = 600_000;

/** Throws unless exactly the named test of the suite fails on the patched source, and the sound source passes it. */
export async function catchTested({ name, breaks, patches, suite, test }: TestedCanary): Promise<Caught> {
  const startMs = performance.now();
  const patched = await run(suite, test, patches);
  if (patched.status === "passed") throw new Error(`${name} is not caught by ${suite}`);
  const isFailure = /(\d+) failed/.test(patched.output);
  if (!isFailure) throw new Error(`${name}: ${suite} did not run: ${patched.output.slice(-2_000)}`);
  const sound = await run(suite, test, []);
  if (sound.status !== "passed") throw new Error(`the control of ${name} fails: ${sound.output.slice(-2_000)}`);
  const seconds = (performance.now() - startMs) / 1_000;
  return { name, breaks, noticedBy: `test \`${suite}\``, seeds: 0, seconds };
}

interface Outcome {
  readonly status: "passed" | "failed";
  readonly output: string;
}

function run(suite: string, test: string, patches: TestedCanary["patches"]): Promise<Outcome> {
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", config, suite, "--testNamePattern", test];
  const env = { ...process.env, SLUICE_CANARY_PATCHES: JSON.stringify(patches), NO_COLOR: "1" };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: root, env, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        resolve({ status: error === null ? "passed" : "failed", output: stdout + stderr });
      },
    );
  });
}
