/**
 * Runs named commands and says how long each took. A step's output is held back and printed only when the step fails, so
 * that a green run is a short list and a red one shows nothing but the cause.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

const env = { ...process.env, PATH: join(root, "node_modules", ".bin") + delimiter + (process.env["PATH"] ?? "") };

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} command run by the shell, from the root, with the local binaries in reach
 */

/**
 * @param {Step} step
 * @returns {Promise<boolean>} whether the command ended with 0
 */
function runStep(step) {
  return new Promise((resolve) => {
    const startMs = performance.now();
    /** @type {Buffer[]} */
    const output = [];
    const child = spawn(step.command, { cwd: root, env, shell: true, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => output.push(chunk));
    child.stderr.on("data", (chunk) => output.push(chunk));
    child.on("error", (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.on("close", (code) => {
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      console.log(`${code === 0 ? "ok  " : "FAIL"}  ${step.name.padEnd(20)} ${seconds.padStart(6)} s`);
      if (code !== 0) console.log(`\n$ ${step.command}\n${Buffer.concat(output)}`);
      resolve(code === 0);
    });
  });
}

/**
 * Independent steps, as many at once as there are cores. All of them run, whether or not one fails.
 *
 * @param {readonly Step[]} steps the longest first
 * @returns {Promise<boolean>} whether all succeeded
 */
export async function runTogether(steps) {
  const waiting = [...steps];
  let isGreen = true;
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      isGreen = (await runStep(step)) && isGreen;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return isGreen;
}

/**
 * Steps that build on each other: the first failure ends the list.
 *
 * @param {readonly Step[]} steps
 * @returns {Promise<boolean>} whether all succeeded
 */
export async function runInOrder(steps) {
  for (const step of steps) {
    if (!(await runStep(step))) return false;
  }
  return true;
}
