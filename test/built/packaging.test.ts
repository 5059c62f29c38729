/**
 * What `npm pack` makes runs where nothing of this tree is: installed into empty folders, by npm, as a user would.
 *
 * The library is installed offline, so it can have no dependency. The server's come from npm's cache, or the registry. Both are the
 * built packages: `npm run build` first.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = ["sluice", "server"] as const;
/** What a package is made of, and nothing else: no source, no test, no map. */
const PACKED =
  /^(?:LICENSE|README\.md|package\.json|bin\/sluice\.mjs|dist\/[\w-]+\.(?:c?js|d\.c?ts)|dist\/ui\/\w+\.(?:js|css|html|svg))$/;

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (name: string) =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as Manifest;

let folder = "";
const packed = new Map<string, Packed>();
const tarball = (name: string) => join(folder, packed.get(name)!.filename);

beforeAll(async () => {
  folder = temporaryFolder();
  for (const name of PACKAGES) {
    const args = ["pack", "--json", "--pack-destination", folder];
    const { stdout } = await run("npm", args, { cwd: join(root, "packages", name) });
    const [first] = JSON.parse(stdout) as Packed[];
    packed.set(name, first!);
  }
});
afterAll(() => removeFolder(folder));

/** An empty project, with these installed; answers its folder. */
async function installed(files: readonly string[], ...flags: string[]): Promise<string> {
  const project = temporaryFolder();
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  await run("npm", ["install", "--no-audit", "--no-fund", ...flags, ...files], { cwd: project });
  return project;
}

describe("packed", () => {
  test.each(PACKAGES)("%s holds what was built, a README and the licence, and nothing else", (name) => {
    const paths = packed.get(name)!.files.map(({ path }) => path);
    expect(paths.filter((path) => !PACKED.test(path))).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(paths.some((path) => path.startsWith("dist/"))).toBe(true);
    const page = ["dist/ui/icon.svg", "dist/ui/index.html", "dist/ui/page.css", "dist/ui/page.js"];
    expect(paths.filter((path) => path.startsWith("dist/ui/")).sort()).toEqual(name === "server" ? page : []);
  });

  test("both have one version, the server asks for that very library, and neither is private", () => {
    const [library, server] = PACKAGES.map(manifestOf);
    expect(server!.version).toBe(library!.version);
    expect(server!.dependencies?.["sluice"]).toBe(library!.version);
    expect([library!.private, server!.private]).toEqual([undefined, undefined]);
    expect(library!.dependencies).toBeUndefined();
  });

  test("the simulator is private, and no package asks for it when it is installed", () => {
    expect(manifestOf("sim").private).toBe(true);
    expect(PACKAGES.map((name) => manifestOf(name).dependencies?.["@sluice/sim"])).toEqual([undefined, undefined]);
  });
});

describe("sluice, installed into an empty folder", () => {
  test("decides with nothing but itself, and names the driver that a store lacks", async () => {
    const project = await installed([tarball("sluice")], "--offline");
    const script = `
      import { readdirSync, readFileSync } from "node:fs";
      import { Limiter } from "sluice";
      const limiter = new Limiter();
      const request = { namespace: "api", identifier: "user_42", limit: 1, duration: "30d" };
      const answers = [(await limiter.limit(request)).success, (await limiter.limit(request)).success];
      await limiter.close();
      const there = readdirSync("node_modules").filter((name) => !name.startsWith("."));
      const refusals = {};
      const { exports } = JSON.parse(readFileSync("node_modules/sluice/package.json", "utf8"));
      for (const name of Object.keys(exports).filter((name) => name !== "./package.json")) {
        await import("sluice" + name.slice(1)).catch((error) => (refusals[name] = error.code));
      }
      console.log(JSON.stringify({ answers, there, refusals }));`;
    writeFileSync(join(project, "ask.js"), script);
    const { stdout } = await run(process.execPath, ["ask.js"], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({
      answers: [true, false],
      there: ["sluice"],
      refusals: Object.fromEntries(["./mysql", "./postgres"].map((name) => [name, "ERR_MODULE_NOT_FOUND"])),
    });
    removeFolder(project);
  });

  test("is loaded by import and by require, and each knows the errors of the other", async () => {
    const project = await installed([tarball("sluice")], "--offline");
    writeFileSync(
      join(project, "errors.cjs"),
      `const { Limiter, SluiceError } = require("sluice");
      module.exports = { SluiceError, misuse: () => new Limiter({ cellsMax: 0 }) };`,
    );
    const script = `
      import { Limiter, SluiceError } from "sluice";
      import commonJs from "./errors.cjs";
      const caught = (act) => { try { act(); } catch (error) { return error; } };
      const theirs = caught(commonJs.misuse);
      const ours = caught(() => new Limiter({ cellsMax: 0 }));
      class Special extends SluiceError {}
      console.log(JSON.stringify([
        commonJs.SluiceError === SluiceError,
        theirs instanceof SluiceError, ours instanceof commonJs.SluiceError,
        new Error("other") instanceof SluiceError, null instanceof SluiceError, ours instanceof Special,
      ]));`;
    writeFileSync(join(project, "ask.js"), script);
    const { stdout } = await run(process.execPath, ["ask.js"], { cwd: project });
    expect(JSON.parse(stdout)).toEqual([false, true, true, false, false, false]);
    removeFolder(project);
  });
});

describe("@sluice/server, installed into an empty folder", () => {
  test("has its command, says its version, rehearses a plan, serves, counts and stops", async () => {
    const files = [tarball("sluice"), tarball("server")];
    const project = await installed(files, "--prefer-offline", "--ignore-scripts");
    const { stdout: help } = await run("npx", ["sluice", "--help"], { cwd: project });
    expect(help).toMatch(/^ {2}serve /m);
    const command = join(project, "node_modules", "@sluice", "server", "bin", "sluice.mjs");
    const { stdout: version } = await run(process.execPath, [command, "--version"], { cwd: project });
    expect(version.trim()).toBe(manifestOf("server").version);

    // The simulator is part of what was built.
    const plan = ["simulate", "--regions", "1", "--processes", "1", "--limit", "10", "--windows", "1", "--json"];
    const { stdout: report } = await run(process.execPath, [command, ...plan], { cwd: project });
    expect(JSON.parse(report)).toMatchObject({ admittedOverLimit: 1, falseDenials: 0, problem: null });

    const server = await SluiceServer.start(project, { command });
    // So long that no window ends in between.
    const request = { namespace: "api", identifier: "user_42", limit: 1, duration: 30 * 86_400_000 };
    const answers = [await server.post("limit", request), await server.post("limit", request)];
    expect(answers.map(({ status, body }) => [status, body.data.success])).toEqual([
      [200, true],
      [200, false],
    ]);
    expect((await server.ready()).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
    removeFolder(project);
  }, 180_000);
});
