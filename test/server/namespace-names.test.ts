/** The names of namespaces and their ids: one can never be taken for the other. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

let server: ApiServer;
beforeAll(async () => {
  server = await startApi();
});
afterAll(() => server.close());

const rule = { identifier: "u", limit: 5, duration: 60_000 };

async function deletedId(name: string): Promise<string> {
  const { body } = await server.post("createNamespace", { name });
  await server.post("deleteNamespace", { namespace: body.data.namespaceId });
  return body.data.namespaceId;
}

describe("a name that has the form of an id", () => {
  const free = `rlns_${"x".repeat(20)}`;

  test.each([
    ["createNamespace", { name: free }, "body.name"],
    ["limit", { namespace: free, ...rule }, "body.namespace"],
    ["multiLimit", [{ namespace: free, ...rule }], "body[0].namespace"],
  ])("is refused by %s", async (operation, body, location) => {
    const answer = await server.post(operation, body);
    expect([answer.status, answer.body.error.errors?.[0].location]).toEqual([400, location]);
    expect(answer.body.error.detail).toContain("form of an id");
    expect(server.directory.namespaceOf("default", free)).toBeUndefined();
  });

  test("is only one with exactly as many letters and digits", async () => {
    for (const name of [`${free}x`, "rlns_short", `rlns_${"-".repeat(20)}`, `my_${free}`]) {
      const answer = await server.post("createNamespace", { name });
      expect(answer.status).toBe(200);
    }
  });

  test("that an earlier release has accepted never stands for the namespace with that id", async () => {
    const id = await deletedId("gone");
    const impostor = await server.store.createNamespace("default", id, "test");
    await server.directory.refresh();
    const limited = await server.post("limit", { namespace: id, ...rule });
    expect(limited.status).toBe(410);
    const restored = await server.post("restoreNamespace", { namespace: id });
    expect(restored.body.data).toMatchObject({ namespaceId: id, name: "gone" });
    // It keeps working by its own id.
    const byId = await server.post("limit", { namespace: impostor.id, ...rule });
    expect(byId.status).toBe(200);
  });

  test("that an earlier release has accepted keeps working if no namespace has that id", async () => {
    const name = `rlns_${"y".repeat(20)}`;
    await server.store.createNamespace("default", name, "test");
    await server.directory.refresh();
    const answer = await server.post("limit", { namespace: name, ...rule });
    expect(answer.status).toBe(200);
  });
});

test("an override in a namespace that does not exist is refused with the route that makes one", async () => {
  const { status, body } = await server.post("setOverride", { namespace: "nowhere", ...rule });
  expect([status, body.error.detail]).toEqual([404, expect.stringContaining("createNamespace")]);
});
