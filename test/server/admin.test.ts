/** The admin store on the three databases, on real servers: the conformance suite, and what happens when one is in trouble. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AdminSchemaError, adminTables, migrateAdmin } from "../../packages/server/src/admin/admin-schema.ts";
import { AdminStoreAway } from "../../packages/server/src/admin/admin-store.ts";
import { adminStoreConformance, type StoreSetUp } from "../../packages/server/src/admin/admin-store-conformance.ts";
import {
  type AdminPlace,
  openAdminLink,
  openAdminStore,
  sqlitePath,
} from "../../packages/server/src/admin/open-admin-store.ts";
import { auditSpanSql } from "../../packages/server/src/admin/sql-audit.ts";
import type { RunSql, SqlValue } from "../../packages/server/src/admin/sql-link.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { SQLITE_DRIVER } from "../../packages/sluice/src/global/sql/sqlite/database.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";
import { PostgresServer } from "../rig/postgres-server.ts";
import { ManualTime } from "../support/manual-time.ts";
import { oddIdentifiers } from "../support/odd-identifiers.ts";

const isDeep = process.env["CI"] === "true";
const identifiers = oddIdentifiers(20_261, isDeep ? 2_000 : 30);

let folder: string;
let mariadb: MariadbServer;
let postgres: PostgresServer;

beforeAll(async () => {
  folder = temporaryFolder();
  mariadb = await MariadbServer.start();
  postgres = await PostgresServer.start();
});

afterAll(async () => {
  await mariadb.stop();
  await postgres.stop();
  removeFolder(folder);
});

const open =
  (sqlUrl: () => string): StoreSetUp["open"] =>
  (name, options, environment) =>
    openAdminStore({ sqlUrl: sqlUrl(), dataDir: folder }, environment, { ...options, tablePrefix: `${name}_` });

adminStoreConformance("SQLite", {
  open: (name, options, environment) =>
    openAdminStore({ sqlUrl: `sqlite:${join(folder, `${name}.db`)}`, dataDir: folder }, environment, options),
  oddIdentifiers: identifiers,
});
adminStoreConformance("MariaDB", { open: open(() => mariadb.url()), oddIdentifiers: identifiers });
adminStoreConformance("PostgreSQL", { open: open(() => postgres.url()), oddIdentifiers: identifiers });

let prefixes = 0;
const newPrefix = () => `f${prefixes++}_`;

const SERVERS = [
  {
    name: "MariaDB",
    server: () => mariadb,
    grants: { user: "CREATE USER modest@'%'", where: "sluice.*", whom: "modest@'%'" },
  },
  {
    name: "PostgreSQL",
    server: () => postgres,
    grants: { user: "CREATE USER modest", where: "ALL TABLES IN SCHEMA public", whom: "modest" },
  },
] as const;

/** Everybody else is thrown out. */
async function dropConnections(name: string): Promise<void> {
  if (name === "PostgreSQL") {
    await postgres.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice'");
    return;
  }
  const rows = await mariadb.ask(
    "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()",
  );
  // One that was just closed may be gone by then.
  for (const { id } of rows) await mariadb.ask(`KILL ${Number(id)}`).catch(() => {});
}

