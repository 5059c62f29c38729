/** New namespaces: what one tenant may make, and what the others notice of it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TooManyChanges } from "../../packages/server/src/admin/admin-store.ts";
import { ChangeBrake } from "../../packages/server/src/admin/change-brake.ts";
import { startApi } from "../rig/api-server.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { SluiceServer } from "../rig/sluice-server.ts";
import { ManualTime } from "../support/manual-time.ts";

const rule = { identifier: "x", limit: 10, duration: 60_000 };

async function namespacesOf(server: SluiceServer): Promise<number> {
  let count = 0;
  for (let cursor: string | undefined; ; ) {
    const { body } = await server.post("listNamespaces", cursor === undefined ? {} : { cursor });
    const page = body as unknown as { readonly data: readonly unknown[]; readonly pagination?: { cursor?: string } };
    count += page.data.length;
    cursor = page.pagination?.cursor;
    if (cursor === undefined) return count;
  }
}

describe("a tenant that makes namespaces as fast as it can", () => {
  let folder: string;
  beforeAll(() => {
    folder = temporaryFolder();
  });
  afterAll(() => removeFolder(folder));

  /**
   * A change on the embedded store stops the process for some milliseconds, so what others wait is the number of changes. The time itself
   * is judged by the mixed attack of the lab: here a busy disk or processor would turn it red.
   */
  test("makes no more of them than the burst of 100, whatever it asks for at once, and others are answered in between", async () => {
    // The burst takes less than 1,000 s, even on a starved machine, and in that time not one more is earned.
    const api = await startApi({}, {}, { namespacesPerSecond: 0.001 });
    await api.post("createNamespace", { name: "honest" });
    let isOver = false;
    let answered = 0;
    const honest = (async () => {
      while (!isOver) {
        const { status } = await api.post("limit", { namespace: "honest", ...rule, limit: 1e9 });
        if (status === 200 && !isOver) answered++;
      }
    })();
    const batch = (at: number) => Array.from({ length: 100 }, (_, i) => ({ namespace: `n${at}_${i}`, ...rule }));
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => api.post("multiLimit", batch(at))));
    isOver = true;
    await honest;
    const { namespaces } = (await api.store.changesSince(0))!;
    // The honest one is among them.
    expect(namespaces).toHaveLength(100);
    expect(answered).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThanOrEqual(9);
    await api.close();
  });

  /** On a machine that makes fewer than 50 per second none is refused, and the bound holds anyway. */
  test("makes no more of them on a server than a burst of 100 and 50 per second", async () => {
    const server = await SluiceServer.start(folder);
    const beganMs = performance.now();
    let asked = 0;
    const client = async () => {
      for (let status = 200; status === 200 && asked < 400; ) {
        ({ status } = await server.post("limit", { namespace: `n${asked++}`, ...rule }));
        expect([200, 503]).toContain(status);
      }
    };
    await Promise.all(Array.from({ length: 10 }, client));
    const tookS = (performance.now() - beganMs) / 1_000;
    const made = await namespacesOf(server);
    expect(made).toBeGreaterThanOrEqual(100);
    expect(made).toBeLessThanOrEqual(100 + 50 * tookS + 1);
    await server.stop();
  }, 300_000);
});

describe("the brake on new namespaces", () => {
  test("allows a burst of 100, then 50 per second, to each workspace", async () => {
    const time = new ManualTime();
    const brake = new ChangeBrake({ perSecond: 50, burst: 100, what: "new namespaces" }, time.clock);
    const taken = (workspaceId: string) => {
      for (let count = 0; ; count++) {
        try {
          brake.take(workspaceId);
        } catch (error) {
          expect(error).toBeInstanceOf(TooManyChanges);
          return count;
        }
      }
    };
    expect([taken("a"), taken("a"), taken("b")]).toEqual([100, 0, 100]);
    await time.advance(1_000);
    expect([taken("a"), taken("b")]).toEqual([50, 50]);
    await time.advance(60_000);
    expect(taken("a")).toBe(100);
  });
});

describe("changes of a workspace", () => {
  test("are refused with 503 and Retry-After beyond a burst of 1,000 and the rate per second; the operator's are not", async () => {
    // The burst takes less than 1,000 s, even on a starved machine, and in that time not one more is earned.
    const api = await startApi({}, {}, { changesPerSecond: 0.001 });
    await api.post("createNamespace", { name: "api" });
    const set = (limit: number) =>
      api.post("setOverride", { namespace: "api", identifier: "u", limit, duration: 60_000 });
    const refused: number[] = [];
    for (let i = 1; i <= 1_001; i++) {
      const answer = await set(i);
      if (answer.status !== 200) refused.push(i);
    }
    // The namespace was the first change.
    expect(refused).toEqual([1_000, 1_001]);
    const { status, headers, body } = await set(5);
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect(body.error.detail).toContain("more than 0.001 changes per second");
    await api.createKey(["*"]);
    await api.close();
  });
});

describe("the quota", () => {
  test("pays 10 units for a new namespace, and one for a request in it", async () => {
    const api = await startApi({ quota: { limit: 25, durationMs: 3_600_000 } });
    const limit = async (namespace: string) => (await api.post("limit", { namespace, ...rule })).status;
    expect([await limit("a"), await limit("b"), await limit("c"), await limit("a")]).toEqual([200, 200, 429, 200]);
    await api.close();
  });

  test("that is smaller than that does not prevent a namespace", async () => {
    const api = await startApi({ quota: { limit: 3, durationMs: 3_600_000 } });
    const answer = await api.post("limit", { namespace: "a", ...rule });
    expect(answer.status).toBe(200);
    await api.close();
  });
});
