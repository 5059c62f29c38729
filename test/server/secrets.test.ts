/**
 * A secret that a server is given, or that a request brings, is nowhere to be read: secrets are planted everywhere, everything that can
 * go wrong goes wrong, at the most talkative settings, and whatever a server says anywhere is searched for them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { request as requestOverTls } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCertificate } from "../rig/certificate.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

/** Those with a `/` and a `%` stand in a URL as something else: both are looked for. */
const PLANTED = {
  redisPassword: "planted-redis/pass%word",
  sqlPassword: "planted-sql/pass%word",
  wrongPassword: "planted-wrong/pass%word",
  rootKey: "planted-root-key-of-the-server",
  identifierKey: "planted-identifier-key",
  unknownKey: "planted-key-of-nobody",
  collectorKey: "planted-key-of-the-collector",
  headerValue: "planted-header-value",
};
/** What belongs to callers: in an audit trail it is what was asked for, in a log it is nobody's business. */
const IDENTIFIERS = ["planted-identifier@example.com", "planted-override-*"];
const DURATION = 3_600_000;
const LIMIT = { namespace: "api", identifier: IDENTIFIERS[0], limit: 1, duration: DURATION };
const TALKATIVE = ["--log-level", "debug", "--log-requests", "all"];

const { keyFile, certFile } = makeCertificate();
let folder = "";
let mariadb: MariadbServer;
let redis: RedisServer;
const started: SluiceServer[] = [];
/** A key that was made at the command line, which printed it. */
let token = "";
/** Everything that any server or command said, by where. */
const said = new Map<string, string>();

beforeAll(async () => {
  folder = temporaryFolder();
  const config = [["requirepass", PLANTED.redisPassword]];
  [mariadb, redis] = await Promise.all([MariadbServer.start(), RedisServer.start({ config })]);
  await mariadb.ask(`CREATE USER sluice@'%' IDENTIFIED BY '${PLANTED.sqlPassword}'`);
  await mariadb.ask("GRANT ALL ON sluice.* TO sluice@'%'");
  // It is killed further down, and what was committed must be there afterwards.
  await mariadb.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
});
afterAll(async () => {
  for (const server of started) await server.stop("SIGKILL");
  await redis.stop();
  await mariadb.stop();
  removeFolder(folder);
});

function urls(redisPassword: string, sqlPassword: string) {
  const sqlUrl = `mysql://sluice:${encodeURIComponent(sqlPassword)}@127.0.0.1:${mariadb.process.port}/sluice`;
  return {
    SLUICE_REDIS_URL: `redis://:${encodeURIComponent(redisPassword)}@127.0.0.1:${redis.port}`,
    SLUICE_SQL_URL: sqlUrl,
    SLUICE_ROOT_KEY: PLANTED.rootKey,
    SLUICE_LOG_IDENTIFIER_KEY: PLANTED.identifierKey,
    SLUICE_REGION: "eu",
    SLUICE_TRACES_ENDPOINT: "http://127.0.0.1:1",
    SLUICE_TRACES_HEADERS: `api-key=${PLANTED.collectorKey}`,
    SLUICE_TRACES_SAMPLE: "1",
  };
}

interface Said {
  readonly status: number;
  readonly body: string;
}

