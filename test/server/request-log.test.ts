/** The lines of requests in the log: which there are, what they say, and what they leave out. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RequestLogSettings } from "../../packages/server/src/http/pipeline/request-log.ts";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { poll } from "../rig/poll.ts";
import { RawConnection } from "../rig/raw-http.ts";

const LIMIT = { namespace: "api", identifier: "somebody@example.com", limit: 1, duration: 3_600_000 };
const TRACE_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const KEY = "the key of the hash";
const HASHED = createHmac("sha256", KEY).update(LIMIT.identifier).digest("hex").slice(0, 16);

let server: ApiServer;

function serving(settings: Partial<RequestLogSettings>): void {
  beforeAll(async () => {
    server = await startApi({}, {}, {}, { identifierKey: KEY, ...settings });
  });
  afterAll(() => server.close());
}

async function limitWith(headers: Record<string, string>): Promise<string> {
  const answer = await fetch(`${server.url}/v2/ratelimit.limit`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${ROOT}`, ...headers },
    body: JSON.stringify(LIMIT),
  });
  return ((await answer.json()) as { meta: { requestId: string } }).meta.requestId;
}

describe("all requests", () => {
  serving({ requests: "all" });

  test("an answer's line has the id of the answer, what was asked, by whom, what came of it, and the ids of the caller", async () => {
    const allowed = await limitWith({ "x-request-id": "edge-1/7", traceparent: TRACE_PARENT });
    const denied = await limitWith({});
    const line = {
      level: "info",
      operation: "ratelimit.limit",
      status: 200,
      tookMs: expect.any(Number),
      workspace: "default",
      key: expect.stringMatching(/^key_/),
      namespace: "api",
      identifier: HASHED,
    };
    expect(server.requestLines).toEqual([
      {
        ...line,
        requestId: allowed,
        success: true,
        reason: "allowed",
        degraded: false,
        callerRequestId: "edge-1/7",
        traceId: "0af7651916cd43dd8448eb211c80319c",
        callerSpanId: "b7ad6b7169203331",
      },
      { ...line, requestId: denied, success: false, reason: "limit", degraded: false },
    ]);
  });

  test.each([
    ["a blank", { "x-request-id": "two words" }],
    ["too long an id", { "x-request-id": "x".repeat(129) }],
    ["another version's form", { traceparent: TRACE_PARENT.replace("00-", "ff-") }],
    ["a trace of zeros", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }],
    ["more than there should be", { traceparent: `${TRACE_PARENT}-more` }],
  ])("an id of the caller's with %s is left out", async (_name, headers) => {
    await limitWith(headers as unknown as Record<string, string>);
    const line = server.requestLines.at(-1);
    for (const name of ["callerRequestId", "traceId", "callerSpanId"]) expect(line).not.toHaveProperty(name);
  });

  test("a batch says how many it asked about, and whether all of them fit", async () => {
    await server.post("multiLimit", [LIMIT, LIMIT]);
    const line = { operation: "ratelimit.multiLimit", items: 2, success: false, reason: "limit", degraded: false };
    expect(server.requestLines.at(-1)).toMatchObject(line);
  });
});

describe("requests that were refused", () => {
  serving({ requests: "errors", identifiers: "plain" });

  test("have a line that says why, by the level of whose mistake it was; the others have none", async () => {
    await server.post("limit", LIMIT);
    expect(server.requestLines).toEqual([]);
    const refused = [
      await server.post("limit", { ...LIMIT, cost: -1 }),
      await server.post("limit", LIMIT, "nobody's key"),
      await server.post("getOverride", { namespace: "api", identifier: LIMIT.identifier }),
    ];
    await server.store.close();
    refused.push(await server.post("limit", { ...LIMIT, namespace: "new" }));
    const line = { operation: "ratelimit.limit", tookMs: expect.any(Number) };
    const caller = { workspace: "default", key: expect.any(String) };
    const ids = refused.map(({ body }) => ({ requestId: body.meta.requestId as string }));
    expect(server.requestLines).toEqual([
      { ...line, ...caller, ...ids[0], level: "warn", status: 400, problem: "application/invalid_input" },
      { ...line, ...ids[1], level: "warn", status: 401, problem: "authentication/key_not_found" },
      {
        ...line,
        ...caller,
        ...ids[2],
        operation: "ratelimit.getOverride",
        level: "warn",
        status: 404,
        problem: "data/ratelimit_override_not_found",
        namespace: "api",
        identifier: LIMIT.identifier,
      },
      {
        ...line,
        ...caller,
        ...ids[3],
        level: "error",
        status: 503,
        problem: "application/unavailable",
        namespace: "new",
        identifier: LIMIT.identifier,
      },
    ]);
  });

  test("bytes that are no request have a line, too, with the id of the answer", async () => {
    const before = server.requestLines.length;
    const { body } = await new RawConnection(server.port).send("nonsense\r\n\r\n", { end: true });
    const line = await poll("a line", () => server.requestLines[before]);
    expect(line).toMatchObject({ level: "warn", operation: "other", status: 400 });
    expect(body).toContain(String(line["requestId"]));
  });
});

describe("off", () => {
  serving({ requests: "off" });

  test("no request has a line", async () => {
    await server.post("limit", LIMIT);
    await server.post("limit", LIMIT, "nobody's key");
    expect(server.requestLines).toEqual([]);
  });
});
