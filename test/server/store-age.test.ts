/** A server whose admin store cannot be read any more: how long it may answer from memory. */
import { Limiter } from "sluice";
import { expect, test } from "vitest";
import type { Directory } from "../../packages/server/src/admin/directory.ts";
import { readinessOf } from "../../packages/server/src/serve/readiness.ts";
import { startApi } from "../rig/api-server.ts";
import { poll } from "../rig/poll.ts";

const rule = { namespace: "api", identifier: "u", limit: 1_000_000, duration: 60_000 };

test("beyond admin.ageMax every request is answered 503 with the reason, and before it as usual", async () => {
  // Longer than the directory's interval of 0.6 s, so that a store that can be read is never too old on a machine that is not starved.
  const server = await startApi({ adminAgeMaxMs: 5_000 });
  expect((await server.post("limit", rule)).status).toBe(200);
  await server.store.close();
  expect((await server.post("limit", rule)).status).toBe(200);
  const refused = await poll("the records are too old", async () => {
    const answer = await server.post("limit", rule);
    return answer.status === 200 ? undefined : answer;
  });
  expect(server.directory.ageMs).toBeGreaterThan(5_000);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(refused.body.error.detail).toContain("admin.ageMax");
  await server.close();
});

test.each([
  [null, 1e9, true, "degraded"],
  [60_000, 60_000, true, "degraded"],
  [60_000, 60_001, false, "away"],
])("/ready with admin.ageMax %s and records that are %s ms old", async (adminAgeMaxMs, ageMs, ready, status) => {
  const limiter = new Limiter();
  const directory = { isLoaded: true, hasKeys: true, ageMs, corrupt: [] as readonly string[] } as Directory;
  const readiness = readinessOf(limiter.stats(), directory, { isJoining: false, isStopping: false, adminAgeMaxMs });
  expect(readiness).toMatchObject({ ready, layers: { admin: { status } } });
  if (!ready) expect(readiness.layers.admin.reason).toContain("admin.ageMax");
  await limiter.close();
});
