/** What every admin store does, whatever database it is on. */
import { afterEach, describe, expect, test } from "vitest";
import { type Environment, SYSTEM } from "../system/system.ts";
import { type AdminStore, type AuditQuestion, type KeyActor, KeyNotRoot, NameTaken } from "./admin-store.ts";
import { asciiJson } from "./ascii-json.ts";
import { bootstrap, DEFAULT_WORKSPACE } from "./bootstrap.ts";
import type { KeyRecord, OverrideRecord } from "./records.ts";
import type { SqlAdminOptions } from "./sql-admin-store.ts";
import { hashOf } from "./token.ts";
import type { UsageSpan } from "./usage-row.ts";

type StoreOptions = Omit<SqlAdminOptions, "tablePrefix">;

export interface StoreSetUp {
  /** A store on tables that nobody else uses; called again with the same name, another connection to the same ones. */
  open(name: string, options: StoreOptions, environment: Environment): Promise<AdminStore>;
  /** Identifiers that a database could take for one another. */
  readonly oddIdentifiers: readonly string[];
}

const ACTOR = "cli:tester";
const WS = DEFAULT_WORKSPACE.id;
const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
/** What a row of the audit trail counts beside its text. */
const ROW_BYTES = 256;

/** A wall clock that a test sets. */
class SetClock {
  nowMs = 100 * DAY_MS;
  readonly environment: Environment = { ...SYSTEM, clock: { ...SYSTEM.clock, wallMs: () => this.nowMs } };
}

