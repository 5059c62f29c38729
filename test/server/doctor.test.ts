/** `sluice doctor` against real servers that lack something: what it finds, and how it ends. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadSettings } from "../../packages/server/src/config/load-settings.ts";
import type { Finding } from "../../packages/server/src/tools/doctor/finding.ts";
import { certificateFinding } from "../../packages/server/src/tools/doctor/machine-checks.ts";
import { makeCertificate } from "../rig/certificate.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";
import { freePort } from "../rig/free-port.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { PostgresServer } from "../rig/postgres-server.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

interface Examined {
  readonly code: number;
  readonly errors: string;
  readonly ok: boolean;
  /** By what was looked at: the worst, and all that was said. */
  readonly of: (subject: string) => readonly Pick<Finding, "status" | "text" | "advice">[];
  readonly bad: readonly string[];
}

async function examine(environment: Record<string, string>): Promise<Examined> {
  const { code, out, errors } = await runSluice(["doctor", "--json"], {
    SLUICE_REGION: "eu",
    SLUICE_PORT: "0",
    ...environment,
  });
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: Finding[] };
  return {
    code,
    errors,
    ok,
    of: (subject) => findings.filter((one) => one.subject === subject),
    bad: findings.filter(({ status }) => status !== "ok").map(({ status, subject }) => `${status} ${subject}`),
  };
}

let folder = "";
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => removeFolder(folder));

describe("sluice doctor", () => {
  test("finds nothing wrong with a server alone, in words or JSON, and makes nothing", async () => {
    const data = `${folder}/data`;
    const { code, ok, of } = await examine({ SLUICE_DATA: data });
    expect([code, ok]).toEqual([0, true]);
    expect(of("data folder")).toMatchObject([{ status: "ok", text: `${data} can be created` }]);
    const { out } = await runSluice(["doctor", "--data", data, "--sql-url", `sqlite:${folder}/shared.db`], {
      SLUICE_PORT: "0",
    });
    expect(out).toMatch(/^ok {4}database +\S+shared.db does not exist yet: a server creates it$/m);
    expect(out).toMatch(/^warn {2}settings +sql\.url is set, but region has its default value/m);
    expect(out).toMatch(/^\d+ ok, \d+ warnings?, \d+ failures?$/m);
  });

  test("a port that something else has is a failure, one that a server of Sluice has a warning", async () => {
    const taken = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    for (const [name, subject] of [
      ["SLUICE_PORT", "port"],
      ["SLUICE_OPS_PORT", "ops port"],
    ] as const) {
      const { code, of } = await examine({ SLUICE_DATA: `${folder}/data`, [name]: String(port) });
      expect(code).toBe(1);
      expect(of(subject)).toMatchObject([{ status: "fail", text: expect.stringContaining("EADDRINUSE") }]);
    }
    await new Promise((resolve) => taken.close(resolve));
    const free = await examine({ SLUICE_DATA: `${folder}/data`, SLUICE_PORT: String(port) });
    expect(free.of("port")).toMatchObject([{ status: "ok", text: `127.0.0.1:${port} is free` }]);

    const server = await SluiceServer.start(folder);
    const both = { SLUICE_PORT: new URL(server.url).port, SLUICE_OPS_PORT: new URL(server.opsUrl).port };
    const beside = await examine({ SLUICE_DATA: `${folder}/data`, ...both });
    await server.stop("SIGKILL");
    expect(beside.code).toBe(0);
    for (const subject of ["port", "ops port"]) {
      expect(beside.of(subject)).toMatchObject([
        { status: "warn", text: expect.stringMatching(/^a Sluice server already listens/) },
      ]);
    }
    expect(beside.of("data folder")).toMatchObject([
      { status: "ok", text: expect.stringMatching(/a server is using it$/) },
    ]);
  });

  test("a certificate that is soon over is a warning, and one that is over a failure", () => {
    const { certFile, keyFile, folder: place } = makeCertificate();
    const { settings } = loadSettings({}, { SLUICE_TLS_CERT_FILE: certFile, SLUICE_TLS_KEY_FILE: keyFile });
    const inDays = (days: number) => certificateFinding(settings, Date.now() + days * 86_400_000)?.status;
    // It is valid for two days.
    expect([inDays(-30), inDays(0), inDays(3)]).toEqual(["ok", "warn", "fail"]);
    removeFolder(place);
  });

  test("settings that cannot be meant end with 2, and nothing is looked at", async () => {
    const ran = await runSluice(["doctor", "--port", "x"], {});
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.errors).toContain("--port must be an integer from 0 to 65535");
  });
});

