/** `sluice top` against a running server: what it shows is what the server exports, and the terminal is left as it was. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { end, removeFolder, start, temporaryFolder } from "../rig/child-processes.ts";
import { type Ran, runSluice } from "../rig/command-line.ts";
import { DEBIAN, debianBinary } from "../rig/debian-binary.ts";
import { freePort } from "../rig/free-port.ts";
import { poll } from "../rig/poll.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sluice.mjs", import.meta.url));
/** Of Debian's essential packages. */
const SCRIPT = debianBinary(DEBIAN.script);

let folder = "";
let server: SluiceServer;
beforeAll(async () => {
  folder = temporaryFolder();
  server = await SluiceServer.start(folder);
  for (let i = 0; i < 7; i++) {
    await server.post("limit", { namespace: "api", identifier: "user_1", limit: 5, duration: 30 * 86_400_000 });
  }
});
afterAll(async () => {
  await server.stop("SIGKILL");
  removeFolder(folder);
});

function top(args: readonly string[] = [], environment: Record<string, string> = {}): Promise<Ran> {
  const words = ["top", "--once", "--interval", "100ms", ...args];
  return runSluice(words, {
    SLUICE_URL: server.url,
    SLUICE_OPS_URL: server.opsUrl,
    SLUICE_ROOT_KEY: server.key,
    ...environment,
  });
}

async function metric(pattern: RegExp): Promise<number> {
  const text = await (await fetch(`${server.opsUrl}/metrics`)).text();
  return Number(pattern.exec(text)?.[1] ?? 0);
}

