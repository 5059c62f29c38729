/** What every admin store does, whatever database it is on. */
import { afterEach, describe, expect, test } from "vitest";
import { SYSTEM } from "../system/system.ts";
import { type AdminStore, type KeyActor, KeyNotRoot, NameTaken } from "./admin-store.ts";
import { bootstrap, DEFAULT_WORKSPACE } from "./bootstrap.ts";
import type { KeyRecord, OverrideRecord } from "./records.ts";
import type { SqlAdminOptions } from "./sql-admin-store.ts";
import { hashOf } from "./token.ts";

type StoreOptions = Pick<SqlAdminOptions, "namespacesMax" | "auditKeepMs">;

export interface StoreSetUp {
  /** A store on tables that nobody else uses; called again with the same name, another connection to the same ones. */
  open(name: string, options?: StoreOptions): Promise<AdminStore>;
  /** Identifiers that a database could take for one another. */
  readonly oddIdentifiers: readonly string[];
}

const ACTOR = "cli:tester";
const WS = DEFAULT_WORKSPACE.id;

export function adminStoreConformance(database: string, { open, oddIdentifiers }: StoreSetUp): void {
  describe(`admin store on ${database}`, () => {
    let names = 0;
    const opened: AdminStore[] = [];

    /** Several stores on the same tables. */
    async function stores(count: number, options: StoreOptions = {}): Promise<AdminStore[]> {
      const name = `t${process.pid}_${names++}`;
      const made: AdminStore[] = [];
      for (let i = 0; i < count; i++) made.push(await open(name, options));
      opened.push(...made);
      return made;
    }

    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    test("many that start at once make the tables, the workspace and the first root key once", async () => {
      const several = await stores(8);
      const results = await Promise.all(several.map((store) => bootstrap(store, null, SYSTEM)));
      const tokens = results.flatMap(({ createdToken }) => createdToken ?? []);
      expect(tokens).toHaveLength(1);
      const changes = await several[0]!.changesSince(0);
      expect(changes?.workspaces).toEqual([DEFAULT_WORKSPACE]);
      expect(changes?.keys.map(({ hash }) => hash)).toEqual([hashOf(tokens[0]!)]);
      expect(await bootstrap(several[3]!, null, SYSTEM)).toEqual({ createdToken: null });
    });

    test("a preset key is the root key, once; another value takes its place, and an old one can come back", async () => {
      const several = await stores(4);
      const preset = (token: string) => Promise.all(several.map((store) => bootstrap(store, token, SYSTEM)));
      const states = async () => {
        const keys = (await several[0]!.changesSince(0))?.keys ?? [];
        return new Map(keys.map(({ hash, isDisabled, permissions }) => [hash, { isDisabled, permissions }]));
      };
      const on = { isDisabled: false, permissions: ["*"] };
      const off = { isDisabled: true, permissions: ["*"] };
      const results = await preset("the-first-preset-value");
      expect(results.map(({ createdToken }) => createdToken)).toEqual([null, null, null, null]);
      expect(await states()).toEqual(new Map([[hashOf("the-first-preset-value"), on]]));
      await preset("the-second-preset-value");
      expect(await states()).toEqual(
        new Map([
          [hashOf("the-first-preset-value"), off],
          [hashOf("the-second-preset-value"), on],
        ]),
      );
      await preset("the-first-preset-value");
      expect((await states()).get(hashOf("the-first-preset-value"))).toEqual(on);
      expect((await states()).get(hashOf("the-second-preset-value"))).toEqual(off);
      const audit = await several[0]!.readAudit(WS, { limit: 100 });
      expect(audit.map(({ action }) => action).reverse()).toEqual([
        "workspace.create",
        "key.preset",
        "key.preset",
        "key.disable",
        "key.preset",
        "key.disable",
      ]);
    });

    test("the key that was printed may be preset, and one of another workspace may not", async () => {
      const [store] = await stores(1);
      const { createdToken } = await bootstrap(store!, null, SYSTEM);
      await bootstrap(store!, createdToken, SYSTEM);
      const { keys } = (await store!.changesSince(0))!;
      expect(keys).toHaveLength(1);
      await store!.createWorkspace({ ...DEFAULT_WORKSPACE, id: "ws_b", name: "b" }, null, ACTOR);
      await store!.saveKey(
        key("key_b", { workspaceId: "ws_b", hash: hashOf("the-token-of-workspace-b") }),
        "key.create",
        ACTOR,
      );
      await expect(bootstrap(store!, "the-token-of-workspace-b", SYSTEM)).rejects.toThrow(NameTaken);
    });

    test.each<[string, Partial<KeyRecord>]>([
      ["a limited key", { permissions: ["ratelimit.*.limit"] }],
      ["a disabled one", { isDisabled: true }],
      ["one that ends", { expiresAtMs: 9_000_000_000_000 }],
    ])("%s that is preset stays what it is, and is refused", async (_, more) => {
      const [store] = await stores(1);
      await bootstrap(store!, null, SYSTEM);
      await store!.saveKey(key("key_1", { hash: hashOf("the-token-of-a-service"), ...more }), "key.create", ACTOR);
      const before = await store!.changesSince(0);
      await expect(bootstrap(store!, "the-token-of-a-service", SYSTEM)).rejects.toThrow(KeyNotRoot);
      expect(await store!.changesSince(0)).toEqual(before);
    });

    test("a key that was revoked makes no more changes, not even those that wait", async () => {
      const [store, operator] = await stores(2);
      await bootstrap(store!, null, SYSTEM);
      await store!.saveKey(key("key_1"), "key.create", ACTOR);
      const refused = new Error("revoked");
      const actor: KeyActor = {
        keyId: "key_1",
        workspaceId: WS,
        check: (found) => {
          if (found === null) throw refused;
        },
      };
      let made = 0;
      const flood = async (identifier: string) => {
        for (;;) {
          await store!.setOverride(override(identifier, 1 + (made % 100)), actor);
          made++;
        }
      };
      const floods = ["a", "b", "c", "d", "e", "f", "g", "h"].map(flood);
      const ends = Promise.allSettled(floods);
      await operator!.deleteKey("key_1", ACTOR);
      for (const end of await ends) expect(end).toMatchObject({ status: "rejected", reason: refused });
      const audit = await store!.readAudit(WS, { limit: 1 });
      expect(audit.map(({ action }) => action)).toEqual(["key.revoke"]);
    });

    test("servers that create a namespace at once get the same one", async () => {
      const several = await stores(6);
      const made = await Promise.all(several.map((store) => store.createNamespace(WS, "api", ACTOR, "traffic")));
      expect(new Set(made.map(({ id }) => id)).size).toBe(1);
      const changes = await several[0]!.changesSince(0);
      expect(changes?.namespaces).toEqual([made[0]]);
      const elsewhere = await several[0]!.createNamespace("ws_other", "api", ACTOR);
      expect(elsewhere.id).not.toBe(made[0]!.id);
    });

    test("an administrator gets the namespace as he wants it in one change, or is told that the name is taken", async () => {
      const several = await stores(4);
      const asked = several.map((store) => store.createNamespace(WS, "api", ACTOR, { isShadow: true }));
      const settled = await Promise.allSettled(asked);
      expect(settled.filter(({ status }) => status === "fulfilled")).toMatchObject([{ value: { isShadow: true } }]);
      for (const one of settled) if (one.status === "rejected") expect(one.reason).toBeInstanceOf(NameTaken);
      expect(await several[0]!.changesSince(0)).toMatchObject({ revision: 1, namespaces: [{ isShadow: true }] });
    });

    test("a workspace has as many living namespaces as it may, whatever others have", async () => {
      const [store] = await stores(1, { namespacesMax: 3 });
      const full = { name: "NamespaceLimitReached" };
      const made: string[] = [];
      for (const name of ["a", "b", "c"]) made.push((await store!.createNamespace(WS, name, ACTOR)).id);
      await expect(store!.createNamespace(WS, "one more", ACTOR, "traffic")).rejects.toMatchObject(full);
      await expect(store!.createNamespace(WS, "one more", ACTOR)).rejects.toMatchObject(full);
      expect((await store!.createNamespace("ws_other", "a", ACTOR)).workspaceId).toBe("ws_other");
      await store!.saveNamespace({ id: made[0]!, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
      expect((await store!.createNamespace(WS, "one more", ACTOR)).name).toBe("one more");
    });

    test("a workspace has no more living namespaces than it may, whichever server makes and deletes them", async () => {
      const [here, there] = await stores(2, { namespacesMax: 3 });
      const full = { name: "NamespaceLimitReached" };
      const first = await here!.createNamespace(WS, "a", ACTOR);
      await there!.createNamespace(WS, "b", ACTOR);
      await here!.createNamespace(WS, "c", ACTOR);
      await expect(there!.createNamespace(WS, "d", ACTOR)).rejects.toMatchObject(full);
      await expect(here!.createNamespace(WS, "d", ACTOR)).rejects.toMatchObject(full);
      await there!.saveNamespace({ id: first.id, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
      expect((await here!.createNamespace(WS, "d", ACTOR)).name).toBe("d");
      await expect(
        there!.saveNamespace({ id: first.id, deletedAtMs: null }, "namespace.restore", ACTOR),
      ).resolves.not.toBeNull();
      await expect(here!.createNamespace(WS, "e", ACTOR)).rejects.toMatchObject(full);
    });

    test("a deleted namespace frees its name, and comes back only while nobody else has it", async () => {
      const [store] = await stores(1);
      const first = await store!.createNamespace(WS, "api", ACTOR);
      await store!.saveNamespace({ id: first.id, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
      const second = await store!.createNamespace(WS, "api", ACTOR);
      expect(second.id).not.toBe(first.id);
      const restore = () => store!.saveNamespace({ id: first.id, deletedAtMs: null }, "namespace.restore", ACTOR);
      await expect(restore()).rejects.toThrow(NameTaken);
      const changes = await store!.changesSince(0);
      expect(changes?.namespaces.find(({ id }) => id === first.id)?.deletedAtMs).toBe(1_000);
      await store!.saveNamespace({ id: second.id, deletedAtMs: 2_000 }, "namespace.delete", ACTOR);
      expect(await restore()).toEqual(first);
    });

    test("traffic does not bring a deleted namespace back, and an administrator does", async () => {
      const [store] = await stores(1);
      const ids: string[] = [];
      for (const deletedAtMs of [1_000, 3_000, 2_000]) {
        const { id } = await store!.createNamespace(WS, "api", ACTOR);
        await store!.saveNamespace({ id, deletedAtMs }, "namespace.delete", ACTOR);
        ids.push(id);
      }
      const asked = (name: string) => store!.createNamespace(WS, name, ACTOR, "traffic");
      expect(await asked("api")).toMatchObject({ id: ids[1], deletedAtMs: 3_000 });
      expect((await asked("apis")).deletedAtMs).toBeNull();
      const living = await store!.createNamespace(WS, "api", ACTOR);
      expect(await asked("api")).toEqual(living);
    });

    test("two servers that change different flags of a namespace do not undo each other's change", async () => {
      const [a, b] = await stores(2);
      const { id } = await a!.createNamespace(WS, "api", ACTOR);
      await a!.saveNamespace({ id, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
      const seen = await b!.saveNamespace({ id, isShadow: true }, "namespace.shadow", ACTOR);
      expect(seen).toMatchObject({ isShadow: true, deletedAtMs: 1_000 });
      expect(await a!.saveNamespace({ id: "rlns_none", isShadow: true }, "namespace.shadow", ACTOR)).toBeNull();
    });

    test("an override that is set again keeps its id; after a deletion it is a new one that holds", async () => {
      const [store] = await stores(1);
      const first = await store!.setOverride(override("user_*"), ACTOR);
      const again = await store!.setOverride(override("user_*", 7), ACTOR);
      expect(again).toMatchObject({ id: first.id, limit: 7 });
      expect(await store!.deleteOverride("rlns_1", "user_*", ACTOR)).toBe(true);
      expect(await store!.deleteOverride("rlns_1", "user_*", ACTOR)).toBe(false);
      const anew = await store!.setOverride(override("user_*", 8), ACTOR);
      expect(anew.id).not.toBe(first.id);
      const changes = await store!.changesSince(1);
      const living = changes?.overrides.filter(({ isDeleted }) => !isDeleted);
      expect(living).toEqual([{ ...anew, isDeleted: false }]);
    });

    test("what changed after a revision is told, what did not is not, and the order is the same for all", async () => {
      const [a, b] = await stores(2);
      expect(await a!.changesSince(0)).toMatchObject({ revision: 0, isWhole: true });
      const kept = await a!.setOverride(override("kept"), ACTOR);
      const gone = await b!.setOverride(override("gone"), ACTOR);
      const { revision } = (await a!.changesSince(0))!;
      expect(revision).toBe(2);
      expect(await b!.changesSince(revision)).toBeNull();
      await b!.deleteOverride("rlns_1", "gone", ACTOR);
      expect(await a!.changesSince(revision)).toMatchObject({
        revision: 3,
        isWhole: false,
        overrides: [{ ...gone, isDeleted: true }],
      });
      // Nothing new to say: nothing is said.
      await a!.setOverride(override("kept"), ACTOR);
      expect(await b!.changesSince(3)).toBeNull();
      // Who knows of more than there is has seen another state of this store: it gets all that there is.
      expect(await b!.changesSince(99)).toMatchObject({
        revision: 3,
        isWhole: true,
        overrides: [{ ...kept, isDeleted: false }],
      });
    });

    test("changes of several servers at once are all kept, each with a revision of its own", async () => {
      const several = await stores(4);
      const identifiers = Array.from({ length: 40 }, (_, i) => `user_${i}`);
      await Promise.all(identifiers.map((identifier, i) => several[i % 4]!.setOverride(override(identifier), ACTOR)));
      const changes = await several[0]!.changesSince(0);
      expect(changes?.revision).toBe(40);
      expect(new Set(changes?.overrides.map(({ identifier }) => identifier))).toEqual(new Set(identifiers));
    });

    test("identifiers and names that differ in anything stay apart, and come back as they were", async () => {
      const [store] = await stores(1);
      for (const identifier of oddIdentifiers) {
        await store!.setOverride(override(identifier), ACTOR);
        await store!.createNamespace(WS, identifier, ACTOR);
      }
      const changes = await store!.changesSince(0);
      expect(new Set(changes?.overrides.map(({ identifier }) => identifier))).toEqual(new Set(oddIdentifiers));
      expect(new Set(changes?.namespaces.map(({ name }) => name))).toEqual(new Set(oddIdentifiers));
      expect(changes?.overrides).toHaveLength(oddIdentifiers.length);
      expect(changes?.namespaces).toHaveLength(oddIdentifiers.length);
    });

    test("the audit trail says who, what, before and after, newest first, and holds no hash", async () => {
      const [store] = await stores(1);
      await store!.saveKey(key("key_1"), "key.create", ACTOR);
      await store!.saveKey({ ...key("key_1"), isDisabled: true }, "key.disable", "key:key_0");
      await store!.deleteKey("key_1", ACTOR);
      await store!.saveKey(key("key_2", { workspaceId: "ws_other", hash: hashOf("x") }), "key.create", ACTOR);
      const trail = await store!.readAudit(WS, { limit: 10 });
      expect(trail.map(({ action, actor, subject }) => [action, actor, subject])).toEqual([
        ["key.revoke", ACTOR, "key_1"],
        ["key.disable", "key:key_0", "key_1"],
        ["key.create", ACTOR, "key_1"],
      ]);
      const [revoked, disabled, created] = trail;
      expect(created).toMatchObject({ before: null, after: { id: "key_1", isDisabled: false } });
      expect(disabled).toMatchObject({ before: { isDisabled: false }, after: { isDisabled: true } });
      expect(revoked).toMatchObject({ before: { isDisabled: true }, after: null });
      expect(JSON.stringify(trail)).not.toContain(key("key_1").hash);
      expect(await store!.readAudit(WS, { limit: 1 })).toEqual([revoked]);
      expect(await store!.readAudit(WS, { limit: 9, before: disabled!.cursor })).toEqual([created]);
    });

    test("a part of the audit trail can be asked for by time", async () => {
      const [store] = await stores(1);
      for (const id of ["key_1", "key_2", "key_3"])
        await store!.saveKey(key(id, { hash: hashOf(id) }), "key.create", ACTOR);
      const [last, middle, first] = await store!.readAudit(WS, { limit: 10 });
      const subjects = async (span: { sinceMs?: number; untilMs?: number }) =>
        (await store!.readAudit(WS, { limit: 10, ...span })).map(({ subject }) => subject);
      expect(await subjects({ sinceMs: last!.atMs + 1 })).toEqual([]);
      expect(await subjects({ untilMs: first!.atMs })).toEqual([]);
      expect(await subjects({ sinceMs: first!.atMs, untilMs: last!.atMs + 1 })).toEqual(["key_3", "key_2", "key_1"]);
      expect(await subjects({ sinceMs: middle!.atMs })).toContain("key_2");
      expect(await subjects({ untilMs: middle!.atMs })).not.toContain("key_2");
    });

    test("lines of the audit trail that are too old go with the tenth change; what they were about stays", async () => {
      const [store] = await stores(1, { auditKeepMs: 1 });
      const save = (i: number) => store!.saveKey(key(`key_${i}`, { hash: hashOf(`${i}`) }), "key.create", ACTOR);
      const trail = () => store!.readAudit(WS, { limit: 100 });
      for (let i = 1; i <= 9; i++) await save(i);
      const before = await trail();
      expect(before).toHaveLength(9);
      while (SYSTEM.clock.wallMs() <= before[0]!.atMs + 1) await store!.changesSince(0);
      await save(10);
      expect((await trail()).map(({ subject }) => subject)).toEqual(["key_10"]);
      await save(11);
      expect(await trail()).toHaveLength(2);
      expect((await store!.changesSince(0))!.keys).toHaveLength(11);
    });

    test("a key is replaced by another in one step, at once or later", async () => {
      const [store] = await stores(1);
      await store!.saveKey(key("key_1"), "key.create", ACTOR);
      const heir = (id: string) => key(id, { hash: hashOf(id) });
      expect(await store!.replaceKey("key_1", heir("key_2"), 5_000, ACTOR)).toBe(true);
      const after = (await store!.changesSince(0))!.keys;
      expect(after.map(({ id, expiresAtMs }) => [id, expiresAtMs])).toEqual([
        ["key_2", null],
        ["key_1", 5_000],
      ]);
      expect(await store!.replaceKey("key_2", heir("key_3"), null, ACTOR)).toBe(true);
      expect((await store!.changesSince(0))!.keys.map(({ id }) => id)).toEqual(["key_1", "key_3"]);
      expect(await store!.replaceKey("key_2", heir("key_4"), null, ACTOR)).toBe(false);
      expect((await store!.changesSince(0))!.keys).toHaveLength(2);
    });
  });
}

function key(id: string, more: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id,
    workspaceId: WS,
    name: "",
    hash: hashOf("a token"),
    start: "a",
    permissions: ["*"],
    isDisabled: false,
    createdAtMs: 1_000,
    expiresAtMs: null,
    ...more,
  };
}

function override(identifier: string, limit = 5): Omit<OverrideRecord, "id" | "updatedAtMs"> {
  return { workspaceId: WS, namespaceId: "rlns_1", identifier, limit, durationMs: 60_000, isShadow: false };
}
