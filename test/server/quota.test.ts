/** What requests cost of a workspace's quota: each one unit when it arrives, and more where it does more work. */
import { afterEach, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

/** No test lasts as long, so no unit comes back. */
const DAY_MS = 86_400_000;
let server: ApiServer;

afterEach(() => server.close());

async function startWithQuota(limit: number): Promise<void> {
  server = await startApi({ quota: { limit, durationMs: DAY_MS } });
  // Not by a request, which would cost something itself.
  await server.store.createNamespace("default", "api", "test");
  await server.directory.refresh();
}

/** How many units are left: as many requests as still succeed. */
async function unitsLeft(): Promise<number> {
  for (let units = 0; ; units++) {
    const { status } = await server.post("inspect", { namespace: "absent", identifier: "x", limit: 1, duration: 1000 });
    if (status === 429) return units;
  }
}

function batch(items: number): object[] {
  return Array.from({ length: items }, (_, at) => ({
    namespace: "api",
    identifier: `user_${at}`,
    limit: 10,
    duration: DAY_MS,
  }));
}

describe("expensive reads", () => {
  test("of one kind run one after the other, and a workspace can have eight of them waiting", async () => {
    server = await startApi();
    await server.post("createNamespace", { name: "api" });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => server.post("listChanges", { actor: "nobody" })),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    // How many of the 40 are there at once is the network's business; whoever was refused is told when to try again.
    for (const { status, headers } of refused) {
      expect(status).toBe(503);
      expect(headers.get("retry-after")).toBe("1");
    }
    expect((await server.post("listChanges", { actor: "nobody" })).status).toBe(200);
  });
});

describe("quota", () => {
  test("a batch costs one unit per item", async () => {
    await startWithQuota(30);
    expect((await server.post("multiLimit", batch(20))).status).toBe(200);
    expect(await unitsLeft()).toBe(30 - 20);
  });

  test("a batch that does not fit now gets 429 with Retry-After, and nothing of it is counted", async () => {
    await startWithQuota(30);
    await server.post("multiLimit", batch(20));
    const refused = await server.post("multiLimit", batch(20));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const { body } = await server.post("multiLimit", batch(1));
    expect(body.data.limits[0].remaining).toBe(8);
  });

  test.each([
    [99, 100],
    [20, 100],
    [1, 2],
  ])(
    "with a quota of %i, a batch of %i gets a 400 with the reason, not a 429 at every attempt",
    async (quota, items) => {
      await startWithQuota(quota);
      const { status, body } = await server.post("multiLimit", batch(items));
      expect(status).toBe(400);
      expect(body.error.type).toBe("/errors/limits/cost_above_quota");
      expect(body.error.detail).toContain(`costs ${items} units`);
      expect(body.error.detail).toContain(`quota is ${quota}`);
    },
  );

  test("reads cost more, the more they look through: lists, changes and rankings", async () => {
    await startWithQuota(1_000);
    const { store, directory } = server;
    const { id, workspaceId } = directory.namespaceOf("default", "api")!;
    for (let i = 0; i < 250; i++) {
      const override = {
        workspaceId,
        namespaceId: id,
        identifier: `user_${i}`,
        limit: 1,
        durationMs: 1_000,
        isShadow: false,
      };
      await store.setOverride(override, "test");
    }
    await directory.refresh();
    const costOf = async (operation: string, body: object) => {
      const before = await used();
      expect((await server.post(operation, body)).status).toBe(200);
      // Less the one that asking costs.
      return (await used()) - before - 1;
    };
    const used = async () => {
      const key = {
        workspace: "$sluice",
        namespace: "requests",
        identifier: "default",
        limit: 1_000,
        duration: DAY_MS,
      };
      return server.limiter.inspect(key).effective + 1;
    };
    expect(await costOf("getOverride", { namespace: "api", identifier: "user_1" })).toBe(0);
    expect(await costOf("listOverrides", { namespace: "api" })).toBe(2);
    expect(await costOf("listNamespaces", {})).toBe(0);
    expect(await costOf("topIdentifiers", { namespace: "api" })).toBe(19);
    expect(await costOf("listChanges", { limit: 10 })).toBe(1);
    expect(await costOf("listChanges", { limit: 100 })).toBe(10);
    // 252 changes, in three steps of 100.
    expect(await costOf("listChanges", { actor: "nobody" })).toBe(30);
  });

  test("a search that has used up the quota ends early and says where to go on", async () => {
    await startWithQuota(25);
    const { store, directory } = server;
    const { id, workspaceId } = directory.namespaceOf("default", "api")!;
    const override = { workspaceId, namespaceId: id, identifier: "user", durationMs: 1_000, isShadow: false };
    for (let limit = 0; limit < 350; limit++) await store.setOverride({ ...override, limit }, "test");
    // One for the request, 10 each for two of four steps.
    const { status, body } = await server.post("listChanges", { actor: "nobody" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ data: [], pagination: { hasMore: true } });
    expect((await server.post("listChanges", { actor: "nobody" })).status).toBe(429);
  });

  test("a quota that is smaller than the price of a read does not make it impossible", async () => {
    await startWithQuota(5);
    expect((await server.post("topIdentifiers", { namespace: "api" })).status).toBe(200);
    expect((await server.post("topIdentifiers", { namespace: "api" })).status).toBe(429);
  });

  test("a batch as large as the whole quota succeeds", async () => {
    await startWithQuota(100);
    expect((await server.post("multiLimit", batch(100))).status).toBe(200);
  });
});
