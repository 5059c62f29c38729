/** The admin store of a running server in trouble: corrupt records, and a disk that is full. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAdminLink } from "../../packages/server/src/admin/open-admin-store.ts";
import { SqlAdminStore } from "../../packages/server/src/admin/sql-admin-store.ts";
import { type AdminDriver, SqlLink } from "../../packages/server/src/admin/sql-link.ts";
import { sqliteAdmin } from "../../packages/server/src/admin/sqlite-admin.ts";
import { WriteWatch } from "../../packages/server/src/serve/write-watch.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { diskFinding } from "../../packages/server/src/tools/doctor/disk-checks.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";
import { SluiceServer, sluice } from "../rig/sluice-server.ts";
import { STARVED_MAX_MS } from "../rig/starvation.ts";

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => removeFolder(folder));

describe("corrupt records in the admin store", () => {
  test("are ignored, reported by /ready and the log, and stop no change and no revocation", async () => {
    const server = await SluiceServer.start(folder);
    const dataDir = join(folder, "data");
    const link = await openAdminLink({ sqlUrl: null, dataDir }, SYSTEM);
    await link.transaction(async (run) => {
      const insert = "INSERT INTO sluice_admin_records (kind, id, is_deleted, revision, record) VALUES (?, ?, 0, ?, ?)";
      await run(insert, "namespace", "rlns_evil", 1_000, "{broken");
      await run(insert, "key", "key_evil", 1_001, '{"id":"key_evil","hash":5}');
      await run(insert, "kind of a newer release", "x", 1_002, "{}");
      await run("UPDATE sluice_admin_revision SET revision = 1002");
    });
    await link.close();
    const layers = async () => (await server.ready()).body["layers"] as { admin: { status: string; reason: string } };
    await poll("/ready reports them", async () => (await layers()).admin.status === "degraded");
    expect((await layers()).admin.reason).toBe("2 corrupt records are ignored: namespace rlns_evil, key key_evil");
    expect((await server.ready()).status).toBe(200);
    expect(server.log("admin-store.corrupt").map(({ record }) => record)).toEqual([
      "namespace rlns_evil",
      "key key_evil",
    ]);
    expect((await server.post("createNamespace", { name: "new" })).status).toBe(200);
    const made = await sluice(["keys", "create", "--json", "--data", dataDir]);
    const { id, key } = JSON.parse(made.out) as Record<string, string>;
    const limit = () => server.post("limit", { namespace: "new", identifier: "x", limit: 5, duration: 60_000 }, key);
    await poll("the new key is known", async () => (await limit()).status === 200);
    expect((await sluice(["keys", "revoke", id!, "--data", dataDir])).code).toBe(0);
    await poll("the revoked key is refused", async () => (await limit()).status === 401);
    await server.stop();
  });

  test("in the audit trail are listed as corrupt, and hide no other entry", async () => {
    const own = join(folder, "trail");
    mkdirSync(own);
    const server = await SluiceServer.start(own);
    for (const name of ["a", "b", "c"]) await server.post("createNamespace", { name });
    const list = async () => {
      const { status, body } = await server.post("listChanges", {});
      return [status, (body.data as unknown as { action: string }[]).slice(0, 3).map(({ action }) => action)];
    };
    const made = "namespace.create";
    expect(await list()).toEqual([200, [made, made, made]]);
    const link = await openAdminLink({ sqlUrl: null, dataDir: join(own, "data") }, SYSTEM);
    await link.transaction(async (run) => {
      const [last] = await run("SELECT MAX(revision) AS revision FROM sluice_admin_audit");
      await run("UPDATE sluice_admin_audit SET entry = '{bad' WHERE revision = ?", Number(last!["revision"]) - 1);
    });
    await link.close();
    expect(await list()).toEqual([200, [made, "corrupt", made]]);
    await server.stop();
  });
});

describe("an admin store that was locked for too long", () => {
  test("is reported by /ready until a trial write of the server succeeds, without a change by a client", async () => {
    const own = join(folder, "trial");
    mkdirSync(own);
    const server = await SluiceServer.start(own);
    const admin = async () => ((await server.ready()).body["layers"] as { admin: { status: string } }).admin;
    const link = await openAdminLink({ sqlUrl: null, dataDir: join(own, "data") }, SYSTEM);
    await link.transaction(async () => {
      expect((await server.post("createNamespace", { name: "a" })).status).toBe(503);
    });
    await link.close();
    expect(await admin()).toEqual({
      status: "degraded",
      reason: "the store was locked by another process for too long: the last change was not made",
    });
    // The first trial comes 5 s after the failure, with the next read of the directory.
    await poll("a trial write has succeeded", async () => (await admin()).status === "ok", STARVED_MAX_MS);
    expect(server.log("admin-store.writable")).toHaveLength(1);
    await server.stop();
  }, 150_000);
});

describe("a disk that is full", () => {
  test("is named in the log and for /ready when a change fails, until a change or a trial write succeeds", async () => {
    const lines: string[] = [];
    let nowMs = 0;
    const hear = (event: string, fields: object = {}) => lines.push(`${event} ${JSON.stringify(fields)}`);
    const watch = new WriteWatch(
      { debug: hear, info: hear, warn: hear, error: hear },
      {
        wallMs: () => 0,
        monoMs: () => nowMs,
      },
    );
    const plain = sqliteAdmin(join(folder, "full.db"));
    let pages = 1_000_000;
    // SQLite's own limit on the size of a file fails as a full disk does.
    const driver: AdminDriver = {
      ...plain,
      open: async () => {
        const connection = await plain.open();
        return {
          ...connection,
          run: async (text, ...values) => {
            await connection.run(`PRAGMA max_page_count = ${pages}`);
            return connection.run(text, ...values);
          },
        };
      },
    };
    const links = { reads: new SqlLink(driver, SYSTEM), work: new SqlLink(driver, SYSTEM) };
    const store = new SqlAdminStore(links, SYSTEM, { onWrite: (failure) => watch.note(failure) });
    await store.createNamespace("default", "before", "test");
    expect([watch.failure, lines]).toEqual([null, []]);
    pages = 1;
    let i = 0;
    const fill = async () => {
      for (const end = i + 1_000; i < end; i++)
        await store.createNamespace("default", `${"x".repeat(500)}${i}`, "test");
    };
    await expect(fill()).rejects.toThrow("database or disk is full");
    await expect(fill()).rejects.toThrow("database or disk is full");
    expect(watch.failure).toBe("the disk of the store is full: changes are refused");
    expect(lines).toEqual(['admin-store.unwritable {"kind":"full","reason":"database or disk is full"}']);
    expect((await store.changesSince(0))?.namespaces.length).toBeGreaterThan(0);
    pages = 1_000_000;
    await store.createNamespace("default", "after", "test");
    expect([watch.failure, lines.at(-1)]).toEqual([null, "admin-store.writable {}"]);
    expect(watch.isTrialDue).toBe(false);
    pages = 1;
    await expect(fill()).rejects.toThrow("database or disk is full");
    nowMs += 4_999;
    expect(watch.isTrialDue).toBe(false);
    nowMs += 1;
    expect(watch.isTrialDue).toBe(true);
    await store.tryWrite();
    expect([watch.failure, watch.isTrialDue]).toEqual(["the disk of the store is full: changes are refused", false]);
    pages = 1_000_000;
    await store.tryWrite();
    expect([watch.failure, lines.at(-1)]).toEqual([null, "admin-store.writable {}"]);
    await store.close();
  });

  test.each([
    [5, "fail"],
    [50, "warn"],
    [5_000, undefined],
  ])("with %d MiB left is found by the doctor", (mib, status) => {
    expect(diskFinding("data", mib * 1024 * 1024)?.status).toBe(status);
  });
});
