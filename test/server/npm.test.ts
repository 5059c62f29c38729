/** A server that npm started: SIGTERM for npm stops it, as it would stop the server itself, and one in the background outlives npm. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runsInForeground } from "../../packages/server/src/cli/npm-parent.ts";
import { end, removeFolder, start, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND = join(ROOT, "packages/server/bin/sluice.mjs");
const START_WITHIN_MS = 30_000;
/** Several looks of the server at its parent. */
const OUTLIVES_MS = 1_500;

let folder = "";
let pid = 0;
beforeEach(() => {
  folder = temporaryFolder();
  pid = 0;
});
afterEach(() => {
  if (pid !== 0 && isAlive()) process.kill(pid, "SIGKILL");
  removeFolder(folder);
});

function isAlive(): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** npm with these words, and what the server below it logs. */
function npm(words: readonly string[], cwd: string) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, npm_config_update_notifier: "false" };
  const child = start("npm", words, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr!.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const event = (name: string) => new RegExp(`^\\{.*"event":"${name}"\\}$`, "m").exec(log)?.[0];
  const listening = async () => {
    const line = JSON.parse(await poll("a server below npm", () => event("listening"), START_WITHIN_MS)) as {
      pid: number;
      ops: string;
    };
    pid = line.pid;
    return line;
  };
  return { child, event, listening };
}

const serveArgs = () => ["serve", "--port", "0", "--data", join(folder, "data")];

function writeScript(name: string, script: string): void {
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "try", private: true, scripts: { [name]: script } }),
  );
}

describe("SIGTERM for npm", () => {
  test("reaches the server of npx", async () => {
    const { child, event, listening } = npm(["exec", "--no", "--", "sluice", ...serveArgs()], ROOT);
    await listening();
    await end(child, "SIGTERM");
    await poll("its end", () => !isAlive(), START_WITHIN_MS);
    expect(event("stopped")).toBeDefined();
  });

  test("reaches the server of npm start, with its workers", async () => {
    writeScript("start", `"${process.execPath}" "${COMMAND}" ${serveArgs().join(" ")} --workers 2`);
    const { child, event, listening } = npm(["start"], folder);
    await listening();
    await end(child, "SIGTERM");
    await poll("its end", () => !isAlive(), START_WITHIN_MS);
    expect(event("stopped")).toBeDefined();
  });

  test("and its end do not concern a server that a script left in the background", async () => {
    writeScript("background", `"${process.execPath}" "${COMMAND}" ${serveArgs().join(" ")} &`);
    const { child, listening } = npm(["run", "background"], folder);
    const { ops } = await listening();
    await poll("the end of npm", () => child.exitCode !== null);
    const beganMs = performance.now();
    while (performance.now() - beganMs < OUTLIVES_MS) expect((await fetch(`${ops}/health`)).status).toBe(200);
  });
});

test.each<[readonly string[], boolean]>([
  [["sh", "-c", "sluice serve"], true],
  [["/bin/bash", "-c", "npm run build && sluice serve 2>&1"], true],
  [["sh", "-c", "'sluice' serve", "sluice"], true],
  [["sh", "-c", "sluice serve &"], false],
  [["sh", "-c", "nohup sluice serve"], false],
  [["sh", "-c", "sluice serve & wait"], false],
  [["bash"], false],
  [["-bash"], false],
  [["bash", "-i", "-c", "sluice serve"], false],
  [["node", "-c", "x"], false],
  [["npm start"], false],
  [[], false],
])("the parent %j runs a server in the foreground: %s", (words, isForeground) => {
  expect(runsInForeground(words)).toBe(isForeground);
});
