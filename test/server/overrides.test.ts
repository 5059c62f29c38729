/** How many overrides there may be, and what a server that has many answers. */
import { afterEach, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

const HOUR_MS = 3_600_000;
let server: ApiServer;

afterEach(() => server.close());

async function startWithCaps(
  namespace: { readonly overrides: number; readonly stars: number },
  workspace = { overrides: 1_000, stars: 1_000 },
): Promise<void> {
  server = await startApi({ overrideCaps: { namespace, workspace } });
  for (const name of ["one", "two"]) await server.post("createNamespace", { name });
}

async function set(namespace: string, identifier: string, limit = 5) {
  return server.post("setOverride", { namespace, identifier, limit, duration: HOUR_MS });
}

describe("the number of overrides", () => {
  test("of a namespace has a limit: one more is refused with a reason, a change of an existing one is not", async () => {
    await startWithCaps({ overrides: 2, stars: 100 });
    for (const identifier of ["a", "b*"]) expect((await set("one", identifier)).status).toBe(200);
    const { status, body } = await set("one", "c");
    expect(status).toBe(403);
    expect(body.error.type).toBe("/errors/limits/override_limit_reached");
    expect(body.error.detail).toContain("The namespace has 2 overrides, and may have 2");
    expect(body.error.detail).toContain("overrides.max");
    expect((await set("one", "a", 7)).status).toBe(200);
    expect((await set("two", "c")).status).toBe(200);
    await server.post("deleteOverride", { namespace: "one", identifier: "a" });
    expect((await set("one", "c")).status).toBe(200);
  });

  test("is limited in stars, too: a pattern counts as many as it has, and an identifier none", async () => {
    await startWithCaps({ overrides: 100, stars: 5 });
    for (const identifier of ["*mid*", "a*b*c"]) expect((await set("one", identifier)).status).toBe(200);
    const { status, body } = await set("one", "*x*");
    expect(status).toBe(403);
    expect(body.error.detail).toContain("4 stars in its patterns, and may have 5");
    expect(body.error.detail).toContain("overrides.starsMax");
    expect((await set("one", "x*")).status).toBe(200);
    expect((await set("one", "x")).status).toBe(200);
  });

  test("of a workspace has a limit over all its namespaces", async () => {
    await startWithCaps({ overrides: 10, stars: 10 }, { overrides: 2, stars: 10 });
    await set("one", "a");
    await set("two", "a");
    const { status, body } = await set("two", "b");
    expect(status).toBe(403);
    expect(body.error.detail).toContain("The workspace has 2 overrides, and may have 2");
    expect(body.error.detail).toContain("overrides.workspaceMax");
    await server.post("deleteOverride", { namespace: "one", identifier: "a" });
    expect((await set("two", "b")).status).toBe(200);
  });
});
