/** `sluice serve` as a user starts it: what it prints, keeps, refuses, and where it listens. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { adminTables, migrateAdmin } from "../../packages/server/src/admin/admin-schema.ts";
import { openAdminLink } from "../../packages/server/src/admin/open-admin-store.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { makeCertificate } from "../rig/certificate.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { freePort } from "../rig/free-port.ts";
import { poll } from "../rig/poll.ts";
import { type ServerOptions, SluiceServer, sluice } from "../rig/sluice-server.ts";

let folder = "";
const started: SluiceServer[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop("SIGKILL");
  removeFolder(folder);
});

async function serve(options: ServerOptions = {}): Promise<SluiceServer> {
  const server = SluiceServer.begin(folder, options);
  started.push(server);
  await server.greeted();
  return server;
}

describe("sluice serve", () => {
  test("prints address, the file of the key and a curl line that works as pasted; a restart keeps the key", async () => {
    const server = await serve();
    const { out } = server.said();
    expect(out).toMatch(/^Sluice listens on http:\/\/127\.0\.0\.1:\d+\nRoot key written to \S+\/data\/root-key /);
    const line = out.split("\n").find((one) => one.includes("curl "))!;
    const answers = Array.from({ length: 6 }, () => JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" })));
    expect(answers.map(({ data }) => data.success)).toEqual([true, true, true, true, true, false]);
    expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "data", "sluice.db")).mode & 0o777).toBe(0o600);
    expect(await server.ready()).toMatchObject({ status: 200, body: { ready: true } });
    const stopped = await server.stop();
    expect(stopped.code).toBe(0);
    // In that file and nowhere else: not in what is printed, not in the log, not in the database.
    expect(server.key).toMatch(/^sluice_\w+$/);
    expect(stopped.out + stopped.err).not.toContain(server.key);
    expect(readFileSync(join(folder, "data", "sluice.db"), "latin1")).not.toContain(server.key);

    const again = await serve();
    expect(again.said().out).not.toContain("sluice_");
    expect(again.said().out).toContain("To create another: sluice keys create --permissions '*'");
    expect((await again.post("limit", LIMIT, server.key)).status).toBe(200);
  });

  test("a preset key is not printed, and the curl line takes it from the environment", async () => {
    const key = "a-preset-key-of-24-chars";
    const server = await serve({ environment: { SLUICE_ROOT_KEY: key } });
    const { out } = server.said();
    expect(out).not.toContain(key);
    const line = out.split("\n").find((one) => one.includes("curl "))!;
    const answer = execFileSync("sh", ["-c", line], {
      encoding: "utf8",
      env: { ...process.env, SLUICE_ROOT_KEY: key },
    });
    expect(JSON.parse(answer).data.success).toBe(true);
  });

  test("listens on loopback alone, with both of its listeners", async () => {
    const server = await serve();
    const outside = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ internal }) => !internal);
    // Whatever this machine is called from outside: nobody answers there.
    const ports = [server.url, server.opsUrl].map((url) => Number(new URL(url).port));
    const listening = readFileSync("/proc/net/tcp", "utf8") + readFileSync("/proc/net/tcp6", "utf8");
    for (const port of ports) {
      const hex = port.toString(16).toUpperCase().padStart(4, "0");
      const places = [...listening.matchAll(new RegExp(`^ *\\d+: ([0-9A-F]+):${hex} \\S+ 0A`, "gm"))].map(
        ([, at]) => at,
      );
      expect(places).toEqual(["0100007F"]);
    }
    for (const { address, family } of outside) {
      const host = family === "IPv6" ? `[${address}]` : address;
      if (family === "IPv4") await expect(fetch(`http://${host}:${ports[0]}/health`)).rejects.toThrow();
    }
  });

  test("with a certificate it speaks HTTPS, beyond loopback too", async () => {
    const { certFile, keyFile } = makeCertificate();
    const server = await serve({ args: ["--host", "0.0.0.0", "--tls-cert-file", certFile, "--tls-key-file", keyFile] });
    expect(server.url).toMatch(/^https:\/\/0\.0\.0\.0:\d+$/);
    const line = server
      .said()
      .out.split("\n")
      .find((one) => one.includes("curl "))!;
    expect(line).toContain("https://127.0.0.1:");
    expect(JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" })).data.success).toBe(true);
  });

  test("takes another port for health and readiness where the usual one is taken, and nobody asked for it", async () => {
    const [first, second] = [await freePort(), await freePort()];
    const one = SluiceServer.begin(folder, { args: ["--port", String(first)] });
    started.push(one);
    await one.greeted();
    const two = SluiceServer.begin(join(folder, "two"), { args: ["--port", String(second)] });
    started.push(two);
    await two.greeted();
    expect(one.opsUrl).not.toBe(two.opsUrl);
    expect((await one.ready()).status).toBe(200);
    expect((await two.ready()).status).toBe(200);
  });
});

describe("a server on loopback", () => {
  test("answers to the names of loopback alone, with both of its listeners", async () => {
    const server = await serve();
    const statusOf = (url: string, host: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = get(url, { headers: { host }, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode!);
        });
        asked.on("error", reject);
      });
    for (const url of [`${server.url}/health`, `${server.opsUrl}/health`]) {
      for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080"]) {
        expect([host, await statusOf(url, host)]).toEqual([host, 200]);
      }
      for (const host of ["evil.example", "127.0.0.1.evil.example:8080"]) {
        expect([host, await statusOf(url, host)]).toEqual([host, 421]);
      }
    }
  });

  test("goes on when nobody reads what it prints", async () => {
    const server = SluiceServer.begin(folder);
    started.push(server);
    server.child.stdout!.destroy();
    const [event] = await poll("a server", () => {
      const events = server.log("listening");
      return events.length > 0 ? events : undefined;
    });
    server.url = String(event!["url"]);
    server.opsUrl = String(event!["ops"]);
    // The greeting follows when the key is made: that is seen in the store.
    await poll(
      "the key",
      async () => (await sluice(["keys", "list", "--data", join(folder, "data")])).out !== "no keys\n",
    );
    expect((await server.ready()).status).toBe(200);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });

  test("warns of a database that is given without the name of a region, and so does config check", async () => {
    const sqlUrl = `sqlite:${join(folder, "shared.db")}`;
    const server = await serve({ args: ["--sql-url", sqlUrl] });
    expect(server.log("settings.doubtful")).toMatchObject([{ level: "warn", advice: expect.stringMatching(/region/) }]);
    const checked = await sluice(["config", "check", "--sql-url", sqlUrl]);
    expect(checked).toMatchObject({ code: 0, err: expect.stringMatching(/^warning: sql.url is set, but region/) });
    const asJson = await sluice(["config", "check", "--json", "--sql-url", sqlUrl, "--region", "eu"]);
    expect(JSON.parse(asJson.out).warnings).toEqual([]);
  });
});

const LIMIT = { namespace: "api", identifier: "user_1", limit: 100, duration: 60_000 };

describe("a start that cannot be", () => {
  test("a port that is taken: says so, with a hint, and ends with 1", async () => {
    const taken = createServer();
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port));
    });
    for (const workers of ["1", "2"]) {
      const args = ["serve", "--port", String(port), "--data", join(folder, "data"), "--workers", workers];
      const { code, out, err } = await sluice([...args, "--log-level", "error"]);
      expect(err).toBe(
        `error: cannot listen on 127.0.0.1:${port}: the port is in use (EADDRINUSE)\n` +
          "hint: stop the process that uses it, or choose another port; --port 0 takes any free port\n",
      );
      expect({ code, out }).toEqual({ code: 1, out: "" });
    }
    await new Promise((resolve) => taken.close(resolve));
  });

  test("a data folder that cannot be used: says so, and ends with 1", async () => {
    writeFileSync(join(folder, "file"), "");
    const { code, out, err } = await sluice(["serve", "--port", "0", "--data", join(folder, "file", "data")]);
    expect(err).toMatch(
      /^error: the data folder cannot be used: \S+\/file: it is not a folder \(ENOTDIR\)\nhint: .*--data DIR/,
    );
    expect({ code, out }).toEqual({ code: 1, out: "" });
  });

  test.each(["1", "2"])("a schema of a newer release, %s workers: says so, and ends with 1", async (workers) => {
    const data = join(folder, "data");
    const link = await openAdminLink({ sqlUrl: null, dataDir: data }, SYSTEM);
    await migrateAdmin(link, adminTables(), 0);
    const insert = "INSERT INTO sluice_admin_schema (version, is_breaking, applied_at) VALUES (99, 1, 0)";
    await link.transaction((run) => run(insert));
    await link.close();
    const { code, err } = await sluice(["serve", "--port", "0", "--data", data, "--workers", workers]);
    expect(err).toMatch(/^error: sluice_admin_schema is at version 99, which this release does not know/m);
    expect(code).toBe(1);
  });

  test("a key that may do less as SLUICE_ROOT_KEY: says so, and ends with 1; the key stays what it is", async () => {
    const data = ["--data", join(folder, "data")];
    await sluice(["migrate", ...data]);
    const token = (await sluice(["keys", "create", ...data])).out.trim();
    const before = (await sluice(["keys", "list", ...data])).out;
    const { code, err } = await sluice(["serve", "--port", "0", ...data], { SLUICE_ROOT_KEY: token });
    expect(err).toMatch(
      /^error: SLUICE_ROOT_KEY cannot be preset: key_\w+ has that token, and is not an active root key$/m,
    );
    expect(err).not.toContain(token);
    expect(code).toBe(1);
    expect((await sluice(["keys", "list", ...data])).out).toBe(before);
  });

  test("a database file that is none: the server listens, answers 503, is not ready, and says why", async () => {
    mkdirSync(join(folder, "data"));
    writeFileSync(
      join(folder, "data", "sluice.db"),
      "this is no database, and long enough to be seen as none".repeat(20),
    );
    const server = SluiceServer.begin(folder, { environment: { SLUICE_ROOT_KEY: "a-preset-key-of-24-chars" } });
    started.push(server);
    await server.listening();
    await poll("a warning", () => server.log("admin-store.away")[0]);
    expect((await server.post("limit", LIMIT)).status).toBe(503);
    expect(await server.ready()).toMatchObject({ status: 503, body: { layers: { admin: { status: "away" } } } });
    expect(server.log("admin-store.back")).toEqual([]);

    rmSync(join(folder, "data", "sluice.db"));
    const back = await poll("the store is back", () => server.log("admin-store.back")[0]);
    expect(back).toMatchObject({ level: "info", awayMs: expect.any(Number) });
    expect(server.log("admin-store.away")).toHaveLength(1);
    expect((await server.stop()).code).toBe(0);
  });
});