export function adminStoreConformance(database: string, { open, oddIdentifiers }: StoreSetUp): void {
  describe(`admin store on ${database}`, () => {
    let names = 0;
    const opened: AdminStore[] = [];

    /** Several stores on the same tables. */
    async function stores(
      count: number,
      options: StoreOptions = {},
      environment: Environment = SYSTEM,
    ): Promise<AdminStore[]> {
      const name = `t${process.pid}_${names++}`;
      const made: AdminStore[] = [];
      for (let i = 0; i < count; i++) made.push(await open(name, options, environment));
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
      expect(changes?.namespaces).toEqual([{ ...made[0], isDeleted: false }]);
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
      const second = await there!.createNamespace(WS, "b", ACTOR);
      await here!.createNamespace(WS, "c", ACTOR);
      await expect(there!.createNamespace(WS, "d", ACTOR)).rejects.toMatchObject(full);
      await expect(here!.createNamespace(WS, "d", ACTOR)).rejects.toMatchObject(full);
      await there!.saveNamespace({ id: first.id, deletedAtMs: 1_000 }, "namespace.delete", ACTOR);
      expect((await here!.createNamespace(WS, "d", ACTOR)).name).toBe("d");
      const restore = () => there!.saveNamespace({ id: first.id, deletedAtMs: null }, "namespace.restore", ACTOR);
      await expect(restore()).rejects.toMatchObject(full);
      await here!.saveNamespace({ id: second.id, deletedAtMs: 2_000 }, "namespace.delete", ACTOR);
      expect(await restore()).toMatchObject({ id: first.id, deletedAtMs: null });
      await expect(here!.createNamespace(WS, "e", ACTOR)).rejects.toMatchObject(full);
    });

    test("a deleted namespace is purged with its overrides when it can no longer be restored, and its name is new again", async () => {
      const clock = new SetClock();
      const [store, other] = await stores(2, { namespacesKeepMs: 90 * DAY_MS }, clock.environment);
      const made = async (name: string) => (await store!.createNamespace(WS, name, ACTOR)).id;
      const [gone, kept] = [await made("gone"), await made("kept")];
      for (const namespaceId of [gone, kept])
        for (let i = 0; i < 30; i++) await store!.setOverride({ ...override(`user_${i}`), namespaceId }, ACTOR);
      await store!.saveNamespace({ id: gone, deletedAtMs: clock.nowMs }, "namespace.delete", ACTOR);
      const { revision } = (await store!.changesSince(0))!;
      /** Changes are what purges: each of these is one. */
      let changes = 0;
      const change = () => other!.setOverride({ ...override("busy", ++changes), namespaceId: kept }, ACTOR);
      const restored = () => store!.saveNamespace({ id: gone, isShadow: true }, "namespace.update", ACTOR);
      clock.nowMs += 90 * DAY_MS;
      for (let i = 0; i < 12; i++) await change();
      expect(await restored()).toMatchObject({ id: gone });
      clock.nowMs += 1;
      for (let i = 0; i < 40; i++) await change();
      expect(await restored()).toBeNull();
      const all = (await store!.changesSince(0))!;
      expect(all.namespaces.map(({ id }) => id)).toEqual([kept]);
      expect(new Set(all.overrides.map(({ namespaceId }) => namespaceId))).toEqual(new Set([kept]));
      expect(all.overrides).toHaveLength(31);
      // A server that knew them learns that they are gone.
      const since = (await store!.changesSince(revision))!;
      expect(since.namespaces).toMatchObject([{ id: gone, isDeleted: true }]);
      expect(since.overrides.filter(({ isDeleted }) => isDeleted)).toHaveLength(30);
      const trail = await store!.readAudit(WS, { limit: 1_000 });
      const purges = trail.filter(({ action }) => action === "namespace.purge");
      expect(purges).toMatchObject([{ actor: "server", subject: gone, before: { name: "gone" }, after: null }]);
      expect(trail.filter(({ action }) => action === "override.delete")).toEqual([]);
      const anew = await store!.createNamespace(WS, "gone", ACTOR, "traffic");
      expect([anew.deletedAtMs, anew.id === gone]).toEqual([null, false]);
    });

    test("a workspace has at most as many deleted namespaces as living ones: the first that was deleted is purged", async () => {
      const clock = new SetClock();
      const [store] = await stores(1, { namespacesMax: 3, namespacesKeepMs: 90 * DAY_MS }, clock.environment);
      const other = await store!.createNamespace("ws_other", "n", ACTOR);
      await store!.saveNamespace({ id: other.id, deletedAtMs: clock.nowMs }, "namespace.delete", ACTOR);
      const ids: string[] = [];
      for (let i = 0; i < 8; i++) {
        clock.nowMs++;
        ids.push((await store!.createNamespace(WS, `n${i}`, ACTOR)).id);
        await store!.saveNamespace({ id: ids[i]!, deletedAtMs: clock.nowMs }, "namespace.delete", ACTOR);
      }
      const { namespaces } = (await store!.changesSince(0))!;
      expect(namespaces.map(({ id }) => id)).toEqual([other.id, ...ids.slice(5)]);
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

    test("a part of the trail by time is in the order of time, whatever order the changes were made in, page by page", async () => {
      const clock = new SetClock();
      const [store] = await stores(1, {}, clock.environment);
      const begin = clock.nowMs;
      // The clocks of two servers differ.
      for (const [i, ms] of [1, 5, 2, 4, 4, 3, 9].entries()) {
        clock.nowMs = begin + ms;
        await store!.saveKey(key(`key_${ms}${i}`, { hash: hashOf(`${i}`) }), "key.create", ACTOR);
        await store!.saveKey(key(`key_x${i}`, { workspaceId: "ws_b", hash: hashOf(`x${i}`) }), "key.create", ACTOR);
      }
      const pages = async (question: Omit<AuditQuestion, "limit">) => {
        const found: string[] = [];
        for (let before: string | undefined; ; ) {
          const [one] = await store!.readAudit(WS, {
            ...question,
            limit: 1,
            ...(before === undefined ? {} : { before }),
          });
          if (one === undefined) return found.join(" ");
          found.push(one.subject);
          before = one.cursor;
        }
      };
      expect(await pages({ sinceMs: begin + 2, untilMs: begin + 6 })).toBe("key_51 key_44 key_43 key_35 key_22");
      expect(await pages({ sinceMs: begin + 4 })).toBe("key_96 key_51 key_44 key_43");
      expect(await pages({ untilMs: begin + 3 })).toBe("key_22 key_10");
      // The cursor of a change that is not there, or of another workspace: the one before it is next.
      const all = await store!.readAudit(WS, { limit: 100 });
      const between = String(Number(all.find(({ subject }) => subject === "key_44")!.cursor) + 1);
      const after = await store!.readAudit(WS, { limit: 2, sinceMs: begin, before: between });
      expect(after.map(({ subject }) => subject)).toEqual(["key_44", "key_43"]);
      expect(await store!.readAudit(WS, { limit: 2, sinceMs: begin, before: "0" })).toEqual([]);
    });

    test("the audit trail of a workspace stays within its bytes: the oldest entries go, and are reported if they were young", async () => {
      const clock = new SetClock();
      const dropped: [string, number][] = [];
      const onAuditDrop = (workspaceId: string, entries: number) => dropped.push([workspaceId, entries]);
      const options = { auditBytesMax: MIB, auditKeepMs: 10 * DAY_MS, onAuditDrop };
      const [store] = await stores(1, options, clock.environment);
      await store!.saveKey(key("key_b", { workspaceId: "ws_b" }), "key.create", ACTOR);
      const long = "🙂".repeat(512);
      const bytesOf = async () => {
        const trail = await store!.readAudit(WS, { limit: 1_000 });
        const sizes = trail.map(({ cursor: _, ...entry }) => asciiJson(entry).length + ROW_BYTES);
        return { count: trail.length, newest: trail[0]!, bytes: sizes.reduce((sum, size) => sum + size, 0) };
      };
      const WRITTEN = 120;
      let largest = 0;
      for (let i = 1; i <= WRITTEN; i++) {
        await store!.setOverride(override(long, i), ACTOR);
        if (i >= 70) largest = Math.max(largest, (await bytesOf()).bytes);
      }
      const { count, newest, bytes } = await bytesOf();
      expect(newest).toMatchObject({ after: { limit: WRITTEN } });
      expect(largest).toBeLessThanOrEqual(MIB);
      // A deletion leaves a step of 64 KiB and an entry of 64 KiB free, and part of another entry, of less than 14 KB.
      expect(bytes).toBeGreaterThan(MIB - 128 * 1024 - 14_000 - ROW_BYTES);
      expect(dropped.every(([workspaceId]) => workspaceId === WS)).toBe(true);
      expect(dropped.reduce((sum, [, entries]) => sum + entries, 0)).toBe(WRITTEN - count);
      expect(await store!.readAudit("ws_b", { limit: 10 })).toHaveLength(1);
      // Entries beyond their age are not missed.
      const reported = dropped.length;
      clock.nowMs += 20 * DAY_MS;
      for (let i = 1; i <= 12; i++) await store!.setOverride(override(long, i), ACTOR);
      expect(dropped.length).toBe(reported);
    });

    test("an entry that is too large for the audit trail says how large its records are instead", async () => {
      const [store] = await stores(1);
      const permissions = Array.from({ length: 5_000 }, (_, i) => `ratelimit.namespace_${i}.limit`);
      await store!.saveKey(key("key_1", { permissions }), "key.create", ACTOR);
      expect((await store!.changesSince(0))!.keys[0]!.permissions).toHaveLength(5_000);
      const [entry] = await store!.readAudit(WS, { limit: 1 });
      expect(entry).toMatchObject({ action: "key.create", subject: "key_1", before: null });
      expect((entry!.after as { omittedBytes: number }).omittedBytes).toBeGreaterThan(100_000);
      expect(JSON.stringify(entry).length).toBeLessThan(1_000);
    });

    test("a trial write reports that the store can be written, and leaves nothing behind", async () => {
      const reports: unknown[] = [];
      const [store] = await stores(1, { onWrite: (failure) => reports.push(failure) });
      await store!.saveKey(key("key_1"), "key.create", ACTOR);
      const before = [await store!.changesSince(0), await store!.readAudit(WS, { limit: 10 })];
      await Promise.all([store!.tryWrite(), store!.tryWrite()]);
      expect(reports).toEqual([null, null, null]);
      expect([await store!.changesSince(0), await store!.readAudit(WS, { limit: 10 })]).toEqual(before);
      expect(await store!.readAudit("", { limit: 10 })).toEqual([]);
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

    describe("the history of use", () => {
      const sums = { allowed: 3, denied: 2, shadowed: 1, degraded: 1, cost: 30 };
      const row = (subjectId: string, atMs: number, span: UsageSpan = "minute") => ({ subjectId, span, atMs, ...sums });
      const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 5_000 };

      test("servers that write at once add up, and no count is lost", async () => {
        const several = await stores(4);
        const rows = Array.from({ length: 60 }, (_, i) => row(`rlns_${String(i).padStart(2, "0")}`, 60_000));
        // Each in another order.
        await Promise.all(several.map((store, i) => store.addUsage(i % 2 === 0 ? rows : rows.toReversed())));
        const [read] = await several[0]!.readUsage(WS, { subjectId: "rlns_59", span: "minute", ...all });
        expect(read).toEqual({
          ...row("rlns_59", 60_000),
          allowed: 12,
          denied: 8,
          shadowed: 4,
          degraded: 4,
          cost: 120,
        });
      });

      test("a reading has its subject, its span and its range, the oldest first", async () => {
        const [store] = await stores(1);
        const times = [180_000, 60_000, 120_000, 240_000];
        await store!.addUsage([...times.map((atMs) => row("a", atMs)), row("b", 120_000), row("a", 0, "hour")]);
        const read = (more: object) => store!.readUsage(WS, { subjectId: "a", span: "minute", ...all, ...more });
        expect((await read({})).map(({ atMs }) => atMs)).toEqual([60_000, 120_000, 180_000, 240_000]);
        expect((await read({ fromMs: 120_000, toMs: 240_000 })).map(({ atMs }) => atMs)).toEqual([120_000, 180_000]);
        expect((await read({ limit: 1 })).map(({ atMs }) => atMs)).toEqual([60_000]);
        expect(await read({ span: "hour" })).toEqual([row("a", 0, "hour")]);
        expect(await read({ span: "day" })).toEqual([]);
      });

      test("what is too old is deleted by its span, at most 200 rows of each at a time, and nothing else", async () => {
        const [store] = await stores(1);
        const ids = Array.from({ length: 250 }, (_, i) => `n${String(i).padStart(3, "0")}`);
        for (const part of [ids.slice(0, 125), ids.slice(125)])
          await store!.addUsage(part.map((id) => row(id, 60_000)));
        await store!.addUsage([row("n000", 120_000), row("n000", 0, "hour"), row("n000", 0, "day")]);
        const keptFromMs = { minute: 120_000, hour: 0, day: 1 };
        expect(await store!.deleteUsage(keptFromMs)).toBe(201);
        expect(await store!.deleteUsage(keptFromMs)).toBe(50);
        expect(await store!.deleteUsage(keptFromMs)).toBe(0);
        for (const [span, left] of [
          ["minute", [120_000]],
          ["hour", [0]],
          ["day", []],
        ] as const) {
          const rows = await store!.readUsage(WS, { subjectId: "n000", span, ...all });
          expect([span, rows.map(({ atMs }) => atMs)]).toEqual([span, left]);
        }
      });
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
