/**
 * Every route × every kind of key × every kind of thing: who may not know of a thing gets the same answer whether it is there or not.
 *
 * The table of routes makes the cases, so a new route is in it by itself.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isAdminAction, permissionOf } from "../../packages/server/src/access/permission.ts";
import type { Route } from "../../packages/server/src/http/routes/route.ts";
import { ROUTES } from "../../packages/server/src/http/routes/routes.ts";
import { type ApiAnswer, type ApiServer, ROOT, startApi } from "../rig/api-server.ts";

/** What a body names: a namespace of the caller's, a deleted one, one of another workspace, or none at all. */
const TARGETS = ["own", "ownById", "deleted", "foreignById", "missing", "missingId"] as const;
type Target = (typeof TARGETS)[number];

const KEYS = ["root", "rightAction", "thisNamespace", "otherNamespace", "wrongAction", "nothing"] as const;
type KeyKind = (typeof KEYS)[number];

let server: ApiServer;
const namespaces: Partial<Record<Target, string>> = {};
let otherOwnId = "";
const tokens = new Map<string, string>();

beforeAll(async () => {
  server = await startApi();
  await server.store.saveWorkspace({ id: "ws_other", name: "other", isDisabled: false, quota: null }, "test");
  await server.store.saveWorkspace({ id: "ws_off", name: "off", isDisabled: true, quota: null }, "test");
  const own = await server.store.createNamespace("default", "own", "test");
  const other = await server.store.createNamespace("default", "other own", "test");
  const deleted = await server.store.createNamespace("default", "deleted", "test");
  await server.store.saveNamespace({ ...deleted, deletedAtMs: Date.now() }, "namespace.delete", "test");
  const foreign = await server.store.createNamespace("ws_other", "foreign", "test");
  otherOwnId = other.id;
  Object.assign(namespaces, {
    own: own.name,
    ownById: own.id,
    deleted: deleted.name,
    foreignById: foreign.id,
    missing: "missing",
    missingId: `rlns_${"0".repeat(20)}`,
  });
  for (const { action } of ROUTES) {
    const wrong = action === "limit" ? "set_override" : "limit";
    const permissions: Record<KeyKind, string[]> = {
      root: ["*"],
      rightAction: [permissionOf(action)],
      thisNamespace: [`ratelimit.${own.id}.${action}`],
      otherNamespace: [`ratelimit.${other.id}.${action}`],
      wrongAction: [`ratelimit.*.${wrong}`, `ratelimit.${own.id}.${wrong}`],
      nothing: [],
    };
    for (const kind of KEYS) {
      const name = `${action} ${kind}`;
      if (!tokens.has(name)) tokens.set(name, await server.createKey(permissions[kind]));
    }
  }
});
afterAll(() => server.close());

function bodyOf({ operation }: Route, target: Target): unknown {
  const namespace = namespaces[target]!;
  const limit = { namespace, identifier: "user_1", limit: 1000, duration: 60_000 };
  switch (operation) {
    case "ratelimit.limit":
    case "ratelimit.charge":
    case "ratelimit.inspect":
    case "ratelimit.setOverride":
      return limit;
    case "ratelimit.multiLimit":
      return [limit];
    case "ratelimit.listNamespaces":
      return {};
    case "ratelimit.createNamespace":
      return { name: "own" };
    case "admin.listKeys":
    case "admin.getKey":
    case "ratelimit.live":
    case "server.status":
    case "server.settings":
      return {};
    case "admin.createKey":
      return { permissions: ["ratelimit.*.limit"] };
    case "admin.rotateKey":
    case "admin.revokeKey":
      return { keyId: "key_missing" };
    case "ratelimit.updateNamespace":
      return { namespace, shadow: false };
    case "ratelimit.getOverride":
    case "ratelimit.deleteOverride":
      return { namespace, identifier: "nobody" };
    default:
      return { namespace };
  }
}

const call = (route: Route, target: Target, token: string) =>
  server.post(route.operation, bodyOf(route, target), token);

