/**
 * docs/two-regions.md is true: its commands are run as they stand, in one shell, and the server answers what the page says.
 *
 * Changed are only the ports, the folder, and the pauses: those become questions that are asked until the answer is there.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeFolder, start, temporaryFolder } from "../rig/child-processes.ts";
import { freePort } from "../rig/free-port.ts";
import { redisBinary } from "../rig/redis-binary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs", "two-regions.md"), "utf8");
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join("\n");
const PATH = [dirname(redisBinary()), process.env["PATH"]].join(":");

const ports = new Map<string, number>();
let folder = "";

beforeAll(async () => {
  folder = temporaryFolder();
  for (const port of new Set(commands.match(/\b[789]10\d\b/g))) ports.set(port, await freePort());
});

afterAll(() => {
  // Whatever went wrong above: a Redis that the page started is nobody's child.
  for (const port of ["7101", "7102"]) {
    try {
      execFileSync("redis-cli", ["-p", String(ports.get(port)), "shutdown", "nosave"], {
        env: { PATH },
        stdio: "ignore",
      });
    } catch {
      // It is gone, as it should be.
    }
  }
  removeFolder(folder);
});

/** Asks until the output has the word: what the page's reader waits for. */
const until = (port: string, word: string) =>
  `until sluice inspect api user_42 --limit 10 --duration 1h --url http://127.0.0.1:${port} | grep -q "${word}"; do :; done`;

test("the commands of docs/two-regions.md do what the page says", async () => {
  const script = commands
    .replace(/^sleep 5$/m, until("8103", "foreign 6"))
    .replace(/^sleep 2$/m, until("8104", "1000 in"))
    .replaceAll(/(?:\$PWD\/)?sluice-data/g, folder)
    .replaceAll(/\b[789]10\d\b/g, (port) => String(ports.get(port)));
  expect(script).not.toContain("sleep");

  const shell = start("bash", ["-c", `${script}\necho "ended with $?"`], { cwd: root, env: { PATH } });
  let out = "";
  shell.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  shell.stderr?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  await new Promise((resolve) => shell.once("close", resolve));

  const promised = [...commands.matchAll(/^sluice limit .*# (allowed|denied)/gm)].map(([, word]) => word);
  const answered = [...out.matchAll(/^(allowed|denied):/gm)].map(([, word]) => word);
  expect(promised, out).toEqual(["allowed", "denied", "denied", "allowed", "allowed"]);
  expect(answered, out).toEqual(promised);
  expect(out.match(/^\{"ready":true/gm), out).toHaveLength(5);
  expect(out).toContain('"region":{"status":"away"');
  for (const name of ["eu-west-1", "eu-west-2", "us-east-1", "us-east-2"]) {
    expect(readFileSync(join(folder, `${name}.log`), "utf8"), name).toMatch(/"event":"stopped"|"lost":0/);
  }
}, 180_000);
