/**
 * `sluice/fetch` and `sluice/hono`, built, on Bun, Deno and workerd from the npm registry. The limiter is made in the global scope, where
 * workerd forbids random values. Needs the built package: `npm run build` first.
 */
import { execFile, spawn } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../../rig/child-processes.ts";
import { freePort } from "../../rig/free-port.ts";
import { installSuitePackages } from "../../rig/suite-packages.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../../../packages/sluice/dist", import.meta.url));
const packages = join(import.meta.dirname, "node_modules");

/** Ends in 30 days at the earliest in most runs; a window that ends between two requests would only give a third 200. */
const APP = `
import { byHeader, rateLimit as limitFetch } from ${JSON.stringify(`${dist}/fetch.js`)};
import { rateLimit as limitHono } from ${JSON.stringify(`${dist}/hono.js`)};
import { Hono } from "hono";

const options = { key: byHeader("x-client"), limit: 2, duration: "30d" };
const plain = limitFetch(options).wrap(() => new Response("hello"));
const hono = new Hono().use(limitHono(options)).get("/hono", (c) => c.text("hello"));
export const handle = (request) => (new URL(request.url).pathname === "/hono" ? hono.fetch(request) : plain(request));
`;
const PROBE = `
import { handle } from "./app.mjs";
const seen = [];
for (const path of ["/", "/hono"]) {
  for (let i = 0; i < 3; i++) {
    const { status, headers } = await handle(new Request("http://localhost" + path, { headers: { "x-client": "a" } }));
    seen.push([status, headers.get("ratelimit")?.replace(/t=.*/, "")]);
  }
}
console.log(JSON.stringify(seen));
`;
const ONE = [
  [200, '"default";r=1;'],
  [200, '"default";r=0;'],
  [429, '"default";r=0;'],
];
const EXPECTED = [...ONE, ...ONE];

let folder = "";
beforeAll(() => {
  installSuitePackages(import.meta.dirname);
  folder = temporaryFolder();
  symlinkSync(packages, join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "dependencies": { "hono": "*" } }');
  writeFileSync(join(folder, "app.mjs"), APP);
  writeFileSync(join(folder, "probe.mjs"), PROBE);
});
afterAll(() => removeFolder(folder));

describe("runtimes", () => {
  test.each([
    ["Bun", "@oven/bun-linux-x64/bin/bun", ["run"]],
    ["Deno", "@deno/linux-x64-glibc/deno", ["run", "-A", "--node-modules-dir=manual"]],
  ])("%s limits, and its timers keep no process alive", async (_name, binary, args) => {
    const { stdout } = await run(join(packages, binary), [...args, "probe.mjs"], { cwd: folder, timeout: 50_000 });
    expect(JSON.parse(stdout)).toEqual(EXPECTED);
  });

  test("workerd limits with a limiter of the global scope", async () => {
    writeFileSync(
      join(folder, "worker.mjs"),
      'import { handle } from "./app.mjs";\nexport default { fetch: (request) => handle(request) };\n',
    );
    const bundle = await rolldown({ input: join(folder, "worker.mjs"), platform: "browser" });
    await bundle.write({ file: join(folder, "bundle.mjs"), format: "esm" });
    await bundle.close();
    const port = await freePort();
    writeFileSync(
      join(folder, "config.capnp"),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (modules = [(name = "worker", esModule = embed "bundle.mjs")], compatibilityDate = "2026-01-01"))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`,
    );
    const server = spawn(join(packages, "@cloudflare/workerd-linux-64/bin/workerd"), ["serve", "config.capnp"], {
      cwd: folder,
    });
    try {
      const url = `http://127.0.0.1:${port}`;
      await expect
        .poll(
          () =>
            fetch(url).then(
              ({ status }) => status,
              () => 0,
            ),
          { timeout: 30_000 },
        )
        .toBe(200);
      const seen: unknown[] = [];
      for (const path of ["/", "/", "/", "/hono", "/hono", "/hono"]) {
        const { status, headers } = await fetch(url + path, { headers: { "x-client": "a" } });
        seen.push([status, headers.get("ratelimit")?.replace(/t=.*/, "")]);
      }
      expect(seen).toEqual(EXPECTED);
    } finally {
      server.kill();
    }
  });
});
