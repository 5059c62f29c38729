/** The commands that ask a running server, and those that look at settings: what they print, and how they end. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../../packages/server/src/cli/program.ts";
import { startOps } from "../../packages/server/src/serve/ops-listener.ts";
import type { Console } from "../../packages/server/src/terminal/console.ts";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { freePort } from "../rig/free-port.ts";

let server: ApiServer;
let folder = "";
beforeAll(async () => {
  server = await startApi();
  folder = mkdtempSync(join(tmpdir(), "sluice-commands-"));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], environment: Console["environment"] = {}): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runProgram(args, {
    out: (text) => out.push(text),
    notice: (text) => err.push(text),
    progress: () => {},
    isTerminal: false,
    environment: { SLUICE_URL: server.url, SLUICE_ROOT_KEY: ROOT, ...environment },
    nowMs: () => 0,
    onStop: () => {},
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** Words between blanks. */
function sluice(line: string, environment?: Console["environment"]): Promise<Ran> {
  return run(line.split(" "), environment);
}

async function json(line: string): Promise<unknown> {
  return JSON.parse((await sluice(`${line} --json`)).out);
}

describe("sluice limit", () => {
  test("ends with 0 if allowed and 3 if denied, in words or JSON", async () => {
    const line = "limit api user_1 --limit 2 --duration 30d";
    expect(await sluice(line)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^allowed: 1 of 2 left in the window/),
    });
    expect(await json(line)).toMatchObject({ success: true, remaining: 0, limit: 2 });
    expect(await sluice(line)).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^denied: the limit is 2; try again at \d{4}-/),
      err: "",
    });
    expect(await sluice(`${line} --cost 0`)).toMatchObject({ code: 0 });
  });

  test("sluice charge counts whether it fits or not, and ends with 3 once the identifier is above its limit", async () => {
    const line = "charge api charged --limit 5 --duration 30d --cost 4";
    expect(await sluice(line)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^charged: 4 of 5 used, 1 left in the window that ends at \d{4}-/),
    });
    expect(await sluice(line)).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^charged: 8 of 5 used, 3 above the limit until \d{4}-/),
      err: "",
    });
    expect(await json(line)).toMatchObject({ success: false, current: 12, over: 7 });
  });

  test("what never fits is told no moment to try again", async () => {
    expect(await sluice("limit api user_3 --limit 5 --duration 30d --cost 99")).toMatchObject({
      code: 3,
      out: "denied: the limit is 5; a cost of 99 never fits",
    });
    await sluice("overrides set api banned --limit 0 --duration 1h");
    expect((await sluice("limit api banned --limit 5 --duration 30d")).out).toMatch(
      /^denied: the limit is 0, by override rlor_\w+; a cost of 1 never fits$/,
    );
  });

  test("sluice inspect explains it, and counts nothing", async () => {
    await sluice("limit api user_2 --limit 10 --duration 30d --cost 4");
    const line = "inspect api user_2 --limit 10 --duration 30d";
    const explained = await json(line);
    expect(explained).toMatchObject({ current: { own: 4 }, decision: { success: true, remaining: 6 - 1 } });
    expect(await json(line)).toMatchObject({ current: { own: 4 } });
    expect((await sluice(line)).out).toMatch(/^current +4 = own 4 \+ others 0 \+ foreign 0$/m);
    expect((await sluice(line)).out).toMatch(/^rule +10 in 30d, from the request$/m);
    expect((await sluice(line)).out).toMatch(/^left +6; 5 after this request of cost 1$/m);
    expect((await sluice(line)).out).not.toMatch(/\d ms/);
  });
});

describe("sluice overrides", () => {
  test("sets, gets, lists over pages, and deletes", async () => {
    await sluice("limit many user_1 --limit 1 --duration 30d");
    for (let i = 0; i < 101; i++) await sluice(`overrides set many user_${i} --limit ${i} --duration 1h`);
    expect(await sluice("overrides set many vip_* --limit 7 --duration 1m --shadow")).toMatchObject({ code: 0 });
    expect(await json("overrides list many")).toHaveLength(102);
    expect(await json("overrides get many vip_*")).toMatchObject({ limit: 7, duration: 60_000, shadow: true });
    expect((await sluice("overrides list many")).out.split("\n")[0]).toMatch(
      /^identifier +limit +duration +shadow +id$/,
    );
    expect((await sluice("overrides get many vip_*")).out).toMatch(/^vip_\* +7 +1m +true /m);
    await sluice("overrides set many odd --limit 7 --duration 1234567");
    expect((await sluice("overrides get many odd")).out).toMatch(/^odd +7 +1234567ms /m);
    await sluice("overrides delete many odd");
    expect(await sluice("overrides delete many vip_*")).toEqual({ code: 0, out: "deleted", err: "" });
    const again = await sluice("overrides delete many vip_*");
    expect(again).toMatchObject({ code: 1, out: "" });
    expect(again.err).toMatch(/^error: Not Found: .* \(404\)\nhint: sluice overrides list /);
  });
});

