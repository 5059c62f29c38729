/** The commands that work on the admin store itself: keys, workspaces, the audit trail, migrations. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MemoryDirectory } from "../../packages/server/src/admin/memory-directory.ts";
import { openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";

const DAY_MS = 86_400_000;
const TOKEN = /^sluice_[0-9A-Za-z]{38}$/;

let folder: string;
let runs = 0;
let environment: Record<string, string>;

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => removeFolder(folder));
beforeEach(() => {
  environment = { SLUICE_DATA: join(folder, `data-${runs++}`) };
});

const sluice = (...args: string[]) => runSluice(args, environment);

/** What a command that must work prints as JSON. */
async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, out, errors } = await sluice(...args, "--json");
  expect([code, errors]).toEqual([0, ""]);
  return JSON.parse(out) as T;
}

interface KeyData {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly workspace: string;
  readonly permissions: string[];
  readonly createdAt: number;
  readonly expiresAt?: number;
}

/** What a server would make of a token now. */
async function keyOf(token: string): Promise<{ readonly id: string; readonly isDisabled: boolean } | undefined> {
  const store = await openAdminStore({ sqlUrl: null, dataDir: environment["SLUICE_DATA"]! }, SYSTEM);
  const directory = new MemoryDirectory(store, SYSTEM);
  await directory.refresh();
  const key = directory.keyOf(token);
  await directory.close();
  await store.close();
  return key;
}

