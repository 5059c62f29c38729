/** Revocation: what a key can still do while and after it is revoked, however many changes it has queued. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../packages/server/src/admin/admin-id.ts";
import { openAdminLink, openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import { hashOf, newToken, startOf } from "../../packages/server/src/admin/token.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { type ApiServer, startApi } from "../rig/api-server.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";
import { SluiceServer, sluice } from "../rig/sluice-server.ts";
import { starvedMs } from "../rig/starvation.ts";

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => removeFolder(folder));

describe("a key that floods the server with changes", () => {
  test("is refused within a second of its revocation, and none of its waiting changes is made", async () => {
    const server = await SluiceServer.start(folder);
    const store = await openAdminStore({ sqlUrl: null, dataDir: join(folder, "data") }, SYSTEM);
    const { namespaceId } = (await server.post("createNamespace", { name: "victim" })).body.data;
    const token = newToken(SYSTEM.random);
    const id = newId("key", SYSTEM.random);
    const permissions = [`ratelimit.${namespaceId}.set_override`];
    const life = { isDisabled: false, createdAtMs: Date.now(), expiresAtMs: null };
    const [hash, start] = [hashOf(token), startOf(token)];
    await store.saveKey(
      { id, workspaceId: "default", name: "", hash, start, permissions, ...life },
      "key.create",
      "test",
    );
    let limits = 0;
    const setOverride = () => {
      const body = { namespace: namespaceId, identifier: "x", limit: limits++, duration: 60_000 };
      return server.post("setOverride", body, token);
    };
    await poll("the key is known", async () => (await setOverride()).status === 200);
    const statuses = new Set<number>();
    const floods = Array.from({ length: 150 }, async () => {
      for (let status = 0; status !== 401; ) {
        status = (await setOverride()).status;
        statuses.add(status);
      }
    });
    await poll("the flood is under way", () => statuses.has(503) && statuses.has(200));
    await store.deleteKey(id, "test");
    const waited = () => starvedMs(server.child.pid!) + starvedMs("thread-self");
    const [revokedMs, starvedBeforeMs] = [performance.now(), waited()];
    await poll("the key is refused", async () => (await setOverride()).status === 401);
    expect(performance.now() - revokedMs - (waited() - starvedBeforeMs)).toBeLessThan(1_000);
    await Promise.all(floods);
    const [last] = await store.readAudit("default", { limit: 1 });
    expect(last).toMatchObject({ action: "key.revoke", subject: id });
    await store.close();
    await server.stop();
  });
});

describe("a key that a command revokes while a server uses the same file", () => {
  test("is refused, after changes by the server and other commands", async () => {
    // A server with two connections to the file once lost its locks when it opened the second: the next command took the file for unused and
    // deleted the log that the server went on writing to. Neither saw the other's changes from then on.
    const data = join(folder, "shared");
    const server = await SluiceServer.start(data);
    const command = async (...args: string[]) => {
      const { code, out } = await sluice(["keys", ...args, "--data", join(data, "data")]);
      expect(code).toBe(0);
      return out;
    };
    const { namespaceId } = (await server.post("createNamespace", { name: "there" })).body.data;
    const { id, key } = JSON.parse(await command("create", "--json", "--permissions", "*")) as Record<string, string>;
    const change = async (limit: number) => {
      const body = { namespace: namespaceId, identifier: "x", limit, duration: 60_000 };
      return (await server.post("setOverride", body, key)).status;
    };
    await poll("the key is known", async () => (await change(1)) === 200);
    await command("revoke", id!);
    await poll("the key is refused", async () => (await change(2)) === 401);
    await server.stop();
  });
});

describe("a key that is checked again inside the transaction of its change", () => {
  let api: ApiServer;
  afterEach(() => api.close());

  // The records are changed behind the directory's back, as by a revocation that this server has not read yet.
  test.each([
    ["revoked", { sql: "is_deleted = 1", kind: "key" }, 401],
    ["disabled", { replace: ['"isDisabled":false', '"isDisabled":true'], kind: "key" }, 403],
    ["expired", { replace: ['"expiresAtMs":null', '"expiresAtMs":1'], kind: "key" }, 401],
    ["less permitted", { replace: ['["*"]', '["ratelimit.*.limit"]'], kind: "key" }, 403],
    ["of a disabled workspace", { replace: ['"isDisabled":false', '"isDisabled":true'], kind: "workspace" }, 403],
  ] as const)("is refused if it is %s by then, and nothing is changed", async (_, change, status) => {
    api = await startApi();
    const { namespaceId } = (await api.post("createNamespace", { name: "there" })).body.data;
    await api.post("setOverride", { namespace: namespaceId, identifier: "old", limit: 1, duration: 60_000 });
    const token = await api.createKey(["*"]);
    const link = await openAdminLink({ sqlUrl: null, dataDir: api.dataDir }, SYSTEM);
    await link.transaction(async (run) => {
      if ("sql" in change) await run(`UPDATE sluice_admin_records SET ${change.sql} WHERE kind = ?`, change.kind);
      else {
        const [from, to] = change.replace;
        const text = "UPDATE sluice_admin_records SET record = REPLACE(record, ?, ?) WHERE kind = ?";
        await run(text, from, to, change.kind);
      }
    });
    const before = await api.store.readAudit("default", { limit: 100 });
    const limit = { identifier: "new", limit: 1, duration: 60_000 };
    const asked: [string, unknown][] = [
      ["setOverride", { namespace: namespaceId, ...limit }],
      ["deleteOverride", { namespace: namespaceId, identifier: "old" }],
      ["createNamespace", { name: "new" }],
      ["updateNamespace", { namespace: namespaceId, shadow: true }],
      ["deleteNamespace", { namespace: namespaceId }],
      ["limit", { namespace: "by traffic", ...limit }],
      ["multiLimit", [{ namespace: "by a batch", ...limit }]],
    ];
    for (const [operation, body] of asked) {
      expect([operation, (await api.post(operation, body, token)).status]).toEqual([operation, status]);
    }
    expect(await api.store.readAudit("default", { limit: 100 })).toEqual(before);
    await link.close();
  });
});

describe("requests that wait for a new namespace", () => {
  test("share one change, however many there are", async () => {
    const api = await startApi();
    const body = { namespace: "new", identifier: "x", limit: 1_000, duration: 60_000 };
    const answers = await Promise.all(Array.from({ length: 300 }, () => api.post("limit", body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await api.close();
  });
});
