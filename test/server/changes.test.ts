/** `listChanges`: the audit trail by the API. Who may read it is in matrix.test.ts, with all routes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

const DURATION = 60_000;

let server: ApiServer;
beforeAll(async () => {
  server = await startApi();
});
afterAll(() => server.close());

interface Change {
  readonly revision: number;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

async function list(body: object, token?: string): Promise<{ data: Change[]; cursor?: string }> {
  const answer = await server.post("listChanges", body, token);
  expect(answer.status).toBe(200);
  const { data, pagination } = answer.body as { data: Change[]; pagination: { hasMore: boolean; cursor?: string } };
  expect(pagination.hasMore).toBe(pagination.cursor !== undefined);
  return { data, ...(pagination.cursor === undefined ? {} : { cursor: pagination.cursor }) };
}

/** All of it, page by page. */
async function listAll(body: object): Promise<Change[]> {
  const all: Change[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ ...body, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...page.data);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return all;
}

describe("listChanges", () => {
  test("says who, what, before and after, the newest first, without hashes and without other workspaces", async () => {
    const namespace = await server.store.createNamespace("default", "told", "cli:somebody");
    const foreign = await server.store.createNamespace("ws_other", "foreign", "cli:somebody");
    await server.directory.refresh();
    const override = { namespace: "told", identifier: "vip_*", duration: DURATION };
    const { body } = await server.post("setOverride", { ...override, limit: 5 });
    await server.post("setOverride", { ...override, limit: 7 });
    await server.post("deleteOverride", { namespace: "told", identifier: "vip_*" });
    const { data } = await list({ limit: 100 });
    const root = expect.stringMatching(/^key:key_preset_/);
    const { overrideId } = body.data as { overrideId: string };
    expect(data.slice(0, 4)).toMatchObject([
      { actor: root, action: "override.delete", subject: overrideId, before: { limit: 7 }, after: null },
      { actor: root, action: "override.set", subject: overrideId, before: { limit: 5 }, after: { limit: 7 } },
      { actor: root, action: "override.set", subject: overrideId, before: null, after: { identifier: "vip_*" } },
      { actor: "cli:somebody", action: "namespace.create", subject: namespace.id, before: null },
    ]);
    expect(data.map(({ revision }) => revision)).toEqual(data.map(({ revision }) => revision).sort((a, b) => b - a));
    expect(JSON.stringify(data)).not.toContain(foreign.id);
    expect(JSON.stringify(data)).not.toContain('"hash"');
    expect(data.map(({ action }) => action)).toContain("key.preset");
  });

  test("comes in pages that neither repeat nor leave out", async () => {
    const whole = (await list({ limit: 100 })).data;
    expect(whole.length).toBeGreaterThan(4);
    expect(await listAll({ limit: 1 })).toEqual(whole);
    expect(await listAll({ limit: 2 })).toEqual(whole);
    expect(await listAll({ limit: whole.length })).toEqual(whole);
  });

  test("tells of one namespace and its overrides alone, also by a key that may read of no other, and after its end", async () => {
    const one = await server.store.createNamespace("default", "one", "test");
    await server.store.createNamespace("default", "another", "test");
    await server.directory.refresh();
    for (const namespace of ["one", "another"]) {
      await server.post("setOverride", { namespace, identifier: "x", limit: 5, duration: DURATION });
    }
    await server.post("deleteNamespace", { namespace: "one" });
    const token = await server.createKey([`ratelimit.${one.id}.read_audit`]);
    const { data } = await list({ namespace: one.id, limit: 100 }, token);
    expect(data.map(({ action }) => action)).toEqual(["namespace.delete", "override.set", "namespace.create"]);
    expect((await server.post("listChanges", {}, token)).status).toBe(403);
    expect(await listAll({ namespace: "one", limit: 1 })).toEqual(data);
  });

  test("tells what one actor did, or what was done in a time", async () => {
    const whole = await listAll({ limit: 100 });
    const byCommand = await listAll({ actor: "cli:somebody", limit: 1 });
    expect(byCommand).toEqual(whole.filter(({ actor }) => actor === "cli:somebody"));
    expect(byCommand).toHaveLength(1);
    const { at } = byCommand[0]!;
    expect(await listAll({ since: at, until: at + 1 })).toEqual(whole.filter((change) => change.at === at));
    expect(await listAll({ until: at })).toEqual(whole.filter((change) => change.at < at));
  });

  test("a search that finds little looks through a bounded part of the trail at a time, and ends", async () => {
    for (let i = 0; i < 520; i++) await server.store.createNamespace("default", `many ${i}`, "test");
    const whole = await listAll({ limit: 100 });
    expect(await listAll({ actor: "cli:somebody", limit: 1 })).toEqual(
      whole.filter(({ actor }) => actor === "cli:somebody"),
    );
  });

  test.each([
    [{ cursor: "not one" }, "body.cursor must be the cursor of an earlier answer"],
    [{ since: -1 }, "body.since must be an integer from 0 to"],
    [{ limit: 101 }, "body.limit must be an integer from 1 to 100"],
    [{ who: "me" }, "body.who is not a field of this request"],
  ])("%o is refused", async (body, detail) => {
    const answer = await server.post("listChanges", body);
    expect([answer.status, answer.body.error.detail]).toEqual([400, expect.stringContaining(detail)]);
  });
});