/** What an answer tells, without what differs from call to call. */
function told({ status, body }: ApiAnswer): object {
  return status === 200 ? { status } : { status, error: body.error };
}

/** Routes that name no namespace, and the one that changes what the others look at. */
const isAboutOne = ({ operation, action }: Route) =>
  !isForAll(action) && !/listNamespaces|createNamespace|restoreNamespace|deleteNamespace|live$/.test(operation);

/** Whether no permission for one namespace allows it. */
const isForAll = (action: Route["action"]) => action === "*" || action === "any" || isAdminAction(action);

const OPTIONAL_BODY = /listNamespaces|listChanges|listKeys|getKey|usage|live|^server/;

describe.each(ROUTES.map((route) => [route.operation, route] as const))("%s", (_operation, route) => {
  test.each([
    ["no key", undefined, 400, "authentication/malformed"],
    ["another scheme", "Basic abc", 400, "authentication/malformed"],
    ["an empty key", "Bearer ", 400, "authentication/malformed"],
    ["an unknown key", "Bearer nobody", 401, "authentication/key_not_found"],
    ["a key that looks right", `Bearer sluice_${"a".repeat(36)}`, 401, "authentication/key_not_found"],
  ])("%s is refused before the body is looked at", async (_name, authorization, status, type) => {
    const headers = { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) };
    const answer = await fetch(`${server.url}/v2/${route.operation}`, { method: "POST", headers, body: "{" });
    const { error } = (await answer.json()) as { error: { type: string } };
    expect([answer.status, error.type]).toEqual([status, `/errors/${type}`]);
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  test("a disabled or expired key, or workspace, is refused as what it is", async () => {
    const disabled = await server.createKey(["*"], { isDisabled: true });
    const expired = await server.createKey(["*"], { expiresAtMs: Date.now() - 1 });
    const off = await server.createKey(["*"], { workspaceId: "ws_off" });
    const types: string[] = [];
    for (const token of [disabled, expired, off]) types.push((await call(route, "own", token)).body.error.type);
    expect(types).toEqual([
      "/errors/authorization/key_disabled",
      "/errors/authentication/key_not_found",
      "/errors/authorization/workspace_disabled",
    ]);
  });

  test("a body that is none is refused with 400, and names the place", async () => {
    for (const body of ["", "null", "7", '"x"', "[]", "{}", '{"namespace":7}', '[{"identifier":null}]', '{"x":1}']) {
      if (OPTIONAL_BODY.test(route.operation) && body === "{}") continue;
      const answer = await server.post(route.operation, body);
      expect([body, answer.status, answer.body.error.type]).toEqual([body, 400, "/errors/application/invalid_input"]);
      for (const { location } of answer.body.error.errors) expect(location).toMatch(/^body/);
    }
  });

  test("another method is refused", async () => {
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const answer = await fetch(`${server.url}/v2/${route.operation}`, { method });
      expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
  });

  test("root may, and nothing in an answer is of another workspace", async () => {
    for (const target of ["own", "ownById"] as const) {
      const { status, body } = await call(route, target, ROOT);
      const isTaken = /createNamespace/.test(route.operation);
      const isMissing = /getOverride|deleteOverride|rotateKey|revokeKey/.test(route.operation);
      expect(status).toBe(isTaken ? 409 : isMissing ? 404 : 200);
      expect(JSON.stringify(body)).not.toContain(namespaces.foreignById);
      if (/deleteNamespace/.test(route.operation)) await server.post("restoreNamespace", { namespace: "own" });
    }
  });
});

describe.each(ROUTES.filter(isAboutOne).map((route) => [route.operation, route] as const))(
  "%s, about one namespace",
  (_operation, route) => {
    test("a key without the permission learns nothing of what exists", async () => {
      for (const kind of ["nothing", "wrongAction", "otherNamespace"] as const) {
        const token = tokens.get(`${route.action} ${kind}`)!;
        const answers: object[] = [];
        for (const target of TARGETS) answers.push(told(await call(route, target, token)));
        expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
        expect(answers[0]).toMatchObject({ status: 403 });
      }
    });

    test("a key for one namespace gets that one, and learns nothing of the others", async () => {
      const token = tokens.get(`${route.action} thisNamespace`)!;
      const status = async (target: Target) => (await call(route, target, token)).status;
      const expected = /getOverride|deleteOverride/.test(route.operation) ? 404 : 200;
      expect([await status("own"), await status("ownById")]).toEqual([expected, expected]);
      const others: number[] = [];
      for (const target of ["deleted", "foreignById", "missing", "missingId"] as const)
        others.push(await status(target));
      expect(new Set(others)).toEqual(new Set([403]));
    });

    test("a foreign thing looks like one that is missing", async () => {
      const token = tokens.get(`${route.action} rightAction`)!;
      const foreign = told(await call(route, "foreignById", token));
      expect(foreign).toEqual(told(await call(route, "missingId", token)));
      // To limit or charge in a missing namespace is to make it, which is another permission.
      expect(foreign).toMatchObject({ status: counts(route) ? 403 : 404 });
    });

    test("a deleted namespace is gone for limits, not found for the rest, and has a history", async () => {
      const answer = await call(route, "deleted", ROOT);
      expect(answer.status).toBe(counts(route) ? 410 : route.action === "read_audit" ? 200 : 404);
    });
  },
);

/** Whether a route counts in a namespace, and makes it if it is missing. */
function counts({ action }: { readonly action: string }): boolean {
  return action === "limit" || action === "charge";
}

describe.each(
  ROUTES.filter(({ action }) => isForAll(action) && action !== "any").map((route) => [route.operation, route] as const),
)("%s, about keys or the server", (_operation, route) => {
  test("needs its own permission, and none for a namespace is enough", async () => {
    for (const kind of ["nothing", "wrongAction", "otherNamespace", "thisNamespace"] as const) {
      const answer = await call(route, "own", tokens.get(`${route.action} ${kind}`)!);
      expect([kind, answer.status, answer.body.error.type]).toEqual([
        kind,
        403,
        "/errors/authorization/insufficient_permissions",
      ]);
    }
  });
});

describe("the namespaces of other workspaces", () => {
  test("the same name is another namespace, with counts and overrides of its own", async () => {
    const theirs = await server.createKey(["*"], { workspaceId: "ws_other" });
    const limit = { namespace: "shared name", identifier: "user_1", limit: 2, duration: 3_600_000 };
    await server.post("limit", { ...limit, cost: 2 });
    await server.post("setOverride", { namespace: "shared name", identifier: "user_1", limit: 0, duration: 1000 });
    const answer = await server.post("limit", limit, theirs);
    expect(answer.body.data).toMatchObject({ success: true, remaining: 1 });
    expect(answer.body.data.overrideId).toBeUndefined();
  });

  test("a key that may create and not limit creates nothing", async () => {
    const token = await server.createKey(["ratelimit.*.create_namespace"]);
    const body = { namespace: "must not be", identifier: "x", limit: 1, duration: 1000 };
    expect((await server.post("limit", body, token)).status).toBe(403);
    expect((await server.post("multiLimit", [body], token)).status).toBe(403);
    expect(server.directory.namespaceOf("default", "must not be")).toBeUndefined();
  });

  test("a batch that names something forbidden counts and creates nothing", async () => {
    const token = await server.createKey([`ratelimit.${otherOwnId}.limit`, "ratelimit.*.create_namespace"]);
    const item = { identifier: "batch", limit: 5, duration: 3_600_000 };
    const batch = [
      { ...item, namespace: otherOwnId },
      { ...item, namespace: "own" },
      { ...item, namespace: "new one" },
    ];
    expect((await server.post("multiLimit", batch, token)).status).toBe(403);
    expect(server.directory.namespaceOf("default", "new one")).toBeUndefined();
    const after = await server.post("limit", { ...item, namespace: otherOwnId });
    expect(after.body.data.remaining).toBe(4);
  });
});