describe("sluice namespaces", () => {
  test("creates, lists, lets one only watch, deletes and restores", async () => {
    expect(await json("namespaces create mail")).toMatchObject({ name: "mail", shadow: false });
    expect(await json("namespaces update mail --shadow on")).toMatchObject({ shadow: true });
    expect(await json("namespaces update mail --shadow off")).toMatchObject({ shadow: false });
    expect(await json("namespaces delete mail")).toMatchObject({ deletedAt: expect.any(Number) });
    expect((await sluice("namespaces list")).out).not.toMatch(/^mail /m);
    expect((await sluice("namespaces list --deleted")).out).toMatch(/^mail /m);
    expect(await sluice("limit mail user_1 --limit 1 --duration 1m")).toMatchObject({
      code: 1,
      err: expect.stringContaining("hint: restore it with sluice namespaces restore"),
    });
    expect((await sluice("namespaces restore mail")).code).toBe(0);
    expect((await sluice("namespaces list")).out).toMatch(/^mail /m);
    const taken = await sluice("namespaces create mail");
    expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/\(409\)\nhint: .*namespaces delete frees/) });
  });

  test("a name with control characters cannot speak to the terminal", async () => {
    await run(["namespaces", "create", "evil\u001b[2J"]);
    const { out } = await sluice("namespaces list");
    expect(out).toContain("evil\ufffd[2J");
  });
});