describe("sluice doctor, with Redis", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.start();
    const rights =
      "on >secret resetkeys ~sluice:* resetchannels -@all +eval +evalsha +hmget +hset +hlen +pexpireat +ping";
    await redis.ask("ACL", "SETUSER", "sluice", ...rights.split(" "));
    await redis.ask("ACL", "SETUSER", "poor", ...rights.replace(" +hset", "").split(" "));
  });
  afterAll(() => redis.stop());

  const url = (user = "") => `redis://${user}127.0.0.1:${redis.port}`;

  test("all is well as it comes, and the cell that was tried is gone", async () => {
    const { code, bad, of } = await examine({ SLUICE_REDIS_URL: url() });
    expect([code, bad.filter((one) => !/round trip|scripts/.test(one))]).toEqual([0, []]);
    expect(of("redis version")).toMatchObject([{ status: "ok", text: expect.stringMatching(/^redis \d/) }]);
    const [ttl] = await Promise.all([redis.ask("PTTL", "sluice:1:{doctor}:0")]);
    expect(Number(ttl)).toBeLessThanOrEqual(1000);
  });

  test("the user of the docs may do what is needed; what it cannot see is said", async () => {
    const { code, bad } = await examine({ SLUICE_REDIS_URL: url("sluice:secret@") });
    expect(code).toBe(0);
    expect(bad).toEqual(expect.arrayContaining(["warn redis memory", "warn redis clock"]));
    expect(bad.some((one) => one.startsWith("fail"))).toBe(false);
  });

  test("a user that lacks a command is told which", async () => {
    const { code, of } = await examine({ SLUICE_REDIS_URL: url("poor:secret@") });
    expect(code).toBe(1);
    expect(of("redis scripts")).toMatchObject([{ status: "fail", advice: expect.stringContaining("+hset") }]);
    expect(of("redis scripts")[0]?.text).toMatch(/: missing rights: HSET$/);
  });

  test("one that is told not to evict is a warning, with what to set", async () => {
    await redis.ask("CONFIG", "SET", "maxmemory", "100mb");
    const warned = await examine({ SLUICE_REDIS_URL: url() });
    expect(warned.code).toBe(0);
    expect(warned.of("redis memory")).toMatchObject([
      {
        status: "warn",
        text: expect.stringContaining("noeviction"),
        advice: expect.stringContaining("maxmemory-policy volatile-ttl"),
      },
    ]);
    await redis.ask("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
    expect((await examine({ SLUICE_REDIS_URL: url() })).of("redis memory")).toMatchObject([{ status: "ok" }]);
    await redis.ask("CONFIG", "SET", "maxmemory", "0");
  });

  test("a wrong password and a server that is away end with 1, and no password is shown", async () => {
    const refused = await examine({ SLUICE_REDIS_URL: url("sluice:hunter2@") });
    expect([refused.code, refused.ok]).toEqual([1, false]);
    expect(refused.of("redis")).toMatchObject([
      { status: "fail", text: expect.stringContaining("refuses: WRONGPASS") },
    ]);
    expect(JSON.stringify(refused.of("redis"))).not.toContain("hunter2");
    const away = await examine({ SLUICE_REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(away.code).toBe(1);
    expect(away.of("redis")).toMatchObject([{ status: "fail", text: expect.stringContaining("does not answer") }]);
  });
});

describe("sluice doctor, with something that is hardly Redis", () => {
  /** Answers with these, a chunk each, and says nothing after them. */
  async function examineOne(...answers: readonly string[]): Promise<Examined> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      const left = [...answers];
      socket.on("error", () => {}).on("data", () => socket.write(left.shift() ?? ""));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await examine({ SLUICE_REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` });
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  }

  test("one that accepts and stays silent, at once or later, is a failure, and one without HELLO is too old", async () => {
    const hello = "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n";
    const [mute, fallenMute, old] = await Promise.all([
      examineOne(),
      examineOne(hello, hello),
      examineOne("-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n"),
    ]);
    const silence = [{ status: "fail", text: expect.stringMatching(/does not answer: no answer within 3 s$/) }];
    for (const one of [mute, fallenMute]) {
      expect(one.code).toBe(1);
      expect(one.of("redis")).toMatchObject(silence);
    }
    expect(fallenMute.of("redis version")).toMatchObject([{ status: "ok" }]);
    expect([fallenMute.of("redis rights"), fallenMute.of("redis scripts")]).toEqual([[], []]);
    expect(old.code).toBe(1);
    expect(old.of("redis version")).toMatchObject([{ status: "fail", advice: "use 6.0 or later" }]);
    expect(old.of("redis")).toEqual([]);
  });
});

interface Database {
  readonly url: (port?: number, user?: string) => string;
  readonly ask: (sql: string) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

const DATABASES: readonly (readonly [string, () => Promise<Database>, (rights: string) => readonly string[]])[] = [
  [
    "PostgreSQL",
    async () => {
      const server = await PostgresServer.start();
      return { url: (...of) => server.url(...of), ask: (sql) => server.ask(sql), stop: () => server.stop() };
    },
    (rights) => [`GRANT ${rights} ON ALL TABLES IN SCHEMA public TO sluice`],
  ],
  [
    "MariaDB",
    async () => {
      const server = await MariadbServer.start();
      return { url: (...of) => server.url(...of), ask: (sql) => server.ask(sql), stop: () => server.stop() };
    },
    (rights) => [`GRANT ${rights} ON sluice.* TO sluice`],
  ],
];

/** Both where there is time: one of them starts in a second, the other does not. */
describe.each(process.env["CI"] === "true" ? DATABASES : DATABASES.slice(0, 1))(
  "sluice doctor, with %s",
  (name, start, granted) => {
    let database: Database;
    beforeAll(async () => {
      database = await start();
      await database.ask(name === "MariaDB" ? "CREATE USER sluice" : "CREATE ROLE sluice LOGIN");
    });
    afterAll(() => database.stop());

    const look = (user?: string) => examine({ SLUICE_SQL_URL: database.url(undefined, user) });

    test("tables that are missing are a warning, and are not made", async () => {
      for (let i = 0; i < 2; i++) {
        const { code, of } = await look();
        expect(code).toBe(0);
        for (const subject of ["tables of keys", "tables of counters"]) {
          expect(of(subject)).toMatchObject([
            {
              status: "warn",
              text: expect.stringContaining("at version 0"),
              advice: expect.stringContaining("sluice migrate"),
            },
          ]);
        }
        expect(of("database rights")).toEqual([]);
      }
    });

    test("after the migration all is well, for the user of the docs too; its clock is compared", async () => {
      const environment = { SLUICE_SQL_URL: database.url() };
      expect((await runSluice(["migrate"], environment)).code).toBe(0);
      for (const sql of granted("SELECT, INSERT, UPDATE, DELETE")) await database.ask(sql);
      for (const user of ["root", "sluice"]) {
        const { code, bad, of } = await look(user);
        expect([user, code, bad.filter((one) => !one.includes("round trip"))]).toEqual([user, 0, []]);
        expect(of("database clock")).toMatchObject([{ status: "ok" }]);
      }
    });

    test("a user that lacks a right is told which, on which table", async () => {
      for (const sql of granted("DELETE")) await database.ask(sql.replace("GRANT", "REVOKE").replace(" TO ", " FROM "));
      const { code, of } = await look("sluice");
      expect(code).toBe(1);
      const texts = of("database rights").map(({ text }) => text);
      expect(texts).toHaveLength(8);
      expect(texts[0]).toMatch(/^DELETE on sluice_admin_records: /);
    });

    test("tables of a newer release are a failure", async () => {
      await database.ask("INSERT INTO sluice_admin_schema (version, is_breaking, applied_at) VALUES (99, 1, 0)");
      const { code, of } = await look();
      expect(code).toBe(1);
      expect(of("tables of keys")).toMatchObject([{ status: "fail", advice: "use a newer release" }]);
    });

    test("one that is away is a failure", async () => {
      const { code, of } = await examine({ SLUICE_SQL_URL: database.url(await freePort()) });
      expect(code).toBe(1);
      expect(of("database")).toMatchObject([{ status: "fail", text: expect.stringContaining("ECONNREFUSED") }]);
    });
  },
);