/** Whoever vouches for the certificate. */
function ask(url: string, { method = "GET", headers = {}, body = "" } = {}): Promise<Said> {
  return new Promise((resolve, reject) => {
    const asked = requestOverTls(url, { method, headers, rejectUnauthorized: false, agent: false }, (answer) => {
      let text = JSON.stringify(answer.headers);
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      answer.on("end", () => resolve({ status: answer.statusCode!, body: text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

let asked = 0;

/** What a call was answered is kept with the rest. */
async function call(server: SluiceServer, operation: string, body: unknown, more = {}): Promise<number> {
  const headers = { authorization: `Bearer ${PLANTED.rootKey}`, "content-type": "application/json", ...more };
  const url = `${server.url}/v2/ratelimit.${operation}`;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await ask(url, { method: "POST", headers, body: text });
  said.set(`answer ${++asked} to ${operation}`, answer.body);
  return answer.status;
}

/** Its pages, its metrics, and how it was called. */
async function read(server: SluiceServer, name: string): Promise<void> {
  for (const path of ["/docs", "/openapi.json", "/health", "/nowhere"]) {
    said.set(`${name} ${path}`, (await ask(server.url + path)).body);
  }
  for (const path of ["/metrics", "/ready"]) {
    said.set(`${name} ${path}`, await (await fetch(server.opsUrl + path)).text());
  }
  said.set(`${name} command line`, readFileSync(`/proc/${server.child.pid}/cmdline`, "utf8"));
}

function begin(environment: Record<string, string>, ...args: string[]): SluiceServer {
  const tls = ["--tls-cert-file", certFile, "--tls-key-file", keyFile];
  const server = SluiceServer.begin(folder, { args: [...TALKATIVE, ...tls, ...args], environment });
  started.push(server);
  return server;
}

/** Fragments: a secret is told too by being told in part. */
function forms(secret: string): string[] {
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64").replace(/=+$/, "")];
}

function expectUnsaid(secret: string, where: (place: string) => boolean): void {
  for (const [place, text] of said) {
    if (!where(place)) continue;
    for (const form of forms(secret)) expect([place, text.includes(form) ? text : ""]).toEqual([place, ""]);
  }
}

test("no planted secret is in any output, page, metric, answer, audit line or check of the settings", async () => {
  const environment = urls(PLANTED.redisPassword, PLANTED.sqlPassword);

  // All is well: limits, denials, overrides, a key.
  const server = begin(environment);
  await server.greeted();
  expect(await call(server, "limit", LIMIT)).toBe(200);
  expect(await call(server, "limit", LIMIT)).toBe(200);
  expect(await call(server, "multiLimit", [LIMIT, LIMIT])).toBe(200);
  const override = { namespace: "api", identifier: IDENTIFIERS[1], limit: 5, duration: DURATION };
  expect(await call(server, "setOverride", override)).toBe(200);
  const made = await runSluice(["keys", "create", "--permissions", "ratelimit.*.limit"], environment);
  token = made.out.trim();
  const own = { authorization: `Bearer ${token}` };
  await poll("the key", async () => (await call(server, "limit", LIMIT, own)) === 200);

  // Callers that go wrong.
  expect(await call(server, "setOverride", override, own)).toBe(403);
  expect(await call(server, "limit", LIMIT, { authorization: `Bearer ${PLANTED.unknownKey}` })).toBe(401);
  expect(await call(server, "limit", LIMIT, { authorization: `Basic ${PLANTED.unknownKey}` })).toBe(400);
  expect(await call(server, "limit", LIMIT, { "x-request-id": `${PLANTED.headerValue} "` })).toBe(200);
  expect(await call(server, "limit", LIMIT, { cookie: PLANTED.headerValue })).toBe(200);
  expect(await call(server, "limit", LIMIT, { "content-type": PLANTED.headerValue })).toBe(415);
  expect(await call(server, "limit", "{")).toBe(400);
  expect(await call(server, "limit", { ...LIMIT, limit: -1 })).toBe(400);
  expect(await call(server, "limit", `"${"x".repeat(1024 * 1024)}"`)).toBe(413);
  expect(await call(server, "getOverride", { namespace: "api", identifier: "nobody" })).toBe(404);
  const plain = connect(Number(new URL(server.url).port), "127.0.0.1");
  plain.on("error", () => {});
  plain.end(`${PLANTED.headerValue}\r\n\r\n`);
  await new Promise((resolve) => plain.once("close", resolve));
  // An entry that was spoilt by hand is shown as such, without its text.
  await mariadb.ask(
    `INSERT INTO sluice_admin_audit (revision, workspace_id, at_ms, entry) VALUES (1000000, 'default', 1, '{ "actor": "${PLANTED.headerValue}" }')`,
  );
  expect(await call(server, "listChanges", {})).toBe(200);
  await mariadb.ask("DELETE FROM sluice_admin_audit WHERE revision = 1000000");
  expect(await call(server, "listChanges", { limit: 100 })).toBe(200);
  await read(server, "all is well:");

  // Stores that refuse the connection.
  await redis.kill();
  await mariadb.process.kill();
  await poll("a warning", () => server.log("admin-store.away").length > 0 && server.log("limiter.failures").length > 1);
  expect(await call(server, "limit", { ...LIMIT, namespace: "another" })).toBe(503);
  expect(await call(server, "limit", { ...LIMIT, identifier: "other" })).toBe(200);
  await read(server, "stores away:");
  const missing = await runSluice(["audit"], environment);
  expect(missing.code).toBe(1);
  said.set("audit, store away", missing.out + missing.errors);
  await redis.begin();
  await mariadb.process.begin();
  expect((await server.stop()).code).toBe(0);

  // Wrong passwords, with workers.
  const locked = begin(urls(PLANTED.wrongPassword, PLANTED.wrongPassword), "--workers", "2");
  await locked.listening();
  await poll("warnings", () => locked.log("admin-store.away").length > 0 && locked.log("limiter.failures").length > 0);
  expect(await call(locked, "limit", LIMIT)).toBe(503);
  await read(locked, "wrong passwords:");
  await locked.stop();

  // Settings that cannot be.
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, `${PLANTED.rootKey} with a blank`);
  const { SLUICE_ROOT_KEY: _, ...unpreset } = environment;
  const commands: [string, string[], Record<string, string>][] = [
    ["config check", ["config", "check", "--json"], environment],
    ["config check, text", ["config", "check"], environment],
    ["audit", ["audit", "--json", "--limit", "1000"], environment],
    ["keys list", ["keys", "list", "--json"], environment],
    ["a secret in a flag", ["serve", "--redis-url", environment.SLUICE_REDIS_URL], {}],
    ["a secret that is none", ["serve"], { ...unpreset, SLUICE_ROOT_KEY_FILE: secretFile }],
    ["a key instead of its file", ["serve"], { ...unpreset, SLUICE_ROOT_KEY_FILE: readFileSync(keyFile, "utf8") }],
    ["a URL that is none", ["serve"], { SLUICE_REDIS_URL: `rediss//:${PLANTED.redisPassword}@nowhere` }],
    ["a port in the wrong place", ["serve"], { ...environment, SLUICE_SQL_URL: `${environment.SLUICE_SQL_URL}?x=1` }],
    ["a key as a certificate", ["serve", "--tls-cert-file", keyFile, "--tls-key-file", keyFile], environment],
  ];
  for (const [name, args, variables] of commands) {
    const { out, errors, code } = await runSluice(args, variables);
    expect([name, code], errors).toEqual([name, args[0] === "serve" ? 2 : 0]);
    said.set(name, out + errors);
  }
  for (const [name, variables] of [
    ["doctor", environment],
    ["doctor, wrong passwords", urls(PLANTED.wrongPassword, PLANTED.wrongPassword)],
  ] as const) {
    const tls = ["--tls-cert-file", certFile, "--tls-key-file", keyFile];
    const { out, errors, code } = await runSluice(
      ["doctor", "--port", "0", "--data", join(folder, "data"), ...tls],
      variables,
    );
    expect([name, code === 0], out + errors).toEqual([name, name === "doctor"]);
    said.set(name, out + errors);
  }
  for (const [at, one] of started.entries()) {
    const { out, err } = one.said();
    said.set(`standard output of server ${at}`, out);
    said.set(`standard error of server ${at}`, err);
  }

  // The search would find what is there.
  expect(said.get("audit")).toContain(IDENTIFIERS[1]);
  expect(said.get("standard error of server 0")).toMatch(/"problem":.*"event":"request"/);
  expect(started[0]!.log("request.failed")).toHaveLength(0);
  expect(started[0]!.log("traces.away")).toHaveLength(1);
  expect(said.size).toBeGreaterThan(45);

  const pem = readFileSync(keyFile, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("-----"));
  for (const secret of [...Object.values(PLANTED), token, ...pem]) expectUnsaid(secret, () => true);
  for (const identifier of IDENTIFIERS) {
    expectUnsaid(identifier, (place) => /standard|metrics|ready|docs|openapi|config|doctor/.test(place));
  }
}, 180_000);