describe("a question that cannot be asked", () => {
  test.each([
    { line: "limit api user_1 --duration 1m", says: "--limit is missing", code: 2 },
    {
      line: "limit api user_1 --limit ten --duration 1m",
      says: '--limit must be an integer from 1 to 1099511627776; got "ten"',
      code: 2,
    },
    { line: "limit api user_1 --limit 1 --duration 1w", says: '--duration must be from 1s to 30d; got "1w"', code: 2 },
    {
      line: "limit api user_1 --limit 1 --duration",
      says: "--duration must be from 1s to 30d; got nothing",
      code: 2,
    },
    { line: "limit api", says: "missing required argument 'identifier'", code: 2 },
    {
      line: "limit api user_1 --limit 0 --duration 1m",
      says: "--limit must be an integer from 1",
      hint: "sluice overrides set",
      code: 2,
    },
    {
      line: `limit ${"n".repeat(513)} user_1 --limit 1 --duration 1m`,
      says: "<namespace> must be a text of 1 to 512 characters; got",
      hint: "--help shows every flag",
      code: 2,
    },
    {
      line: `namespaces create ${"n".repeat(513)}`,
      says: "<name> must be a text of 1 to 512 characters; got",
      code: 2,
    },
    {
      line: "inspect api user_1 --duration 1m",
      says: "--limit is required: no override applies to the identifier",
      code: 2,
    },
    { line: "frobnicate --help", says: "unknown command 'frobnicate'", code: 2 },
    { line: "overrides lsit --help", says: "unknown command 'lsit'", hint: "Did you mean list?", code: 2 },
    {
      line: "limit api user_1 --limit 1 --duration 1m --url ftp://x",
      says: "--url must be an http:// or https:// URL",
      code: 2,
    },
    { line: "bench --rate fast", says: '--rate must be a number from 0.1 to 100000; got "fast"', code: 2 },
    { line: "bench --rate", says: "--rate must be a number from 0.1 to 100000; got nothing", code: 2 },
    { line: "bench --duration 10", says: '--duration must be from 1s to 1d; got "10"', code: 2 },
    { line: "bench --connections 0", says: "--connections must be an integer from 1 to 4096; got", code: 2 },
    { line: "bench --limit 0", says: "--limit must be an integer from 1", code: 2 },
    { line: "namespaces update api --shadow maybe", says: '--shadow must be on or off; got "maybe"', code: 2 },
    { line: "namespaces lsit", says: "unknown command 'lsit'", hint: "Did you mean list?", code: 2 },
    { line: "overrides", says: "a command is missing", hint: "commands are set, get, list, delete", code: 2 },
    { line: "serve --prot 1", says: "unknown option '--prot'", hint: "Did you mean --port?", code: 2 },
    { line: "serve --port x", says: '--port must be an integer from 0 to 65535; got "x"', code: 2 },
    { line: "serve --port", says: "--port must be an integer from 0 to 65535; got nothing", code: 2 },
    { line: "config check --file /nowhere.yaml", says: "--file must be a file that can be read", code: 2 },
  ])("sluice $line: $says", async ({ line, says, hint = "", code }) => {
    const ran = await sluice(line);
    expect(ran.err).toContain(`error: ${says}`);
    expect(ran.err.split("\nhint: ")[1]).toContain(hint);
    expect(ran).toMatchObject({ code, out: "" });
  });

  test("no server, no key, a wrong key: says so, and shows no key", async () => {
    const line = "limit api user_1 --limit 1 --duration 1m";
    const away = await sluice(line, { SLUICE_URL: `http://127.0.0.1:${await freePort()}` });
    expect(away).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: no answer from http:.*\(ECONNREFUSED\)\nhint: start a server/),
    });
    const none = await sluice(line, { SLUICE_ROOT_KEY: undefined });
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining("error: a key is missing") });
    const wrong = await sluice(line, { SLUICE_ROOT_KEY: "a-key-that-nobody-has" });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining("(401)") });
    expect(wrong.err).not.toContain("a-key-that-nobody-has");
    const path = join(folder, "key");
    writeFileSync(path, `${ROOT}\n`);
    expect((await sluice(`${line} --key-file ${path}`, { SLUICE_ROOT_KEY: "a-key-that-nobody-has" })).code).toBe(0);
  });

  test("something that is no Sluice, or sends elsewhere: says so", async () => {
    const ran = await sluice("limit api user_1 --limit 1 --duration 1m", { SLUICE_URL: `${server.url}/elsewhere` });
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toMatch(/\(404\)\nhint: check that the URL has no path/);
  });

  test("the operators' listener: says that it is not the API", async () => {
    const never = () => Promise.reject(new Error("not asked"));
    const ops = await startOps({ host: "127.0.0.1", port: 0, readiness: never, metrics: never });
    try {
      for (const line of ["limit api user_1 --limit 1 --duration 1m", "bench --duration 1s"]) {
        const ran = await sluice(`${line} --url http://127.0.0.1:${ops.port}`);
        expect(ran).toMatchObject({ code: 1, out: "" });
        expect(ran.err).toMatch(/answered 404, but not in the format of Sluice's API\nhint: .*--ops-port/);
      }
    } finally {
      ops.close();
    }
  });

  test("--help of a command that is there shows it, and ends with 0", async () => {
    for (const line of ["--help", "overrides --help", "overrides list --help", "help limit"]) {
      expect(await sluice(line)).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^Usage: sluice/) });
    }
  });
});

describe("sluice config check", () => {
  const environment = { SLUICE_URL: undefined, SLUICE_ROOT_KEY: undefined };

  test("says every value and where it comes from, and shows no secret", async () => {
    const secrets = {
      ...environment,
      SLUICE_SQL_URL: "mysql://u:hunter2@db/sluice",
      SLUICE_ROOT_KEY: "hunter2-hunter2-hunter2",
    };
    const { code, out } = await run(["config", "check", "--port", "9000"], secrets);
    expect(code).toBe(0);
    expect(out).toMatch(/^port +9000 +--port$/m);
    expect(out).toMatch(/^host +127\.0\.0\.1 +default$/m);
    expect(out).toMatch(/^sql\.url +mysql:\/\/u:hidden@db\/sluice +SLUICE_SQL_URL$/m);
    expect(out).not.toContain("hunter2");
    const asJson = JSON.parse((await run(["config", "check", "--json"], secrets)).out);
    expect(asJson.settings).toContainEqual({ name: "rootKey", value: "(hidden)", source: "SLUICE_ROOT_KEY" });
  });
});