describe("sluice keys", () => {
  beforeEach(async () => {
    expect((await sluice("migrate")).code).toBe(0);
  });

  test("a key is printed once, alone on standard output, and is found nowhere afterwards", async () => {
    const { code, out, errors } = await sluice("keys", "create", "--name", "web");
    expect(code).toBe(0);
    expect(out).toMatch(TOKEN);
    expect(errors).toContain("shown only once");
    expect(errors).not.toContain(out);
    expect((await keyOf(out))?.isDisabled).toBe(false);
    for (const command of [["keys", "list"], ["keys", "list", "--json"], ["audit"], ["audit", "--json"]]) {
      expect((await sluice(...command)).out).not.toContain(out.slice(12));
    }
    const file = join(environment["SLUICE_DATA"]!, "sluice.db");
    expect(readFileSync(file, "latin1")).not.toContain(out.slice(12));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("it may do what a service needs unless told otherwise, and ends when told", async () => {
    const plain = await json<KeyData>("keys", "create");
    expect(plain).toMatchObject({
      workspace: "default",
      permissions: ["ratelimit.*.limit", "ratelimit.*.create_namespace"],
      state: "active",
    });
    const ending = await json<KeyData>("keys", "create", "--permissions", "*", "--expires", "90d");
    expect(ending.permissions).toEqual(["*"]);
    expect(Math.abs(ending.expiresAt! - ending.createdAt - 90 * DAY_MS)).toBeLessThan(60_000);
    const dated = await json<KeyData>("keys", "create", "--expires", "2999-01-31");
    expect(dated.expiresAt).toBe(Date.UTC(2999, 0, 31));
  });

  test("rotation gives a successor that may do the same; the old key ends with it, or after the grace", async () => {
    const old = await json<KeyData>("keys", "create", "--permissions", "ratelimit.*.limit");
    const heir = await json<KeyData>("keys", "rotate", old.id);
    expect(heir.permissions).toEqual(old.permissions);
    expect(await keyOf(old.key)).toBeUndefined();
    expect((await keyOf(heir.key))?.id).toBe(heir.id);
    const second = await json<KeyData>("keys", "rotate", heir.id, "--grace", "1h");
    expect((await keyOf(heir.key))?.id).toBe(heir.id);
    expect((await keyOf(second.key))?.id).toBe(second.id);
    const listed = await json<KeyData[]>("keys", "list");
    const until = listed.find(({ id }) => id === heir.id)?.expiresAt ?? 0;
    expect(Math.abs(until - second.createdAt - 3_600_000)).toBeLessThan(60_000);
  });

  test("a key that is out of use has no successor", async () => {
    const one = await json<KeyData>("keys", "create");
    await json("keys", "disable", one.id);
    const disabled = await sluice("keys", "rotate", one.id);
    expect(disabled).toMatchObject({ code: 1, out: "" });
    expect(disabled.errors).toMatch(new RegExp(`^error: ${one.id} is disabled\nhint: .*keys enable`));
    const store = await openAdminStore({ sqlUrl: null, dataDir: environment["SLUICE_DATA"]! }, SYSTEM);
    const { isDeleted: _, ...record } = (await store.changesSince(0))!.keys[0]!;
    await store.saveKey({ ...record, isDisabled: false, expiresAtMs: Date.now() - 1 }, "key.expire", "test");
    await store.close();
    const expired = await sluice("keys", "rotate", one.id, "--grace", "1h");
    expect(expired).toMatchObject({ code: 1, out: "" });
    expect(expired.errors).toMatch(new RegExp(`^error: ${one.id} is expired\nhint: .*keys create`));
    expect(await json("keys", "list")).toHaveLength(1);
  });

  test("a key is revoked for ever, or disabled and enabled", async () => {
    const one = await json<KeyData>("keys", "create");
    expect((await json<KeyData>("keys", "disable", one.id)).state).toBe("disabled");
    expect((await keyOf(one.key))?.isDisabled).toBe(true);
    expect((await json<KeyData>("keys", "enable", one.id)).state).toBe("active");
    expect(await json("keys", "revoke", one.id)).toEqual({ id: one.id, revoked: true });
    expect(await keyOf(one.key)).toBeUndefined();
    expect((await sluice("keys", "revoke", one.id)).code).toBe(1);
    expect((await sluice("keys", "enable", one.id)).code).toBe(1);
    expect(await json("keys", "list")).toEqual([]);
  });

  test("a workspace has keys of its own, can be disabled, and have a quota", async () => {
    const { id } = await json<{ id: string }>("workspaces", "create", "acme");
    expect(id).toMatch(/^ws_/);
    expect((await sluice("workspaces", "create", "acme")).code).toBe(1);
    const key = await json<KeyData>("keys", "create", "--workspace", "acme");
    expect(key.workspace).toBe(id);
    await json("keys", "create");
    expect((await json<KeyData[]>("keys", "list", "--workspace", id)).map((one) => one.id)).toEqual([key.id]);
    await json("workspaces", "quota", "acme", "--limit", "100", "--duration", "10s");
    await json("workspaces", "disable", "acme");
    const list = await json<object[]>("workspaces", "list");
    expect(list).toContainEqual({ id, name: "acme", disabled: true, quota: { limit: 100, duration: 10_000 } });
    await json("workspaces", "enable", "acme");
    expect(await json("workspaces", "quota", "acme", "--none")).toMatchObject({ disabled: false, quota: null });
    const trail = await json<{ action: string; actor: string; cursor: string }[]>("audit", "--workspace", "acme");
    expect(trail.map(({ action }) => action)).toEqual([
      "workspace.change",
      "workspace.change",
      "workspace.change",
      "workspace.change",
      "key.create",
      "workspace.create",
    ]);
    expect(trail[0]!.actor).toMatch(/^cli:.+/);
    const older = await json<{ cursor: string }[]>(
      ...["audit", "--workspace", "acme", "--limit", "1", "--before", trail[3]!.cursor],
    );
    expect(older).toEqual([trail[4]]);
  });

  test("the audit trail tells of one namespace, one actor or one time alone, and calls a namespace by its name", async () => {
    await json("keys", "create");
    const store = await openAdminStore({ sqlUrl: null, dataDir: environment["SLUICE_DATA"]!, tls: null }, SYSTEM);
    const made = await store.createNamespace("default", "api", "key:key_1", { isShadow: false });
    const rule = { limit: 5, durationMs: 60_000, isShadow: false };
    await store.setOverride({ workspaceId: "default", namespaceId: made.id, identifier: "vip", ...rule }, "key:key_2");
    await store.createNamespace("default", "mail", "key:key_2", { isShadow: false });
    await store.close();
    const actions = async (...args: string[]) =>
      (await json<{ action: string }[]>("audit", ...args)).map(({ action }) => action);
    expect(await actions("--namespace", "api")).toEqual(["override.set", "namespace.create"]);
    expect(await actions("--namespace", made.id, "--actor", "key:key_2")).toEqual(["override.set"]);
    expect(await actions("--actor", "key:key_2", "--limit", "1")).toEqual(["namespace.create"]);
    expect(await actions("--until", "2020-01-01")).toEqual([]);
    expect(await actions("--since", "2020-01-01", "--namespace", "mail")).toEqual(["namespace.create"]);
    expect(await sluice("audit", "--namespace", "nobody")).toMatchObject({
      code: 1,
      out: "",
      errors: expect.stringContaining('there is no namespace "nobody"'),
    });
    const { out } = await sluice("audit", "--namespace", "api");
    expect(out).toMatch(/ override\.set +rlor_\w+ +api +identifier "vip", limit 5, /);
    expect(out).toMatch(/ namespace\.create +rlns_\w+ +api +name "api"/);
  });

  test.each([
    [["keys", "create", "--permissions", "ratelimit.*.fly"], '"ratelimit.*.fly" is not a permission'],
    [["keys", "create", "--permissions", "ratelimit.rlns_1.create_namespace"], "is not a permission"],
    [["keys", "create", "--permissions", ""], "1 to 100 permissions"],
    [["keys", "create", "--expires", "yesterday"], "--expires must be from 1s to 3650d"],
    [["keys", "create", "--expires", "60"], "--expires must be"],
    [["keys", "create", "--expires", "2020-01-01"], "a time in the future; got 2020-01-01T00:00:00.000Z"],
    [["keys", "create", "--expires", "2027-02-31T00:00:00Z"], "--expires must be"],
    [["keys", "create", "--name", "a\u0007b"], "--name must be"],
    [["keys", "rotate", "key_1", "--grace", "31d"], "--grace must be from 1s to 30d"],
    [["keys", "create", "--workspce", "x"], "Did you mean --workspace?"],
    [["keys"], "commands are create, list, rotate, revoke, disable, enable"],
    [["workspaces", "quota", "default", "--limit", "5"], "--limit and --duration, or --none"],
    [["workspaces", "create", ""], "the name must be 1 to 128 characters"],
    [["audit", "--limit", "0"], "--limit must be an integer from 1 to 10000"],
    [["audit", "--before", "x"], "--before must be"],
    [["audit", "--since", "2027-02-31"], "--since must be a time such as 2027-01-31"],
    [["audit", "--until", "tomorrow"], "--until must be a time"],
    [["audit", "--actor", ""], "--actor must be 1 to 512 characters"],
    [["keys", "list", "--sql-url", "foo://bar"], "hint: such as mysql://db.internal/sluice or sqlite:"],
  ])("%j is bad input: code 2, and it says what is", async (args, says) => {
    const { code, out, errors } = await sluice(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(errors).toContain(says);
  });

  test.each([
    [["keys", "create", "--workspace", "nobody"], 'there is no workspace "nobody"'],
    [["keys", "revoke", "key_none"], "there is no key key_none"],
    [["keys", "list", "--sql-url", "mysql://user@127.0.0.1:1/x"], "ECONNREFUSED"],
  ])("%j cannot be done: code 1, and it says why", async (args, says) => {
    const { code, out, errors } = await sluice(...args);
    expect([code, out]).toEqual([1, ""]);
    expect(errors).toContain(says);
  });

  test("a key that was typed in place of its id is not repeated", async () => {
    const { key } = await json<KeyData>("keys", "create");
    const { code, errors } = await sluice("keys", "revoke", key);
    expect(code).toBe(1);
    expect(errors).not.toContain(key);
  });
});

describe("sluice migrate", () => {
  test("a folder without a store is refused by every other command, and made into one by this", async () => {
    const { code, errors } = await sluice("keys", "create");
    expect(code).toBe(1);
    expect(errors).toContain("there is no store yet");
    expect(await json("migrate")).toEqual({ admin: { from: 0, to: 3 }, counters: null });
    expect(await json("migrate")).toEqual({ admin: { from: 3, to: 3 }, counters: null });
  });

  test("with a database that servers share it makes the tables of the counters, too", async () => {
    environment["SLUICE_SQL_URL"] = `sqlite:${join(folder, `shared-${runs}.db`)}`;
    expect(await json("migrate")).toEqual({ admin: { from: 0, to: 3 }, counters: { from: 0, to: expect.any(Number) } });
  });
});
