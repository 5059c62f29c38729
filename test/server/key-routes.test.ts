/** `admin.*` over HTTP: what a key may do with the keys of its workspace, and what it can never get that way. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACTIONS, ADMIN_ACTIONS } from "../../packages/server/src/access/permission.ts";
import { type ApiAnswer, type ApiServer, ROOT, startApi } from "../rig/api-server.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await startApi();
  await server.store.saveWorkspace({ id: "ws_other", name: "other", isDisabled: false, quota: null }, "test");
});
afterAll(() => server.close());

const LIMIT = { namespace: "mail", identifier: "user_1", limit: 10, duration: 60_000 };
const ALL = ADMIN_ACTIONS.map((action) => `admin.*.${action}`);

const idOf = (answer: ApiAnswer) => answer.body.data.keyId as string;

describe("admin.createKey", () => {
  test("answers a key that works at once, has what it was given, and is stored without its token", async () => {
    const permissions = ["ratelimit.*.limit", "ratelimit.*.create_namespace"];
    const { status, body } = await server.post("admin.createKey", { name: "mailer", permissions });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ name: "mailer", permissions, state: "active", preset: false });
    expect((await server.post("limit", LIMIT, body.data.key)).body.data.success).toBe(true);
    expect((await server.post("admin.listKeys", {}, body.data.key)).status).toBe(403);
    const listed = await server.post("admin.listKeys", { limit: 100 });
    expect(listed.body.data.map(({ keyId }: { keyId: string }) => keyId)).toContain(body.data.keyId);
    expect(JSON.stringify(listed.body)).not.toContain(body.data.key);
    const changes = (await server.post("listChanges", { limit: 10 })).body.data;
    const change = changes.find(({ subject }: { subject: string }) => subject === body.data.keyId);
    expect(change).toMatchObject({ action: "key.create", actor: expect.stringMatching(/^key:key_preset_/) });
    expect(JSON.stringify(change)).not.toMatch(/hash/);
  });

  test("gives no permission that the calling key does not have itself", async () => {
    const own = await server.createKey(["admin.*.create_key", "ratelimit.*.limit"]);
    const ask = (permissions: string[]) => server.post("admin.createKey", { permissions }, own);
    for (const wanted of [
      "*",
      "ratelimit.*.set_override",
      "admin.*.revoke_key",
      `ratelimit.rlns_${"a".repeat(20)}.read_namespace`,
    ]) {
      const answer = await ask(["ratelimit.*.limit", wanted]);
      expect([wanted, answer.status]).toEqual([wanted, 403]);
      expect(answer.body.error.detail).toContain(`'${wanted}'`);
    }
    // What is for all namespaces is for each of them.
    expect((await ask(["ratelimit.*.limit", `ratelimit.rlns_${"a".repeat(20)}.limit`])).status).toBe(200);
  });

  test("is of the calling key's workspace", async () => {
    const theirs = await server.createKey(["*"], { workspaceId: "ws_other" });
    const made = await server.post("admin.createKey", { permissions: ["*"] }, theirs);
    const listed = await server.post("admin.listKeys", { limit: 100 }, made.body.data.key);
    expect(listed.body.data).toHaveLength(2);
    expect((await server.post("admin.revokeKey", { keyId: idOf(made) })).status).toBe(404);
    expect((await server.post("admin.rotateKey", { keyId: idOf(made) })).status).toBe(404);
  });

  test("never outlives the calling key", async () => {
    const endMs = Date.now() + 600_000;
    const own = await server.createKey(["*"], { expiresAtMs: endMs });
    const ask = (more: object) => server.post("admin.createKey", { permissions: ["*"], ...more }, own);
    expect((await ask({})).body.data.expiresAt).toBe(endMs);
    expect((await ask({ expiresAt: endMs - 1 })).body.data.expiresAt).toBe(endMs - 1);
    const later = await ask({ expiresAt: endMs + 1 });
    expect([later.status, later.body.error.errors[0].location]).toEqual([400, "body.expiresAt"]);
    const forever = await server.post("admin.createKey", { permissions: ["ratelimit.*.limit"] });
    expect((await server.post("admin.rotateKey", { keyId: idOf(forever) }, own)).status).toBe(409);
  });

  test("refuses what is not a permission, a name or a time, and creates nothing", async () => {
    const before = server.directory.keysOf("default").length;
    for (const wrong of [
      { permissions: [] },
      { permissions: ["ratelimit.*.fly"] },
      { permissions: ["ratelimit.mail.limit"] },
      { permissions: ["admin.rlns_1.read_key"] },
      { permissions: ["*"], name: "" },
      { permissions: ["*"], name: "two\nlines" },
      { permissions: ["*"], name: "\ud800" },
      { permissions: ["*"], expiresAt: 1 },
      { permissions: ["*"], workspace: "ws_other" },
      { permissions: Array.from({ length: 101 }, () => "*") },
    ]) {
      expect([wrong, (await server.post("admin.createKey", wrong)).status]).toEqual([wrong, 400]);
    }
    expect(server.directory.keysOf("default")).toHaveLength(before);
  });
});

describe("admin.rotateKey and admin.revokeKey", () => {
  test("a rotated key ends at once, or after its grace, and the new one does the same", async () => {
    const made = await server.post("admin.createKey", {
      permissions: ["ratelimit.*.limit", "ratelimit.*.create_namespace"],
    });
    const later = await server.post("admin.rotateKey", { keyId: idOf(made), grace: 60_000 });
    expect((await server.post("limit", LIMIT, made.body.data.key)).status).toBe(200);
    expect((await server.post("limit", LIMIT, later.body.data.key)).status).toBe(200);
    const atOnce = await server.post("admin.rotateKey", { keyId: idOf(later) });
    expect((await server.post("limit", LIMIT, later.body.data.key)).status).toBe(401);
    expect((await server.post("limit", LIMIT, atOnce.body.data.key)).status).toBe(200);
  });

  test("a revoked key is refused at once", async () => {
    const made = await server.post("admin.createKey", { permissions: ["ratelimit.*.limit"] });
    expect((await server.post("admin.revokeKey", { keyId: idOf(made) })).body.data.revoked).toBe(true);
    expect((await server.post("limit", LIMIT, made.body.data.key)).status).toBe(401);
    expect((await server.post("admin.revokeKey", { keyId: idOf(made) })).status).toBe(404);
  });

  test("a key that has less can neither take over nor remove a key that has more", async () => {
    const weak = await server.createKey(ALL);
    const root = await server.post("admin.createKey", { permissions: ["*"] });
    for (const operation of ["admin.rotateKey", "admin.revokeKey"]) {
      const answer = await server.post(operation, { keyId: idOf(root) }, weak);
      expect([operation, answer.status]).toEqual([operation, 403]);
    }
    expect((await server.post("admin.listKeys", {}, root.body.data.key)).status).toBe(200);
  });

  test("the preset key and one that is out of use are not rotated", async () => {
    const preset = server.directory.keysOf("default").find(({ id }) => id.startsWith("key_preset_"))!;
    expect((await server.post("admin.rotateKey", { keyId: preset.id })).status).toBe(409);
    await server.createKey(["ratelimit.*.limit"], { isDisabled: true });
    const disabled = server.directory.keysOf("default").find(({ isDisabled }) => isDisabled)!;
    expect((await server.post("admin.rotateKey", { keyId: disabled.id })).status).toBe(409);
  });

  test("a key that was revoked while its change waited creates nothing", async () => {
    const own = await server.post("admin.createKey", { permissions: ["*"] });
    // The directory of this server still has it: the store has not.
    await server.store.deleteKey(idOf(own), "test");
    const before = (await server.store.changesSince(0))!.keys.length;
    const answer = await server.post("admin.createKey", { permissions: ["*"] }, own.body.data.key);
    expect(answer.status).toBe(401);
    expect((await server.store.changesSince(0))!.keys).toHaveLength(before);
  });
});

describe("whatever permissions a key has", () => {
  const permission = fc.oneof(
    fc.constant("*"),
    fc.constantFrom(...ACTIONS).map((action) => `ratelimit.*.${action}`),
    fc.constantFrom(...ADMIN_ACTIONS).map((action) => `admin.*.${action}`),
    fc.constantFrom("limit", "read_namespace").map((action) => `ratelimit.rlns_${"b".repeat(20)}.${action}`),
  );

  test("the keys that it can create allow nothing that it is not allowed itself", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(permission, { maxLength: 4 }),
        fc.array(permission, { minLength: 1, maxLength: 3 }),
        async (own, wanted) => {
          const token = await server.createKey(own);
          const answer = await server.post("admin.createKey", { permissions: wanted }, token);
          const has = (one: string) =>
            own.includes("*") || own.includes(one) || own.includes(one.replace(/rlns_b+/, "*"));
          expect(answer.status).toBe(has("admin.*.create_key") && wanted.every(has) ? 200 : 403);
        },
      ),
      { numRuns: 60, seed: 21 },
    );
  });
});

test("a workspace has at most 1,000 keys", async () => {
  const own = await startApi({}, {}, {});
  try {
    for (let i = own.directory.keysOf("default").length; i < 1_000; i++) {
      const id = `key_${String(i).padStart(20, "0")}`;
      const key = {
        id,
        workspaceId: "default",
        name: "",
        hash: id,
        start: "",
        permissions: [],
        isDisabled: false,
        createdAtMs: 0,
        expiresAtMs: null,
      };
      await own.store.saveKey(key, "key.create", "test");
    }
    await own.directory.refresh();
    const answer = await own.post("admin.createKey", { permissions: ["*"] }, ROOT);
    expect([answer.status, answer.body.error.type]).toEqual([403, "/errors/limits/key_limit_reached"]);
  } finally {
    await own.close();
  }
});
