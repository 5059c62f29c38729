/** What the API answers beyond the clients' calls: overrides, shadows, headers, pages, and the defects that are not copied. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OpenApi } from "../../packages/server/src/http/pages/openapi.ts";
import { type ApiServer, startApi } from "../rig/api-server.ts";
import { RawConnection } from "../rig/raw-http.ts";

const HOUR_MS = 3_600_000;
let server: ApiServer;

beforeAll(async () => {
  server = await startApi();
});
afterAll(() => server.close());

async function limit(namespace: string, identifier: string, more: object = {}) {
  const { body } = await server.post("limit", { namespace, identifier, limit: 10, duration: HOUR_MS, ...more });
  return body.data;
}

async function override(namespace: string, identifier: string, more: object = {}): Promise<string> {
  const answer = await server.post("setOverride", { namespace, identifier, limit: 5, duration: HOUR_MS, ...more });
  return answer.body.data.overrideId;
}

describe("charge", () => {
  const body = { namespace: "tokens", identifier: "user", limit: 10, duration: HOUR_MS };

  test("counts beyond the limit in the key that limit asks about, says where it stands, and is ranked as use", async () => {
    expect((await server.post("charge", { ...body, cost: 4 })).body.data).toEqual({
      success: true,
      limit: 10,
      current: 4,
      remaining: 6,
      over: 0,
      reset: expect.any(Number),
      reason: "charged",
      degraded: false,
    });
    const { body: over, status, headers } = await server.post("charge", { ...body, cost: 50 });
    expect(status).toBe(200);
    expect(over.data).toMatchObject({ success: false, current: 54, remaining: 0, over: 44, reason: "charged" });
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await limit("tokens", "user")).toMatchObject({ success: false, reason: "limit" });
    expect(await limit("tokens", "user", { cost: 0 })).toMatchObject({ success: false, remaining: 0 });
    const ranked = await server.post("topIdentifiers", { namespace: "tokens" });
    expect(ranked.body.data).toMatchObject({ identifiers: [{ identifier: "user" }] });
  });

  test("resolves the override, and refuses what limit refuses", async () => {
    await override("tokens", "vip", { limit: 100 });
    expect((await server.post("charge", { ...body, identifier: "vip", cost: 60 })).body.data).toMatchObject({
      success: true,
      limit: 100,
      remaining: 40,
      overrideId: expect.any(String),
    });
    for (const bad of [{ cost: -1 }, { cost: 2 ** 40 + 1 }, { limit: 0 }, { duration: 1 }, { costs: 1 }]) {
      expect((await server.post("charge", { ...body, identifier: "bad", ...bad })).status).toBe(400);
    }
    expect(await limit("tokens", "bad", { cost: 0 })).toMatchObject({ remaining: 10 });
  });
});

describe("defects of the original", () => {
  test("1: an override with limit 0 denies", async () => {
    await limit("defect.1", "x");
    await override("defect.1", "banned", { limit: 0 });
    expect(await limit("defect.1", "banned")).toMatchObject({ success: false, limit: 0, remaining: 0 });
  });

  test("2: an override that is set again after it was deleted has effect", async () => {
    await limit("defect.2", "x");
    await override("defect.2", "user", { limit: 3 });
    await server.post("deleteOverride", { namespace: "defect.2", identifier: "user" });
    expect((await limit("defect.2", "user")).limit).toBe(10);
    const again = await override("defect.2", "user", { limit: 7 });
    expect(await limit("defect.2", "user")).toMatchObject({ limit: 7, overrideId: again });
  });

  test("3: of overlapping patterns the most specific wins, and the answer says which", async () => {
    await limit("defect.3", "x");
    const ids = {
      all: await override("defect.3", "*"),
      prefix: await override("defect.3", "user_*"),
      longer: await override("defect.3", "user_*_eu"),
      exact: await override("defect.3", "user_1_eu"),
    };
    expect((await limit("defect.3", "team")).overrideId).toBe(ids.all);
    expect((await limit("defect.3", "user_2")).overrideId).toBe(ids.prefix);
    expect((await limit("defect.3", "user_2_eu")).overrideId).toBe(ids.longer);
    expect((await limit("defect.3", "user_1_eu")).overrideId).toBe(ids.exact);
  });

  test("4: patterns are Unicode, and everything but * is literal", async () => {
    await limit("defect.4", "x");
    const id = await override("defect.4", "größe.*😀[a-z]+");
    expect((await limit("defect.4", "größe.x😀[a-z]+")).overrideId).toBe(id);
    expect((await limit("defect.4", "größexy😀abc")).overrideId).toBeUndefined();
  });

  test("6: the name of a deleted namespace can be used again, and starts from zero; both can be had", async () => {
    await limit("defect.6", "user", { cost: 10 });
    const old = await server.post("deleteNamespace", { namespace: "defect.6" });
    const gone = await server.post("limit", {
      namespace: "defect.6",
      identifier: "user",
      limit: 10,
      duration: HOUR_MS,
    });
    expect(gone.status).toBe(410);
    await server.post("createNamespace", { name: "defect.6" });
    expect(await limit("defect.6", "user")).toMatchObject({ success: true, remaining: 9 });
    const oldId = old.body.data.namespaceId;
    expect((await server.post("restoreNamespace", { namespace: oldId })).status).toBe(409);
    await server.post("deleteNamespace", { namespace: "defect.6" });
    expect((await server.post("restoreNamespace", { namespace: oldId })).status).toBe(200);
    expect(await limit("defect.6", "user")).toMatchObject({ success: false });
  });

  test("8: the reset of a denial is where the same cost fits, and not before", async () => {
    // In one window: not where one is about to end.
    await expect.poll(() => Date.now() % 2000, { interval: 20, timeout: 10_000 }).toBeLessThan(500);
    await limit("defect.8", "user", { limit: 4, duration: 2000, cost: 4 });
    const denied = await limit("defect.8", "user", { limit: 4, duration: 2000, cost: 1 });
    expect(denied.success).toBe(false);
    const inspected = await server.post("inspect", {
      namespace: "defect.8",
      identifier: "user",
      limit: 4,
      duration: 2000,
    });
    // At the window's end all four still count in full.
    expect(denied.reset).toBeGreaterThan(inspected.body.data.current.endMs);
    await expect.poll(() => Date.now(), { timeout: 10_000 }).toBeGreaterThanOrEqual(denied.reset);
    expect((await limit("defect.8", "user", { limit: 4, duration: 2000 })).success).toBe(true);
  });

  test("9: a location names the field", async () => {
    const { body } = await server.post("multiLimit", [
      { namespace: "a", identifier: "b", limit: 1, duration: 1000 },
      { namespace: "a", identifier: "", limit: 1, duration: 1000, cots: 1 },
    ]);
    expect(body.error.errors).toEqual([
      { location: "body[1].cots", message: "is not a field of this request", fix: "did you mean cost?" },
      { location: "body[1].identifier", message: 'must be a text of 1 to 512 characters; got ""' },
    ]);
  });
});

describe("an override", () => {
  test("keeps its id when it is set again; a new limit meets the same count, a new duration another", async () => {
    await limit("override", "user", { cost: 4 });
    const first = await override("override", "user", { limit: 6 });
    expect(await limit("override", "user")).toMatchObject({ limit: 6, remaining: 1 });
    expect(await override("override", "user", { limit: 6, duration: 2 * HOUR_MS })).toBe(first);
    expect(await limit("override", "user")).toMatchObject({ limit: 6, remaining: 5 });
  });

  test("one more character than identifiers have is refused; 512 emoji are not", async () => {
    await limit("override", "x");
    expect(await override("override", "😀".repeat(512))).toMatch(/^rlor_/);
    const answer = await server.post("setOverride", {
      namespace: "override",
      identifier: "😀".repeat(513),
      limit: 1,
      duration: 1000,
    });
    expect(answer.body.error.errors[0]).toEqual({
      location: "body.identifier",
      message: "must be a text of 1 to 512 characters; got a text of 513 characters",
    });
  });
});

describe("a shadow", () => {
  test("of a namespace counts and reports, and never denies", async () => {
    await server.post("createNamespace", { name: "shadow", shadow: true });
    expect(await limit("shadow", "user", { limit: 2, cost: 2 })).toEqual({
      success: true,
      limit: 2,
      remaining: 0,
      reset: expect.any(Number),
      reason: "allowed",
      degraded: false,
    });
    expect(await limit("shadow", "user", { limit: 2 })).toMatchObject({ success: true, remaining: 0, shadowed: true });
    await server.post("updateNamespace", { namespace: "shadow", shadow: false });
    expect(await limit("shadow", "user", { limit: 2 })).toMatchObject({ success: false });
  });

  test("of a charge counts and reports, and never says that it is too much", async () => {
    await server.post("createNamespace", { name: "shadow.charge", shadow: true });
    const body = { namespace: "shadow.charge", identifier: "user", limit: 2, duration: HOUR_MS, cost: 5 };
    expect((await server.post("charge", body)).body.data).toMatchObject({ success: true, over: 3, shadowed: true });
  });

  test("of an override is for its identifiers alone", async () => {
    await limit("shadow.override", "x");
    await override("shadow.override", "trial_*", { limit: 1, shadow: true });
    await limit("shadow.override", "trial_1");
    expect(await limit("shadow.override", "trial_1")).toMatchObject({ success: true, shadowed: true });
  });

  test("in a batch neither makes the others fail nor is counted if they do", async () => {
    await server.post("createNamespace", { name: "shadow.batch", shadow: true });
    const item = { identifier: "user", duration: HOUR_MS };
    const shadow = { ...item, namespace: "shadow.batch", limit: 3, cost: 2 };
    const real = { ...item, namespace: "real.batch", limit: 4, cost: 2 };
    const ask = async () => (await server.post("multiLimit", [shadow, real])).body.data;
    expect(await ask()).toMatchObject({ passed: true, limits: [{ remaining: 1 }, { remaining: 2 }] });
    expect(await ask()).toMatchObject({ passed: true, limits: [{ passed: true, shadowed: true }, { remaining: 0 }] });
    // The real one is full: the shadow has 1 left, as before, and would have denied a cost of 2.
    expect(await ask()).toMatchObject({
      passed: false,
      limits: [{ passed: true, remaining: 1, shadowed: true }, { passed: false }],
    });
  });
});

describe("the standard headers", () => {
  test("name the limit, what is left and when; a denial says when to come back", async () => {
    const ask = () =>
      server.post("limit", { namespace: "headers", identifier: "u", limit: 2, duration: 60_000, cost: 2 });
    const allowed = await ask();
    const id = server.directory.namespaceOf("default", "headers")!.id;
    expect(allowed.headers.get("ratelimit-policy")).toBe(`"${id}";q=2;w=60`);
    expect(allowed.headers.get("ratelimit")).toMatch(new RegExp(`^"${id}";r=0;t=\\d+$`));
    expect(allowed.headers.get("retry-after")).toBeNull();
    const denied = await ask();
    const waitS = Number(denied.headers.get("retry-after"));
    // Rounded up to whole seconds, and asked a moment ago.
    expect(Date.now() + waitS * 1000).toBeGreaterThanOrEqual(denied.body.data.reset - 1000);
    expect(waitS).toBeLessThanOrEqual(120);
  });
});

describe("inspect", () => {
  test("explains by the very counts, and counts nothing", async () => {
    await limit("inspect", "user", { cost: 7 });
    const ask = () =>
      server.post("inspect", { namespace: "inspect", identifier: "user", limit: 10, duration: HOUR_MS, cost: 4 });
    const { body } = await ask();
    expect(body.data).toMatchObject({
      rule: { limit: 10, duration: HOUR_MS, source: "request", shadow: false },
      override: null,
      decision: { success: false, remaining: 0 },
      current: { own: 7, others: 0, foreign: 0, view: 7, freshForMs: 0 },
      previous: { view: 0 },
      effective: 7,
      isKnown: true,
    });
    expect(body.data.decision.explanation).toBe(
      "7 in this window + 0 from the previous one + cost 4 = 11, which is above the limit of 10",
    );
    expect((await ask()).body.data.effective).toBe(7);
  });

  test("names the override that applies, and needs no limit then", async () => {
    await limit("inspect", "x");
    const overrideId = await override("inspect", "vip_*", { limit: 77 });
    const { body } = await server.post("inspect", { namespace: "inspect", identifier: "vip_1" });
    expect(body.data).toMatchObject({
      rule: { limit: 77, source: "override" },
      override: { overrideId, identifier: "vip_*" },
    });
    const without = await server.post("inspect", { namespace: "inspect", identifier: "nobody" });
    expect(without.body.error.detail).toBe("body.limit is required: no override applies to the identifier");
  });
});

describe("namespaces", () => {
  test("are listed by name, page by page, deleted ones on request", async () => {
    const own = await startApi();
    for (const name of ["b", "a", "ü", "c"]) await own.post("createNamespace", { name });
    await own.post("deleteNamespace", { namespace: "c" });
    const first = await own.post("listNamespaces", { limit: 2 });
    expect(first.body.data.map(({ name }: { name: string }) => name)).toEqual(["a", "b"]);
    const second = await own.post("listNamespaces", { limit: 2, cursor: first.body.pagination.cursor });
    expect(second.body).toMatchObject({ data: [{ name: "ü" }], pagination: { hasMore: false } });
    const all = await own.post("listNamespaces", { deleted: true });
    expect(all.body.data).toHaveLength(4);
    await own.close();
  });

  test("of one name are all listed, once each, whatever order they were made in", async () => {
    const own = await startApi();
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) {
      const { body } = await own.post("createNamespace", { name: "again" });
      ids.push(body.data.namespaceId);
      await own.post("deleteNamespace", { namespace: "again" });
    }
    const listed: string[] = [];
    for (let cursor: string | undefined, hasMore = true; hasMore; ) {
      const { body } = await own.post("listNamespaces", { deleted: true, limit: 1, ...(cursor ? { cursor } : {}) });
      listed.push(...body.data.map(({ namespaceId }: { namespaceId: string }) => namespaceId));
      ({ cursor, hasMore } = body.pagination);
    }
    expect(listed).toEqual(ids.toSorted());
    await own.close();
  });

  test("one that another server has just made is taken, and stays what it is", async () => {
    const own = await startApi();
    await own.store.createNamespace("default", "other's", "key:key_elsewhere");
    const { status, body } = await own.post("createNamespace", { name: "other's", shadow: true });
    expect([status, body.error.type]).toEqual([409, "/errors/data/ratelimit_namespace_name_taken"]);
    const { namespaces } = (await own.store.changesSince(0))!;
    expect(namespaces).toMatchObject([{ isShadow: false }]);
    await own.close();
  });

  test("a committed change is told as one, also if it cannot be read again at once", async () => {
    const own = await startApi();
    await own.directory.close();
    const made = await own.post("createNamespace", { name: "made", shadow: true });
    expect(made).toMatchObject({ status: 200, body: { data: { name: "made", shadow: true } } });
    await own.close();
  });

  test("are as many as a workspace may have; whose are there go on", async () => {
    const own = await startApi({}, {}, { namespacesMax: 2 });
    const ask = (namespace: string) => own.post("limit", { namespace, identifier: "u", limit: 9, duration: 60_000 });
    for (const name of ["a", "b"]) expect((await ask(name)).status).toBe(200);
    for (const name of ["c", "d"]) {
      const { status, body } = await ask(name);
      expect([status, body.error.type]).toEqual([403, "/errors/limits/namespace_limit_reached"]);
      expect(body.error.detail).toContain("2 namespaces");
      expect(body.error.detail).toContain("namespacesMax");
    }
    expect((await ask("a")).body.data.remaining).toBe(7);
    expect((await own.post("createNamespace", { name: "c" })).status).toBe(403);
    await own.post("deleteNamespace", { namespace: "b" });
    expect((await own.post("createNamespace", { name: "c" })).status).toBe(200);
    await own.close();
  });

  test("one that two requests make at once is one", async () => {
    const asked = Array.from({ length: 20 }, () => limit("at once", "user"));
    const left = (await Promise.all(asked)).map(({ remaining }) => remaining).sort((a, b) => b - a);
    expect(left).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });
});

describe("the doors", () => {
  test("health says alive and no more; the document and the page need no key and nothing from elsewhere", async () => {
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: "alive" });
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(document.paths)).toContain("/v2/ratelimit.multiLimit");
    const page = await fetch(`${server.url}/docs`);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).not.toMatch(/https?:\/\//);
  });

  test("a cursor that the server refuses breaks the document's pattern, and one that it gave does not", async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
    const { content } = document.paths["/v2/ratelimit.listNamespaces"]!.post.requestBody;
    const { schema } = content["application/json"] as { schema: { properties: { cursor: { pattern: string } } } };
    const pattern = new RegExp(schema.properties.cursor.pattern, "u");
    for (const name of ["page.a", "page.bb", "page.ccc"]) await server.post("createNamespace", { name });
    for (let limit = 1; limit <= 5; limit++) {
      const { body } = await server.post("listNamespaces", { limit });
      expect(body.pagination.cursor).toMatch(pattern);
    }
    for (const cursor of ["0", "AB", "AAB", "A===", "éA", "AAAAA"]) {
      expect((await server.post("listNamespaces", { cursor })).status).toBe(400);
      expect(cursor).not.toMatch(pattern);
    }
  });

  test("GET / says what this is, and where to read on", async () => {
    const answer = await fetch(`${server.url}/`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      name: "sluice",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      docs: "/docs",
      openapi: "/openapi.json",
    });
  });

  test("HEAD of a page answers what GET does, without the body", async () => {
    for (const path of ["/", "/health", "/openapi.json", "/docs"]) {
      const [get, head] = [await fetch(server.url + path), await fetch(server.url + path, { method: "HEAD" })];
      expect([path, head.status, head.headers.get("content-length")]).toEqual([
        path,
        200,
        get.headers.get("content-length"),
      ]);
      expect(await head.text()).toBe("");
      await get.text();
    }
    const post = await fetch(`${server.url}/health`, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("a request with several Host headers is refused, whichever of them is right", async () => {
    for (const hosts of ["host: localhost\r\nHost: localhost", "host: localhost\r\nHOST: evil.example"]) {
      const connection = new RawConnection(server.port);
      const answer = await connection.send(`GET /health HTTP/1.1\r\n${hosts}\r\n\r\n`);
      connection.close();
      expect([answer.status, JSON.parse(answer.body).error.detail]).toEqual([
        400,
        "The request has several Host headers.",
      ]);
    }
  });

  test("a 421 names the setting", async () => {
    const connection = new RawConnection(server.port);
    const answer = await connection.send("GET /health HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n");
    connection.close();
    expect([answer.status, JSON.parse(answer.body).error.detail]).toEqual([
      421,
      "The Host header does not match this server (setting http.hosts).",
    ]);
  });

  test("problem+json only for who asks for it by name", async () => {
    const ask = (accept: string) => fetch(`${server.url}/v2/nothing`, { method: "POST", headers: { accept } });
    expect((await ask("application/problem+json")).headers.get("content-type")).toBe("application/problem+json");
    expect((await ask("*/*")).headers.get("content-type")).toBe("application/json");
  });
});

