/**
 * The installation of a suite's own packages, with a fake npm in a temporary folder. It fails if another one is at work, and writes down
 * where it was called.
 */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SUITE_FOLDERS } from "../../scripts/suite-packages.mjs";
import { removeFolder, temporaryFolder } from "./child-processes.ts";
import { installSuitePackages } from "./suite-packages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(ROOT, "scripts/suite-packages.mjs");
const machines: string[] = [];

afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of machines.splice(0)) removeFolder(folder);
});

const FAKE_NPM = `#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$PWD") $*" >>"$here/calls"
mkdir "$here/lock" || { echo "another npm is at work" >&2; exit 1; }
sleep 0.1
mkdir -p node_modules
rmdir "$here/lock"
`;

/** Two folders, a and b, each with a lock file. */
function fakeMachine() {
  const machine = temporaryFolder();
  machines.push(machine);
  const npm = join(machine, "npm");
  writeFileSync(npm, FAKE_NPM);
  chmodSync(npm, 0o755);
  const folders = ["a", "b"].map((name) => join(machine, name));
  for (const folder of folders) {
    mkdirSync(folder);
    writeFileSync(join(folder, "package-lock.json"), `{"name":"${folder}"}`);
  }
  const env = { ...process.env, TMPDIR: machine, PATH: `${machine}:${process.env["PATH"]}` };
  const calls = () => readFileSync(join(machine, "calls"), "utf8").trim().split("\n");
  return { machine, folders, env, calls };
}

const CI = "ci --prefer-offline --ignore-scripts --no-audit --no-fund --engine-strict=false";

describe("packages of a suite", () => {
  test("a folder is installed once, and again when its lock file changes", async () => {
    const { folders, env, calls } = fakeMachine();
    const run = () => promisify(execFile)(process.execPath, [PROGRAM, ...folders], { env });
    await run();
    await run();
    expect(calls()).toEqual([`a ${CI}`, `b ${CI}`]);
    writeFileSync(join(folders[1]!, "package-lock.json"), "{}");
    await run();
    expect(calls()).toEqual([`a ${CI}`, `b ${CI}`, `b ${CI}`]);
  });

  test("several processes that need the same folders at once install each of them once", async () => {
    const { folders, env, calls } = fakeMachine();
    const run = (wanted: readonly string[]) => promisify(execFile)(process.execPath, [PROGRAM, ...wanted], { env });
    await Promise.all([folders, folders.toReversed(), folders, folders.toReversed()].map(run));
    expect(calls().toSorted()).toEqual([`a ${CI}`, `b ${CI}`]);
  });

  test("an installation that fails throws what npm printed, and the folder is not up to date", () => {
    const { machine, folders, env } = fakeMachine();
    mkdirSync(join(machine, "lock"));
    vi.stubEnv("TMPDIR", env.TMPDIR);
    vi.stubEnv("PATH", env.PATH);
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(() => installSuitePackages(folders[0]!)).toThrow(
        /^This suite needs the packages of .*\/a; npm ci failed there:\n(?:.*\n)*another npm is at work/,
      );
    }
  });

  test("every folder has a lock file, and the root installs none of its packages", () => {
    const names = (path: string) => {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(ROOT, path), "utf8")) as Record<
        string,
        object
      >;
      return Object.keys({ ...dependencies, ...devDependencies });
    };
    const atRoot = new Set(names("package.json"));
    for (const folder of SUITE_FOLDERS) {
      expect(existsSync(join(ROOT, folder, "package-lock.json")), folder).toBe(true);
      expect(names(`${folder}/package.json`).filter((name) => atRoot.has(name))).toEqual([]);
    }
  });
});