describe.each(SERVERS)("admin store on $name, in trouble", ({ name, server, grants }) => {
  const placeOf = (more: Partial<AdminPlace> = {}): AdminPlace => ({
    sqlUrl: server().url(),
    dataDir: folder,
    ...more,
  });

  test("a connection that was lost while nobody used it is replaced without a word", async () => {
    const store = await openAdminStore(placeOf(), SYSTEM, { tablePrefix: newPrefix() });
    const made = await store.createNamespace("default", "api", "cli:tester");
    await dropConnections(name);
    expect((await store.changesSince(0))?.namespaces).toMatchObject([made]);
    await dropConnections(name);
    expect(await store.createNamespace("default", "api", "cli:tester", "traffic")).toEqual(made);
    await store.close();
  });

  test("a server that is frozen is away in time, and serves again afterwards", async () => {
    const timeoutMs = 300;
    const store = await openAdminStore(placeOf({ timeoutMs }), SYSTEM, { tablePrefix: newPrefix() });
    const made = await store.createNamespace("default", "api", "cli:tester");
    await server().process.freeze();
    try {
      const beganMs = performance.now();
      await expect(store.changesSince(0)).rejects.toThrow(AdminStoreAway);
      // A statement on the connection that was there, then a new connection: each once the time-out. The rest is for a busy machine: it is
      // a tenth of what a driver would wait for that has no end.
      expect(performance.now() - beganMs).toBeLessThan(2 * timeoutMs + 6_000);
      await expect(store.createNamespace("default", "other", "cli:tester")).rejects.toThrow(AdminStoreAway);
    } finally {
      await server().process.thaw();
    }
    const back = await poll("the store is back", async () => (await store.changesSince(0))?.namespaces);
    expect(back).toMatchObject([made]);
    await store.close();
  });

  test("one that freezes in the middle of a piece of work is away in time, too", async () => {
    // mysql2's time-out knows nothing of the step that prepares a statement: the last one here waited for ever, and with it
    // everything that came after.
    const link = await openAdminLink(placeOf({ timeoutMs: 300 }), SYSTEM);
    const asked = link.ask(async (run) => {
      await server().process.freeze();
      // A new statement, which has to be prepared.
      await run("SELECT CAST(? AS CHAR(1)) AS answer", "a");
    });
    await expect(asked).rejects.toThrow("no answer within 300 ms");
    await server().process.thaw();
    await link.close();
  });

  test("a store that is closed while its server is frozen is closed in time", async () => {
    const store = await openAdminStore(placeOf({ timeoutMs: 300 }), SYSTEM, { tablePrefix: newPrefix() });
    await store.changesSince(0);
    await server().process.freeze();
    try {
      const asked = store.changesSince(0);
      const refused = expect(asked).rejects.toThrow(AdminStoreAway);
      // The question is on its way.
      await new Promise((resolve) => setImmediate(resolve));
      await store.close();
      await refused;
    } finally {
      await server().process.thaw();
    }
  });

  test("a user who may not create tables works on a migrated schema, and is told clearly on another", async () => {
    const [ready, missing] = [newPrefix(), newPrefix()];
    const link = await openAdminLink(placeOf(), SYSTEM);
    expect(await migrateAdmin(link, adminTables(ready), 0)).toEqual({ from: 0, to: 3 });
    expect(await migrateAdmin(link, adminTables(ready), 0)).toEqual({ from: 3, to: 3 });
    await link.close();
    const { user, where, whom } = grants;
    await server().ask(user);
    // The line of docs/operating.md.
    await server().ask(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${where} TO ${whom}`);
    const place = placeOf({ sqlUrl: server().url(undefined, "modest") });
    const store = await openAdminStore(place, SYSTEM, { tablePrefix: ready });
    const made = await store.createNamespace("default", "api", "cli:tester");
    expect((await store.changesSince(0))?.namespaces).toMatchObject([made]);
    await store.close();
    const poor = await openAdminStore(place, SYSTEM, { tablePrefix: missing });
    await expect(poor.changesSince(0)).rejects.toThrow(AdminSchemaError);
    await expect(poor.changesSince(0)).rejects.toThrow(
      /may not create them .* run sluice migrate as a user with that right/,
    );
    await poor.close();
  });
});

const MIB = 1024 * 1024;
const PLACES = [
  { name: "SQLite", place: () => ({ sqlUrl: `sqlite:${join(folder, `${newPrefix()}.db`)}`, dataDir: folder }) },
  { name: "MariaDB", place: () => ({ sqlUrl: mariadb.url(), dataDir: folder }) },
  { name: "PostgreSQL", place: () => ({ sqlUrl: postgres.url(), dataDir: folder }) },
];

describe.each(PLACES)("audit trail on $name", ({ name, place: placeOf }) => {
  /** How the database finds the rows of a question, in its own words. */
  async function planOf(place: AdminPlace, run: RunSql, sql: string, values: readonly SqlValue[]): Promise<string> {
    if (name !== "SQLite") return JSON.stringify(await run(`EXPLAIN ${sql}`, ...values));
    const Database = await SQLITE_DRIVER.load();
    const database = new Database(sqlitePath(place.sqlUrl!));
    const plan = JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values));
    database.close();
    return plan;
  }

  test("a part of it by time is found by an index, however long the trail is", async () => {
    const place = placeOf();
    const tables = adminTables(newPrefix());
    const link = await openAdminLink(place, SYSTEM);
    await migrateAdmin(link, tables, 0);
    await link.transaction(async (run) => {
      for (let revision = 1; revision <= 5_000; revision += 100) {
        const rows = Array.from({ length: 100 }, (_, i) => revision + i);
        const values = rows.map((one) => `(${one}, '${one % 10 === 0 ? "ws_b" : "default"}', ${one}, ${one}, '{}')`);
        await run(
          `INSERT INTO ${tables.audit} (revision, workspace_id, at_ms, total_bytes, entry) VALUES ${values.join()}`,
        );
      }
    });
    if (name !== "SQLite") await link.ask((run) => run(`ANALYZE ${name === "MariaDB" ? "TABLE " : ""}${tables.audit}`));
    await link.ask(async (run) => {
      const index = `${tables.audit}_time`;
      for (const [since, until] of [
        [4_900, 5_000],
        [0, 5_000],
        [0, 100],
      ] as const) {
        const first = await planOf(place, run, auditSpanSql(tables.audit, 11, false), ["default", since, until]);
        expect(first).toContain(index);
        const next = [...(["default", since, until] as const), until, until];
        const second = await planOf(place, run, auditSpanSql(tables.audit, 11, true), next);
        expect(second).toContain(index);
        // The rows of a short span may be sorted; those of a long one come in the order of the index.
        if (until - since < 1_000) continue;
        for (const plan of [first, second]) expect(plan).not.toMatch(/filesort|Sort|TEMP B-TREE/);
      }
    });
    await link.close();
  });

  test("its migration keeps what is there, can be repeated after an interruption, and lets an older release write on", async () => {
    const place = placeOf();
    const tablePrefix = newPrefix();
    const tables = adminTables(tablePrefix);
    const link = await openAdminLink(place, SYSTEM);
    expect(await migrateAdmin(link, tables, 0)).toEqual({ from: 0, to: 3 });
    // MySQL commits each change of a table: the process ended before the migration was noted.
    await link.transaction((run) => run(`DELETE FROM ${tables.schema} WHERE version > ?`, 1));
    expect(await migrateAdmin(link, tables, 0)).toEqual({ from: 1, to: 3 });
    // An older release refuses to start on a version that it does not know and that is breaking.
    const versions = await link.ask((run) => run(`SELECT version, is_breaking FROM ${tables.schema} ORDER BY version`));
    expect(versions.map((row) => [row["version"], row["is_breaking"]].map(Number))).toEqual([
      [1, 1],
      [2, 0],
      [3, 0],
    ]);
    const entry = { atMs: 1, workspaceId: "default", actor: "cli:old", action: "old", subject: "x", before: null };
    const writeAsOlder = () =>
      link.transaction(async (run) => {
        const [row] = await run(`SELECT revision FROM ${tables.revision}`);
        const revision = Number(row!["revision"]) + 1;
        const insert = `INSERT INTO ${tables.audit} (revision, workspace_id, at_ms, entry) VALUES (?, ?, ?, ?)`;
        await run(insert, revision, "default", 1, JSON.stringify({ ...entry, after: null }));
        await run(`UPDATE ${tables.revision} SET revision = ? WHERE id = 1`, revision);
      });
    await writeAsOlder();
    const store = await openAdminStore(place, SYSTEM, { tablePrefix, auditBytesMax: MIB });
    const write = (limit: number) =>
      store.setOverride(
        {
          workspaceId: "default",
          namespaceId: "rlns_1",
          identifier: "🙂".repeat(512),
          limit,
          durationMs: 1,
          isShadow: false,
        },
        "cli:new",
      );
    const trail = () => store.readAudit("default", { limit: 1_000 });
    for (let i = 1; i <= 20; i++) await write(i);
    await writeAsOlder();
    for (let i = 21; i <= 40; i++) await write(i);
    expect((await trail()).filter(({ action }) => action === "old")).toHaveLength(2);
    for (let i = 41; i <= 110; i++) await write(i);
    await writeAsOlder();
    for (let i = 111; i <= 120; i++) await write(i);
    const left = await trail();
    expect(left.filter(({ action }) => action === "old")).toHaveLength(1);
    expect(JSON.stringify(left).length).toBeLessThan(MIB);
    expect(left.length).toBeGreaterThan(60);
    await store.close();
    await link.close();
  });
});

type Migrated = Record<"admin" | "counters", { readonly from: number; readonly to: number }>;

describe.each(SERVERS)("sluice migrate on $name", ({ server }) => {
  test("makes the tables of the store and of the counters, once, and keys can be made", async () => {
    const environment = { SLUICE_SQL_URL: server().url(), SLUICE_DATA: folder };
    const migrate = async () => JSON.parse((await runSluice(["migrate", "--json"], environment)).out) as Migrated;
    const { admin, counters } = await migrate();
    expect([admin.from, counters.from]).toEqual([0, 0]);
    expect(await migrate()).toEqual({
      admin: { from: admin.to, to: admin.to },
      counters: { from: counters.to, to: counters.to },
    });
    const created = await runSluice(["keys", "create"], environment);
    expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^sluice_/) });
  });
});

describe("admin store, in trouble", () => {
  const newFile = () => `sqlite:${join(folder, `${newPrefix()}.db`)}`;
  const placeOf = (sqlUrl: string): AdminPlace => ({ sqlUrl, dataDir: folder });

  test("a schema that a newer release has changed stops an older one; one that it has added to does not", async () => {
    const place = placeOf(newFile());
    const link = await openAdminLink(place, SYSTEM);
    await migrateAdmin(link, adminTables(), 0);
    const insert = "INSERT INTO sluice_admin_schema (version, is_breaking, applied_at) VALUES (?, ?, ?)";
    await link.transaction((run) => run(insert, 4, 0, 0));
    const store = await openAdminStore(place, SYSTEM);
    expect(await store.changesSince(0)).toMatchObject({ revision: 0 });
    await store.close();
    await link.transaction((run) => run(insert, 5, 1, 0));
    const older = await openAdminStore(place, SYSTEM);
    await expect(older.changesSince(0)).rejects.toThrow(
      "sluice_admin_schema is at version 5, which this release does not know (it knows 3): use a newer release",
    );
    await expect(older.createNamespace("default", "api", "cli:tester")).rejects.toThrow(AdminSchemaError);
    await expect(migrateAdmin(link, adminTables(), 0)).rejects.toThrow(AdminSchemaError);
    await older.close();
    await link.close();
  });

  test("a store that may not migrate says what to do", async () => {
    const store = await openAdminStore(placeOf(newFile()), SYSTEM, { mayMigrate: false });
    await expect(store.changesSince(0)).rejects.toThrow(
      /at version 0, and version 3 is needed: run sluice migrate first/,
    );
    await store.close();
  });

  test("a lock that another process holds is waited for, and not for ever", async () => {
    const place = placeOf(newFile());
    const time = new ManualTime();
    const store = await openAdminStore(place, { ...SYSTEM, clock: time.clock, timers: time.timers });
    await store.changesSince(0);
    const other = await openAdminLink(place, SYSTEM);
    const [held, release] = gate();
    const [taken, take] = gate();
    const holding = other.transaction(async () => {
      take();
      await held;
    });
    await taken;
    let settled: unknown = null;
    const note = (what: unknown) => {
      settled = what;
    };
    // No longer than the patience of five seconds, and the pause under way.
    void store.createNamespace("default", "first", "cli:tester").then(note, note);
    await time.advance(4_900);
    expect(settled).toBeNull();
    // Readers need not wait, not even for a change of their own store: a key could otherwise delay its own revocation.
    expect((await store.changesSince(0))?.namespaces).toEqual([]);
    await time.advance(150);
    expect(settled).toBeInstanceOf(AdminStoreAway);
    const second = store.createNamespace("default", "second", "cli:tester");
    await time.advance(1_000);
    release();
    await holding;
    await time.advance(100);
    expect((await second).name).toBe("second");
    await other.close();
    await store.close();
    // The pause after a change on a store that blocks.
    await time.advance(100);
    expect(time.pending).toBe(0);
  });

  test.each([
    ["mysql://user@127.0.0.1/", "got no database"],
    ["mysql://user@127.0.0.1/sluice?ssl=true", "got parameters"],
    ["postgres:///sluice", "got a text that is not a URL"],
    ["oracle://x/y", "got oracle:"],
    ["sqlite:", "sqlite: and the path of a file"],
    ["sqlite::memory:", "sqlite: and the path of a file"],
    ["sqlite://host/file.db", "sqlite: and the path of a file"],
  ])("%s is refused, and says why", async (sqlUrl, why) => {
    await expect(openAdminStore(placeOf(sqlUrl), SYSTEM)).rejects.toThrow(why);
  });

  test("a password in a URL is shown by no error", async () => {
    const sqlUrl = "mysql://user:hunter22@127.0.0.1:1/sluice";
    const store = await openAdminStore(placeOf(sqlUrl), SYSTEM);
    const error: unknown = await store.changesSince(0).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(AdminStoreAway);
    expect(String(error)).toContain("ECONNREFUSED");
    expect(String(error)).not.toContain("hunter22");
    await store.close();
    await expect(openAdminStore(placeOf("mysql://user:hunter22@/"), SYSTEM)).rejects.not.toThrow("hunter22");
  });
});

/** A promise, and what resolves it. */
function gate(): [Promise<void>, () => void] {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}