describe("sluice top --once", () => {
  test("prints as plain text what the server exports", async () => {
    const { code, out } = await top();
    expect(code).toBe(0);
    const totalOf = (name: string) => Number(new RegExp(`^${name} .* (\\d+)$`, "m").exec(out)?.[1]);
    expect(totalOf("allowed")).toBe(await metric(/^sluice_decisions_total\{outcome="allowed".*\} (\d+)$/m));
    expect(totalOf("denied")).toBe(await metric(/^sluice_decisions_total\{outcome="denied".*\} (\d+)$/m));
    expect([totalOf("allowed"), totalOf("denied"), totalOf("degraded")]).toEqual([5, 2, 0]);
    expect(out).toMatch(/^ready, version \d\S*, 1 process, up \d+s$/m);
    expect(out).toMatch(/^region {2}absent {4}no Redis/m);
    expect(out).toMatch(/^use: 5 +denials: 2\nuser_1 +5 +100\.0 % +user_1 +2 +100\.0 %$/m);
    expect(out).not.toContain("\u001b");
  });

  test("without a key it shows the rest", async () => {
    const { code, out } = await top([], { SLUICE_ROOT_KEY: "" });
    expect(code).toBe(0);
    expect(out).toContain("set SLUICE_ROOT_KEY or --key-file to see them");
  });

  test("a key of one namespace sees that one, though another is busier", async () => {
    const { body } = await server.post("limit", {
      namespace: "quiet",
      identifier: "user_9",
      limit: 5,
      duration: 60_000,
    });
    expect(body.data.success).toBe(true);
    const listed = await server.post("listNamespaces", {});
    const { namespaceId } = (listed.body.data as { namespaceId: string; name: string }[]).find(
      ({ name }) => name === "quiet",
    )!;
    const words = ["keys", "create", "--permissions", `ratelimit.${namespaceId}.read_namespace`];
    const made = await runSluice(words, { SLUICE_DATA: `${folder}/data` });
    const environment = { SLUICE_ROOT_KEY: made.out };
    await poll(
      "the key",
      async () => (await server.post("topIdentifiers", { namespace: "quiet" }, made.out)).status === 200,
    );
    const { code, out } = await top([], environment);
    expect([code, /^top identifiers of quiet /m.test(out)]).toEqual([0, true]);
    expect((await top(["--namespace", "api"], environment)).code).toBe(1);
  });

  test.each([
    {
      what: "a key that is refused",
      environment: { SLUICE_ROOT_KEY: "no-key-of-this-server" },
      code: 1,
      says: "(401)",
    },
    { what: "a namespace that is not there", args: ["--namespace", "nowhere"], code: 0, says: "" },
    {
      what: "an interval that cannot be",
      args: ["--interval", "1ms"],
      code: 2,
      says: "--interval must be whole milliseconds from 100ms to 1m",
    },
    {
      what: "an address that is none",
      args: ["--ops-url", "ftp://x"],
      code: 2,
      says: "--ops-url must be an http://",
    },
  ])("$what ends with $code", async ({ args = [], environment = {}, code, says }) => {
    const ended = await top(args, environment as Record<string, string>);
    expect([ended.code, ended.errors.includes(says)]).toEqual([code, true]);
    if (code === 0) expect(ended.out).toContain("There is no namespace with this name or id");
    else expect(ended.out).toBe("");
  });

  test("a server that is away, and something else that answers, end with 1", async () => {
    const away = await top([], { SLUICE_OPS_URL: `http://127.0.0.1:${await freePort()}` });
    expect([away.code, away.out]).toEqual([1, ""]);
    expect(away.errors).toMatch(/^error: no answer from .*ECONNREFUSED.*\nhint: .*--ops-url/);
    const other = await top([], { SLUICE_OPS_URL: server.url });
    expect([other.code, other.out]).toEqual([1, ""]);
    expect(other.errors).toMatch(/^error: .* answers, but not as the operators' listener/);
  });
});

const ENTERED = "\u001b[?1049h";
const LEFT = "\u001b[?25h\u001b[?1049l";

describe("sluice top in a terminal", () => {
  /** In a terminal of its own; after it has ended, the terminal says how it stands. */
  function live(environment: Record<string, string>) {
    const line = `stty cols 80 rows 40; ${process.execPath} ${COMMAND} top --interval 100ms; echo "code $?"; stty -a`;
    const env = {
      PATH: process.env["PATH"] ?? "",
      TERM: "xterm",
      SLUICE_URL: server.url,
      SLUICE_OPS_URL: server.opsUrl,
    };
    const child = start(SCRIPT, ["-qec", line, "/dev/null"], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...env, SLUICE_ROOT_KEY: server.key, ...environment },
    });
    const heard = { text: "", child };
    child.stdout?.on("data", (chunk: Buffer) => {
      heard.text += chunk.toString();
    });
    return heard;
  }

  function expectRestored(text: string): void {
    const [, after = ""] = text.split(LEFT);
    expect(after).toMatch(/ icanon/);
    expect(after).toMatch(/ echo /);
    expect(after).not.toContain("\u001b");
  }

  test("q ends it with 0, and the terminal is as it was", async () => {
    const heard = live({});
    await poll("two frames", () => heard.text.split("user_1").length > 3, 30_000);
    expect(heard.text.indexOf(ENTERED)).toBeGreaterThanOrEqual(0);
    expect(heard.text).toContain("\u001b[32m");
    heard.child.stdin?.write("q");
    await poll("the end", () => heard.text.includes("icanon"), 30_000);
    expect(heard.text).toContain("code 0");
    expectRestored(heard.text);
    await end(heard.child, "SIGKILL");
  });

  test("waits for a server that is away until Ctrl-C, and ends with 1 where the key is refused, each with the terminal as it was", async () => {
    const port = await freePort();
    const away = live({ SLUICE_OPS_URL: `http://127.0.0.1:${port}`, NO_COLOR: "1" });
    await poll("the trouble, twice", () => away.text.split("ECONNREFUSED").length > 2, 30_000);
    expect(away.text).not.toContain("\u001b[31m");
    away.child.stdin?.write("\u0003");
    await poll("the end", () => away.text.includes("icanon"), 30_000);
    expectRestored(away.text);
    await end(away.child, "SIGKILL");
    const refused = live({ SLUICE_ROOT_KEY: "no-key-of-this-server" });
    await poll("the end", () => refused.text.includes("icanon"), 30_000);
    expect(refused.text).toMatch(/error: .*\(401\)/);
    expect(refused.text).toContain("code 1");
    expectRestored(refused.text);
    await end(refused.child, "SIGKILL");
  });
});
