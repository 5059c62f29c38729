/** The published clients of the API, unmodified, against a running server: every call, and every error that they have a type for. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, ROOT, startApi } from "../../rig/api-server.ts";
import { installSuitePackages } from "../../rig/suite-packages.ts";

installSuitePackages(import.meta.dirname);
const { Unkey } = await import("@unkey/api");
const errors = await import("@unkey/api/models/errors");
const { Overrides, Ratelimit } = await import("@unkey/ratelimit");

let server: ApiServer;
const unkey = (rootKey = ROOT) =>
  new Unkey({ serverURL: server.url, rootKey, retryConfig: { strategy: "none" } }).ratelimit;

beforeAll(async () => {
  server = await startApi();
});
afterAll(() => server.close());

describe("@unkey/ratelimit", () => {
  const ratelimit = (namespace: string, more: object = {}) =>
    new Ratelimit({
      baseUrl: server.url,
      rootKey: ROOT,
      namespace,
      limit: 3,
      duration: "1h",
      disableTelemetry: true,
      timeout: false,
      onError: (error) => {
        throw error;
      },
      ...more,
    });

  test("three of three pass, the fourth does not, and a peek sees it", async () => {
    const limiter = ratelimit("unkey.calls");
    const answers: { success: boolean; remaining: number; limit: number }[] = [];
    for (let i = 0; i < 4; i++) answers.push(await limiter.limit("user_1"));
    expect(answers.map(({ success, remaining, limit }) => [success, remaining, limit])).toEqual([
      [true, 2, 3],
      [true, 1, 3],
      [true, 0, 3],
      [false, 0, 3],
    ]);
    const peek = await ratelimit("unkey.calls").limit("user_1", { cost: 0 });
    expect(peek).toMatchObject({ success: true, remaining: 0 });
  });

  test("a denial is kept until its reset, which lies where the same cost fits", async () => {
    const limiter = ratelimit("unkey.kept", { limit: 1, duration: "1s" });
    let denied = await limiter.limit("user_1");
    while (denied.success) denied = await limiter.limit("user_1");
    const before = server.limiter.stats().decisions;
    await limiter.limit("user_1");
    expect(server.limiter.stats().decisions).toEqual(before);
    await expect.poll(() => Date.now(), { timeout: 10_000 }).toBeGreaterThanOrEqual(denied.reset);
    expect((await limiter.limit("user_1")).success).toBe(true);
  });

  test("cost, and another limit for one request", async () => {
    const limiter = ratelimit("unkey.cost");
    expect(await limiter.limit("user_1", { cost: 3 })).toMatchObject({ success: true, remaining: 0 });
    const other = await limiter.limit("user_1", { cost: 2, limit: { limit: 10, duration: "1h" } });
    expect(other).toMatchObject({ success: true, limit: 10, remaining: 5 });
  });

  test("its overrides are set, read, listed, felt and deleted", async () => {
    const limiter = ratelimit("unkey.overrides");
    await limiter.limit("premium_1");
    const overrides = new Overrides({ baseUrl: server.url, rootKey: ROOT });
    const name = { namespace: "unkey.overrides", identifier: "premium_*" };
    const set = await overrides.setOverride({ ...name, limit: 50, duration: 7_200_000 });
    const got = await overrides.getOverride(name);
    expect(got.data).toMatchObject({ ...set.data, identifier: "premium_*", limit: 50, duration: 7_200_000 });
    const listed = await overrides.listOverrides({ namespace: "unkey.overrides" });
    expect(listed.data).toMatchObject([{ overrideId: set.data.overrideId, limit: 50 }]);
    expect(await limiter.limit("premium_1")).toMatchObject({
      limit: 50,
      remaining: 49,
      overrideId: set.data.overrideId,
    });
    await overrides.deleteOverride(name);
    expect(await limiter.limit("premium_1")).toMatchObject({ limit: 3, remaining: 1 });
  });
});

describe("@unkey/api", () => {
  test("multiLimit counts all or none, and tells of each", async () => {
    const item = { namespace: "unkey.multi", duration: 3_600_000 };
    const items = [
      { ...item, identifier: "a", limit: 10, cost: 4 },
      { ...item, identifier: "b", limit: 5, cost: 4 },
    ];
    const first = await unkey().multiLimit(items);
    expect(first.data).toMatchObject({
      passed: true,
      limits: [
        { namespace: "unkey.multi", identifier: "a", limit: 10, remaining: 6, passed: true },
        { namespace: "unkey.multi", identifier: "b", limit: 5, remaining: 1, passed: true },
      ],
    });
    const second = await unkey().multiLimit(items);
    expect(second.data.passed).toBe(false);
    expect(second.data.limits.map(({ passed, remaining }) => [passed, remaining])).toEqual([
      [true, 6],
      [false, 0],
    ]);
  });

  test("a list is walked page by page", async () => {
    await unkey().limit({ namespace: "unkey.list", identifier: "x", limit: 1, duration: 1000 });
    const identifiers = Array.from({ length: 23 }, (_, i) => `user_${String(i).padStart(2, "0")}`);
    for (const identifier of identifiers) {
      await unkey().setOverride({ namespace: "unkey.list", identifier, limit: 1, duration: 1000 });
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    for await (const page of await unkey().listOverrides({ namespace: "unkey.list" })) {
      sizes.push(page.result.data.length);
      seen.push(...page.result.data.map(({ identifier }) => identifier));
    }
    expect(sizes).toEqual([10, 10, 3]);
    expect(seen).toEqual(identifiers);
  });

  const body = { namespace: "unkey.errors", identifier: "user_1", limit: 1, duration: 60_000 };
  type Call = () => Promise<unknown>;
  const failing: [string, new (...args: never[]) => Error, () => Call | Promise<Call>][] = [
    ["400, the body", errors.BadRequestErrorResponse, () => () => unkey().limit({ ...body, duration: 5 })],
    ["401, an unknown key", errors.UnauthorizedErrorResponse, () => () => unkey("nobody").limit(body)],
    [
      "403, a permission that is missing",
      errors.ForbiddenErrorResponse,
      async () => {
        const key = await server.createKey(["ratelimit.*.read_override"]);
        return () => unkey(key).limit(body);
      },
    ],
    [
      "403, a disabled key",
      errors.ForbiddenErrorResponse,
      async () => {
        const key = await server.createKey(["*"], { isDisabled: true });
        return () => unkey(key).limit(body);
      },
    ],
    [
      "404, a namespace",
      errors.NotFoundErrorResponse,
      () => () => unkey().getOverride({ namespace: "unkey.nowhere", identifier: "x" }),
    ],
    [
      "404, an override",
      errors.NotFoundErrorResponse,
      async () => {
        await unkey().limit(body);
        return () => unkey().deleteOverride({ namespace: body.namespace, identifier: "nobody" });
      },
    ],
    [
      "410, a deleted namespace",
      errors.GoneErrorResponse,
      async () => {
        await unkey().limit({ ...body, namespace: "unkey.gone" });
        await server.post("deleteNamespace", { namespace: "unkey.gone" });
        return () => unkey().limit({ ...body, namespace: "unkey.gone" });
      },
    ],
  ];
  test.each(failing)("%s, comes as its type", async (_name, type, prepare) => {
    const call = await prepare();
    const error: unknown = await call().then(
      () => "no error",
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(type);
    expect((error as { meta: object }).meta).toMatchObject({ requestId: expect.stringMatching(/^req_/) });
  });

  test("429, the workspace's own quota, has no type for JSON in the client: it comes with its status, and says when to come back", async () => {
    // 10 units for the new namespace, and one for each of two requests.
    const small = await startApi({ quota: { limit: 12, durationMs: 3_600_000 } });
    const client = new Unkey({ serverURL: small.url, rootKey: ROOT, retryConfig: { strategy: "none" } }).ratelimit;
    await client.limit(body);
    await client.limit(body);
    await expect(client.limit(body)).rejects.toMatchObject({ statusCode: 429 });
    // Three charges to the quota, and one of the two requests that it let through.
    expect(small.limiter.stats().decisions.allowed).toBe(4);
    const refused = await small.post("limit", body);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await small.close();
  });

  test("503, a store that is away, comes with its status; what is known goes on", async () => {
    const away = await startApi();
    const client = new Unkey({ serverURL: away.url, rootKey: ROOT, retryConfig: { strategy: "none" } }).ratelimit;
    await client.limit(body);
    await away.store.close();
    expect((await client.limit({ ...body, identifier: "user_2" })).data.success).toBe(true);
    const call = client.limit({ ...body, namespace: "unkey.unheard-of" });
    await expect(call).rejects.toMatchObject({ statusCode: 503 });
    await away.close();
  });
});
