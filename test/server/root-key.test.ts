/** The first root key: long enough, and shown where only the person at the terminal sees it. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { end, removeFolder, start, temporaryFolder } from "../rig/child-processes.ts";
import { DEBIAN, debianBinary } from "../rig/debian-binary.ts";
import { poll } from "../rig/poll.ts";
import { SluiceServer, sluice } from "../rig/sluice-server.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sluice.mjs", import.meta.url));
const SCRIPT = debianBinary(DEBIAN.script);
const LIMIT = { namespace: "api", identifier: "user_1", limit: 100, duration: 60_000 };

let folder = "";
const started: SluiceServer[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop("SIGKILL");
  removeFolder(folder);
});

describe("the first root key", () => {
  test("goes to a file of its owner alone where standard output is not a terminal; a planted link is replaced", async () => {
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(join(folder, "elsewhere"), "as it was");
    symlinkSync(join(folder, "elsewhere"), join(data, "root-key"));
    const server = await SluiceServer.start(folder);
    started.push(server);
    expect(lstatSync(join(data, "root-key")).isFile()).toBe(true);
    expect(statSync(join(data, "root-key")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, "elsewhere"), "utf8")).toBe("as it was");
    expect((await server.post("limit", LIMIT)).status).toBe(200);
    const { out, err } = server.said();
    expect(out).toContain(`Root key written to ${data}/root-key `);
    expect(out + err).not.toContain("sluice_");
  });

  test("is printed in a terminal, and not written", async () => {
    const line = `'${process.execPath}' '${COMMAND}' serve --port 0 --data '${folder}/data'`;
    const child = start(SCRIPT, ["-qefc", line, "/dev/null"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env["PATH"] ?? "", SHELL: "/bin/sh" },
    });
    let out = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    await poll("the greeting", () => out.includes("curl "), 30_000);
    await end(child, "SIGTERM");
    expect(out).toMatch(/^Root key \(shown only once\): sluice_\w+\r$/m);
    expect(lstatSync(join(folder, "data", "root-key"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("that cannot be written is not printed either: the server runs, and says how to make another", async () => {
    // The store is elsewhere, so the server starts; a folder of the file's name is in the way of the key.
    mkdirSync(join(folder, "data", "root-key", "full"), { recursive: true });
    chmodSync(join(folder, "data"), 0o700);
    const server = await SluiceServer.start(folder);
    started.push(server);
    const { out, err } = server.said();
    expect(out).toMatch(
      /^A root key was created, but could not be written \(E\w+: .*\)\. Create another: sluice keys create/m,
    );
    expect(server.log("root-key.unwritten")).toMatchObject([{ level: "warn" }]);
    expect(out + err).not.toContain("sluice_");
  });

  test.each([8, 19])(
    "preset with %i characters is refused by serve and config check, and is not shown",
    async (length) => {
      const key = "k3y-".repeat(5).slice(0, length);
      for (const words of [
        ["serve", "--port", "0", "--data", join(folder, "data")],
        ["config", "check"],
      ]) {
        const { code, out, err } = await sluice(words, { SLUICE_ROOT_KEY: key });
        expect({ code, out }).toEqual({ code: 2, out: "" });
        expect(err).toMatch(
          new RegExp(
            `^error: SLUICE_ROOT_KEY must be 20 to 512 printable ASCII characters .* ${length} characters, not shown`,
          ),
        );
        expect(err).not.toContain(key);
      }
    },
  );

  test("preset with 20 characters is taken", async () => {
    const server = await SluiceServer.start(folder, { environment: { SLUICE_ROOT_KEY: "twenty-characters-20" } });
    started.push(server);
    expect((await server.post("limit", LIMIT)).status).toBe(200);
  });
});
