/**
 * The data folder of a server: who else could write to it, and whether it can be used at all. Who can write to the database can make keys.
 */
import { chmodSync, lchownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dataRisks } from "../../packages/server/src/serve/data-risk.ts";
import { FolderFailure, makeFolder } from "../../packages/server/src/system/folder.ts";
import { dataFinding } from "../../packages/server/src/tools/doctor/machine-checks.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { SluiceServer, sluice } from "../rig/sluice-server.ts";

let folder = "";
let data = "";
const started: SluiceServer[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  data = join(folder, "data");
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop("SIGKILL");
  removeFolder(folder);
});

const finding = () => dataFinding({ sqlUrl: null, dataDir: data });

/** It must refuse to start, for this reason, and the doctor must have found it. */
async function expectRefused(reason: RegExp): Promise<void> {
  expect(await finding()).toMatchObject({ status: "fail", text: expect.stringMatching(reason) });
  const { code, out, err } = await sluice(["serve", "--port", "0", "--data", data]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(reason);
  expect(err).toMatch(/^error: .*\nhint: /);
}

describe("a data folder that others may write to", () => {
  test("is refused by serve and found by doctor", async () => {
    mkdirSync(data);
    chmodSync(data, 0o777);
    await expectRefused(/every user of this machine may write to \S+\/data \(mode 0777\)/);
    chmodSync(data, 0o700);
    expect(await finding()).toMatchObject({ status: "ok" });
  });

  test.each(["sluice.db", "sluice.db-wal"])(
    "%s that others may write to, in a folder that is safe, too",
    async (name) => {
      mkdirSync(data, { mode: 0o700 });
      writeFileSync(join(data, name), "");
      chmodSync(join(data, name), 0o666);
      await expectRefused(new RegExp(`every user of this machine may write to \\S+/${name} \\(mode 0666\\)`));
    },
  );

  test("only by its group: serve starts with a warning, and doctor warns", async () => {
    mkdirSync(data);
    chmodSync(data, 0o770);
    expect(await finding()).toMatchObject({
      status: "warn",
      text: expect.stringMatching(/the group with id \d+ may write/),
    });
    const server = await SluiceServer.start(folder);
    started.push(server);
    expect(server.log("data.writable")).toMatchObject([{ level: "warn", reason: expect.stringContaining("0770") }]);
  });
});

describe("a database of somebody else", () => {
  const isRoot = process.getuid!() === 0;
  /** Root gives the file away; another user looks with the eyes of a third one. */
  const owner = isRoot ? 12_345 : process.getuid!();
  const own = (path: string) => isRoot && lchownSync(path, owner, owner);
  const risks = () => dataRisks(data, join(data, "sluice.db"), isRoot ? 0 : 54_321).map(({ text }) => text);
  const told = (kind: string) => expect.stringContaining(`is a ${kind} owned by the user with id ${owner}, who could`);

  test("is found: the folder, the file, and a link to a file", () => {
    mkdirSync(data, { mode: 0o700 });
    own(data);
    expect(risks()).toEqual([told("folder")]);
    writeFileSync(join(data, "sluice.db"), "", { mode: 0o600 });
    own(join(data, "sluice.db"));
    expect(risks()).toEqual([told("folder"), told("file")]);
    rmSync(join(data, "sluice.db"));
    symlinkSync(join(folder, "planted.db"), join(data, "sluice.db"));
    own(join(data, "sluice.db"));
    expect(risks()).toEqual([told("folder"), told("symbolic link")]);
  });

  test("a database that is not a file is refused, and not opened", async () => {
    mkdirSync(join(data, "sluice.db"), { recursive: true, mode: 0o700 });
    await expectRefused(/sluice\.db is not a regular file/);
  });
});

describe("a data folder that cannot be", () => {
  test("/proc/nope is refused at once, where mkdir never returned", async () => {
    data = "/proc/nope";
    await expectRefused(/\/proc(\/nope)?: its file system does not allow new folders/);
  });

  test("a link that leads nowhere is named by serve and doctor", async () => {
    symlinkSync(join(folder, "gone"), data);
    await expectRefused(/\/data: it is a symbolic link to something that does not exist/);
  });

  test("is named with the level that fails, and the other levels are made for their owner alone", () => {
    makeFolder(join(data, "a", "b"));
    for (const path of [data, join(data, "a"), join(data, "a", "b")]) expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(join(data, "file"), "");
    expect(() => makeFolder(join(data, "file", "x", "y"))).toThrow(FolderFailure);
    expect(() => makeFolder(join(data, "file", "x", "y"))).toThrow(`${data}/file: it is not a folder (ENOTDIR)`);
  });
});
