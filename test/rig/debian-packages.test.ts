/**
 * The installer, with a fake apt-get in a temporary folder. Like the real one it fails if another one is at work, and what it
 * installs is on the PATH afterwards.
 */
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { removeFolder, temporaryFolder } from "./child-processes.ts";
import { debianBinary } from "./debian-binary.ts";

const PROGRAM = fileURLToPath(new URL("../../scripts/debian-packages.mjs", import.meta.url));
const folders: string[] = [];

afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of folders.splice(0)) removeFolder(folder);
});

/** Installs a package named `x` as a program `x`; says in `calls` how it was called. */
const FAKE_APT = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
mkdir "$here/lock" || { echo "could not get lock" >&2; exit 100; }
sleep 0.1
status=0
case "$*" in *"update"*) ;; *)
  for name in "$@"; do
    case "$name" in fake-broken) status=100 ;; fake-*) touch "$here/bin/$name" ;; esac
  done ;;
esac
rmdir "$here/lock"
exit $status
`;

function fakeMachine() {
  const folder = temporaryFolder();
  folders.push(folder);
  mkdirSync(join(folder, "bin"));
  const apt = join(folder, "apt-get");
  writeFileSync(apt, FAKE_APT);
  chmodSync(apt, 0o755);
  const env = {
    ...process.env,
    TMPDIR: folder,
    PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
    SLUICE_APT: apt,
  };
  const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
  return { folder, env, calls };
}

const binary = (name: string) => ({ names: [name], package: name });

describe("debian packages", () => {
  test("what is missing is installed with one update and one install, and what is there is left alone", () => {
    const { env, calls } = fakeMachine();
    const wanted = JSON.stringify(["fake-a", "fake-b", "sh"].map(binary));
    const { stdout, status } = spawnSync(process.execPath, [PROGRAM, wanted], { env, encoding: "utf8" });
    expect({ status, stdout }).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^installing fake-a, fake-b \(apt-get\) …\ninstalled in [\d.]+ s\n$/),
    });
    expect(calls()).toEqual([
      "-o DPkg::Lock::Timeout=300 update",
      "-o DPkg::Lock::Timeout=300 install -y --no-install-recommends fake-a fake-b",
    ]);
    spawnSync(process.execPath, [PROGRAM, wanted], { env });
    expect(calls()).toHaveLength(2);
  });

  test("several processes that need the same programs at once install each of them once, and none loses the race for the lock", async () => {
    const { env, calls } = fakeMachine();
    const [a, b] = [JSON.stringify([binary("fake-a")]), JSON.stringify([binary("fake-b")])];
    const run = (wanted: string) => promisify(execFile)(process.execPath, [PROGRAM, wanted], { env });
    const said = await Promise.all([a, b, a, b, a, b].map(run));
    expect(said.map(({ stderr }) => stderr).join("")).toBe("");
    expect(
      calls()
        .filter((call) => call.includes("install"))
        .sort(),
    ).toEqual([
      "-o DPkg::Lock::Timeout=300 install -y --no-install-recommends fake-a",
      "-o DPkg::Lock::Timeout=300 install -y --no-install-recommends fake-b",
    ]);
  });

  test("an installation that fails shows what apt-get said, and leaves the complaint to the suite", () => {
    const { folder, env } = fakeMachine();
    mkdirSync(join(folder, "lock"));
    const wanted = JSON.stringify([binary("fake-a")]);
    const { stderr, status } = spawnSync(process.execPath, [PROGRAM, wanted], { env, encoding: "utf8" });
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining("could not get lock") });
  });

  test("a program that cannot be installed is named with its package", () => {
    const { env } = fakeMachine();
    vi.stubEnv("SLUICE_APT", env.SLUICE_APT);
    vi.stubEnv("TMPDIR", env.TMPDIR);
    expect(() => debianBinary(binary("fake-broken"))).toThrow(
      "These suites need fake-broken: install Debian's fake-broken (apt-get install fake-broken).",
    );
  });
});
