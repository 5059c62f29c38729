/** The memory directory on a real SQLite store, in time by hand. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AdminStore, AdminStoreAway } from "../../packages/server/src/admin/admin-store.ts";
import { bootstrap } from "../../packages/server/src/admin/bootstrap.ts";
import { MemoryDirectory } from "../../packages/server/src/admin/memory-directory.ts";
import { openAdminLink, openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import type { KeyRecord } from "../../packages/server/src/admin/records.ts";
import { hashOf } from "../../packages/server/src/admin/token.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { ManualTime } from "../support/manual-time.ts";

const ACTOR = "cli:tester";
/** The longest pause between two questions: 500 ms and half of the jitter of 200. */
const PAUSE_MAX_MS = 600;

let folder: string;
let files = 0;
let time: ManualTime;
let store: AdminStore;
let path: string;
let directories: MemoryDirectory[];
/** Questions to the store: how many, and what happens to them. */
let asked: number;
let trouble: (() => Promise<unknown>) | null;

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => removeFolder(folder));

beforeEach(async () => {
  time = new ManualTime();
  path = join(folder, `${files++}.db`);
  store = await openAdminStore({ sqlUrl: `sqlite:${path}`, dataDir: folder }, SYSTEM);
  // The driver is loaded by then: what is asked later needs no more than promises.
  await store.changesSince(0);
  directories = [];
  asked = 0;
  trouble = null;
});
afterEach(async () => {
  for (const directory of directories) await directory.close();
  await store.close();
  expect(time.pending).toBe(0);
});

/** A directory whose questions go through `trouble`. */
function directory(onFailure?: (error: unknown) => void): MemoryDirectory {
  const watched = Object.create(store) as AdminStore;
  watched.changesSince = async (revision) => {
    asked++;
    await trouble?.();
    return store.changesSince(revision);
  };
  const environment = { clock: time.clock, timers: time.timers, random: SYSTEM.random };
  const made = new MemoryDirectory(watched, environment, onFailure);
  directories.push(made);
  return made;
}

const override = (identifier: string, namespaceId = "rlns_1", limit = 5) => ({
  workspaceId: "default",
  namespaceId,
  identifier,
  limit,
  durationMs: 60_000,
  isShadow: false,
});

const key = (id: string, token: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  workspaceId: "default",
  name: "",
  hash: hashOf(token),
  start: "",
  permissions: ["*"],
  isDisabled: false,
  createdAtMs: 0,
  expiresAtMs: null,
  ...more,
});