describe("why", () => {
  test("an answer has its reason, and says whether it is a guess", async () => {
    const ask = (identifier: string, more: object = {}) => limit("why", identifier, { limit: 1, ...more });
    expect(await ask("a")).toMatchObject({ success: true, reason: "allowed", degraded: false });
    expect(await ask("a")).toMatchObject({ success: false, reason: "limit", degraded: false });
    expect(await ask("b", { cost: 2 })).toMatchObject({ success: false, reason: "cost", degraded: false });
    await server.post("updateNamespace", { namespace: "why", shadow: true });
    expect(await ask("a")).toMatchObject({ success: true, shadowed: true, reason: "limit" });
  });

  test("each item of a batch has its own", async () => {
    const item = { namespace: "why.batch", limit: 1, duration: HOUR_MS };
    const batch = [
      { ...item, identifier: "fits" },
      { ...item, identifier: "never", cost: 2 },
    ];
    const { body } = await server.post("multiLimit", batch);
    expect(body.data.passed).toBe(false);
    expect(body.data.limits).toMatchObject([
      { passed: true, reason: "batch", degraded: false },
      { passed: false, reason: "cost", degraded: false },
    ]);
  });

  test("an answer of a server whose table is full says so, and that it is degraded", async () => {
    const full = await startApi({}, { cellsMax: 1 });
    try {
      const answers: { reason: string; degraded: boolean }[] = [];
      for (let i = 0; i < 8; i++) {
        const asked = { namespace: "api", identifier: `user_${i}`, limit: 1, duration: HOUR_MS };
        answers.push((await full.post("limit", asked)).body.data);
      }
      for (const { reason, degraded } of answers) expect(degraded).toBe(reason === "full");
    } finally {
      await full.close();
    }
  });
});