describe("memory directory", () => {
  test("a change is seen by every other directory within one pause, by who asks for it at once", async () => {
    const [here, there] = [directory(), directory()];
    here.start();
    there.start();
    await time.settle();
    expect([here.isLoaded, there.isLoaded]).toEqual([true, true]);
    for (let round = 0; round < 20; round++) {
      const set = await store.setOverride(override("user_1", "rlns_1", round), ACTOR);
      await here.refresh();
      expect(here.overrideFor("rlns_1", "user_1")).toEqual(set);
      await time.advance(PAUSE_MAX_MS);
      expect(there.overrideFor("rlns_1", "user_1")).toEqual(set);
    }
    await store.deleteOverride("rlns_1", "user_1", ACTOR);
    await time.advance(PAUSE_MAX_MS);
    expect(there.overrideFor("rlns_1", "user_1")).toBeUndefined();
    expect(there.overridesOf("rlns_1")).toEqual([]);
  });

  test("who asks while a question is under way gets the answer of one that began later, shared with all who asked", async () => {
    const one = directory();
    await one.refresh();
    let release = () => {};
    trouble = () => new Promise<void>((resolve) => (release = resolve));
    const first = one.refresh();
    const before = asked;
    const second = one.refresh();
    const third = one.refresh();
    expect(asked).toBe(before);
    await store.setOverride(override("user_1"), ACTOR);
    release();
    trouble = null;
    await first;
    await Promise.all([second, third]);
    expect(asked).toBe(before + 1);
    expect(one.overrideFor("rlns_1", "user_1")?.limit).toBe(5);
  });

  test("while the store is away what was known stands, its age says so, and afterwards everything is read again", async () => {
    const failures: unknown[] = [];
    const one = directory((error) => failures.push(error));
    await store.setOverride(override("kept"), ACTOR);
    await store.setOverride(override("gone"), ACTOR);
    one.start();
    await time.settle();
    trouble = async () => {
      throw new AdminStoreAway("away");
    };
    await time.advance(10_000);
    expect(one.overrideFor("rlns_1", "kept")?.limit).toBe(5);
    expect(one.isLoaded).toBe(true);
    expect(one.ageMs).toBeGreaterThan(9_000);
    expect(failures.length).toBeGreaterThanOrEqual(10_000 / PAUSE_MAX_MS - 1);
    await expect(one.refresh()).rejects.toThrow(AdminStoreAway);
    // Somebody has put an older state in its place: the same revision, another content.
    const link = await openAdminLink({ sqlUrl: `sqlite:${path}`, dataDir: folder }, SYSTEM);
    await link.transaction((run) => run("DELETE FROM sluice_admin_records WHERE revision = ?", 2));
    await link.close();
    trouble = null;
    await time.advance(PAUSE_MAX_MS);
    expect(one.overridesOf("rlns_1").map(({ identifier }) => identifier)).toEqual(["kept"]);
    expect(one.ageMs).toBeLessThanOrEqual(PAUSE_MAX_MS);
  });

  test("a server that starts while the store is away is not loaded, and is as soon as it is back", async () => {
    trouble = async () => {
      throw new AdminStoreAway("away");
    };
    const one = directory();
    one.start();
    await time.advance(5_000);
    expect(one.isLoaded).toBe(false);
    expect(one.keyOf("anything")).toBeUndefined();
    trouble = null;
    await time.advance(PAUSE_MAX_MS);
    expect(one.isLoaded).toBe(true);
  });

  test("a closed one asks no more, and refuses to be asked", async () => {
    const one = directory();
    one.start();
    await time.settle();
    await one.close();
    const before = asked;
    await time.advance(5_000);
    expect(asked).toBe(before);
    await expect(one.refresh()).rejects.toThrow(AdminStoreAway);
  });

  test("a token finds its key until it expires or is revoked; a disabled one is found, to be refused by name", async () => {
    const one = directory();
    const { createdToken } = await bootstrap(store, null, SYSTEM);
    await store.saveKey(key("key_soon", "soon", { expiresAtMs: time.wallMs + 1_000 }), "key.create", ACTOR);
    await store.saveKey(key("key_off", "off", { isDisabled: true }), "key.create", ACTOR);
    await one.refresh();
    expect(one.keyOf(createdToken!)?.permissions).toEqual(["*"]);
    expect(one.keyOf(`${createdToken}x`)).toBeUndefined();
    expect(one.keyOf("")).toBeUndefined();
    expect(one.keyOf("x".repeat(10_000))).toBeUndefined();
    expect(one.keyOf("soon")?.id).toBe("key_soon");
    time.pass(1_000);
    expect(one.keyOf("soon")).toBeUndefined();
    expect(one.keyOf("off")?.isDisabled).toBe(true);
    await store.deleteKey("key_off", ACTOR);
    await one.refresh();
    expect(one.keyOf("off")).toBeUndefined();
    expect(one.keysOf("default").map(({ id }) => id)).not.toContain("key_off");
    expect(one.keysOf("ws_other")).toEqual([]);
  });

  test("a namespace is found by id, else by name, the living one first, and never that of another workspace", async () => {
    const one = directory();
    const first = await store.createNamespace("default", "api", ACTOR);
    const foreign = await store.createNamespace("ws_b", "api", ACTOR);
    await store.saveNamespace({ id: first.id, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
    await one.refresh();
    expect(one.namespaceOf("default", "api")).toMatchObject({ id: first.id, deletedAtMs: 1_000 });
    expect(one.namespaceOf("default", foreign.id)).toBeUndefined();
    expect(one.namespaceOf("ws_b", first.id)).toBeUndefined();
    expect(one.namespaceOf("ws_none", "api")).toBeUndefined();
    const second = await store.createNamespace("default", "api", ACTOR);
    // A living one with the id of another as its name: the id means that other, even if it is deleted.
    await store.createNamespace("default", first.id, ACTOR);
    const odd = await store.createNamespace("default", second.id, ACTOR);
    await one.refresh();
    expect(one.namespaceOf("default", "api")?.id).toBe(second.id);
    expect(one.namespaceOf("default", first.id)?.id).toBe(first.id);
    expect(one.namespaceOf("default", second.id)?.id).toBe(second.id);
    await store.saveNamespace({ id: second.id, deletedAtMs: 2_000 }, "namespace.delete", ACTOR);
    await one.refresh();
    expect(one.namespaceOf("default", "api")?.id).toBe(second.id);
    expect(one.namespacesOf("default").map(({ id }) => id)).toHaveLength(4);
    await store.saveNamespace({ id: odd.id, deletedAtMs: 3_000 }, "namespace.delete", ACTOR);
    await store.saveNamespace({ id: first.id, deletedAtMs: null }, "namespace.restore", ACTOR);
    await one.refresh();
    expect(one.namespaceOf("default", "api")).toEqual(first);
  });

  test("an override that was deleted and set again between two questions is there", async () => {
    const one = directory();
    await store.setOverride(override("user_*"), ACTOR);
    await one.refresh();
    await store.deleteOverride("rlns_1", "user_*", ACTOR);
    const again = await store.setOverride(override("user_*", "rlns_1", 9), ACTOR);
    await one.refresh();
    expect(one.overrideFor("rlns_1", "user_7")).toEqual(again);
    expect(one.overrideOf("rlns_1", "user_*")).toEqual(again);
    expect(one.overrideOf("rlns_1", "user_7")).toBeUndefined();
    expect(one.overrideFor("rlns_2", "user_7")).toBeUndefined();
  });

  test("who missed deletions that were cleared away meanwhile reads everything", async () => {
    const one = directory();
    await store.setOverride(override("kept"), ACTOR);
    await store.setOverride(override("gone"), ACTOR);
    await one.refresh();
    await store.deleteOverride("rlns_1", "gone", ACTOR);
    // As if ten thousand changes had come since: every thousandth clears away what is older than that.
    const link = await openAdminLink({ sqlUrl: `sqlite:${path}`, dataDir: folder }, SYSTEM);
    await link.transaction((run) => run("UPDATE sluice_admin_revision SET revision = ?", 10_999));
    await store.setOverride(override("new"), ACTOR);
    const tombstones = await link.ask((run) => run("SELECT id FROM sluice_admin_records WHERE is_deleted = 1"));
    await link.close();
    expect(tombstones).toEqual([]);
    await one.refresh();
    expect(one.overridesOf("rlns_1").map(({ identifier }) => identifier)).toEqual(["kept", "new"]);
  });
});
