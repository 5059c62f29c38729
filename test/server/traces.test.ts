/** Traces of a real server: what a collector gets, whose trace it is, and that no request feels a collector that is away. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { Collector } from "../rig/collector.ts";
import { freePort } from "../rig/free-port.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer, type Variables } from "../rig/sluice-server.ts";

const ROOT = "a-preset-key-of-24-chars";
const IDENTIFIER = "somebody@example.com";
const LIMIT = { namespace: "api", identifier: IDENTIFIER, limit: 1, duration: 3_600_000 };
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const SERVER = 2;
const INTERNAL = 1;

let folder = "";
let redis: RedisServer;
let collector: Collector;
const started: SluiceServer[] = [];
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  folder = temporaryFolder();
  collector = await Collector.start();
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop("SIGKILL");
  await collector.stop();
  removeFolder(folder);
});

async function serve(environment: Variables = {}): Promise<SluiceServer> {
  const server = SluiceServer.begin(folder, {
    environment: { SLUICE_ROOT_KEY: ROOT, SLUICE_TRACES_ENDPOINT: collector.url, ...environment },
  });
  started.push(server);
  await server.greeted();
  return server;
}

async function call(server: SluiceServer, operation: string, body: unknown, headers: object = {}): Promise<number> {
  const answer = await fetch(`${server.url}/v2/ratelimit.${operation}`, {
    method: "POST",
    headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const traceParent = (traceId: string, flags = "01") => ({ traceparent: `00-${traceId}-${CALLER}-${flags}` });

describe("a request of a caller that keeps a trace", () => {
  test("is a span of that trace, and the read of the origin is one within it", async () => {
    const server = await serve({
      SLUICE_REDIS_URL: redis.url,
      SLUICE_REGION: "eu",
      SLUICE_TRACES_SAMPLE: "0",
      OTEL_SERVICE_NAME: "limits",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%20bench,host.name=a1,service.name=other,",
    });
    await poll("Redis", async () => JSON.stringify((await server.ready()).body).includes('"region":{"status":"ok"}'));
    expect(await call(server, "limit", LIMIT, traceParent(TRACE_ID))).toBe(200);
    // From memory: no read. A denial, a batch, a refusal; each in a trace of its own.
    const ids = ["1", "2", "3"].map((digit) => digit.repeat(32));
    expect(await call(server, "limit", LIMIT, traceParent(ids[0]!))).toBe(200);
    expect(await call(server, "multiLimit", [LIMIT, LIMIT], traceParent(ids[1]!))).toBe(200);
    expect(await call(server, "limit", { ...LIMIT, limit: -1 }, traceParent(ids[2]!))).toBe(400);
    // What is left is sent when it stops.
    expect((await server.stop()).code).toBe(0);
    const spansOf = (id: string) => collector.spans.filter(({ traceId }) => traceId === id);
    const spans = spansOf(TRACE_ID);
    const root = spans.find(({ kind }) => kind === SERVER)!;
    const read = spans.find(({ kind }) => kind === INTERNAL)!;
    expect(spans).toHaveLength(2);
    expect(root).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: CALLER,
      name: "ratelimit.limit",
      status: 0,
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "url.path": "/v2/ratelimit.limit",
        "sluice.namespace": "api",
        "sluice.outcome": "allowed",
        "sluice.source": "origin",
        "sluice.degraded": false,
      },
      resource: {
        "service.name": "limits",
        "sluice.region": "eu",
        "deployment.environment.name": "test bench",
        "host.name": "a1",
      },
    });
    expect(read).toMatchObject({ traceId: TRACE_ID, parentSpanId: root.spanId, name: "origin.read" });
    expect(read.attributes).toEqual({ "sluice.degraded": false });
    expect(read.spanId).not.toBe(root.spanId);
    expect(read.beganNs).toBeGreaterThanOrEqual(root.beganNs);
    expect(read.endedNs).toBeLessThanOrEqual(root.endedNs);
    expect(read.endedNs).toBeGreaterThan(read.beganNs);

    const attributesOf = (id: string) => spansOf(id).map((one) => one.attributes);
    expect(attributesOf(ids[0]!)).toMatchObject([{ "sluice.outcome": "denied", "sluice.source": "local" }]);
    expect(attributesOf(ids[1]!)).toMatchObject([{ "sluice.outcome": "denied" }]);
    expect(attributesOf(ids[2]!)).toMatchObject([
      { "http.response.status_code": 400, "sluice.problem": "application/invalid_input" },
    ]);
    expect(collector.spans).toHaveLength(5);
    expect(collector.bodies.join()).not.toContain(IDENTIFIER);
  });

  test("is none where the caller does not sample it, though all others are", async () => {
    const server = await serve({ SLUICE_TRACES_SAMPLE: "1", SLUICE_TRACES_HEADERS: "api-key=a%20key,x-team=limits" });
    expect(await call(server, "limit", LIMIT, traceParent(TRACE_ID, "00"))).toBe(200);
    expect(await call(server, "limit", LIMIT)).toBe(200);
    expect(await call(server, "limit", LIMIT, { traceparent: "nonsense" })).toBe(200);
    expect((await server.stop()).code).toBe(0);
    expect(collector.spans.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined]);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(2);
    for (const { traceId } of collector.spans) expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(collector.headers[0]).toMatchObject({ "api-key": "a key", "x-team": "limits" });
  });
});

test("with a sampler that ignores callers, a request is traced by the sampler alone, within its caller's trace", async () => {
  const [on, off] = [
    await serve({ OTEL_TRACES_SAMPLER: "always_on" }),
    await serve({ OTEL_TRACES_SAMPLER: "always_off" }),
  ];
  expect(await call(on, "limit", LIMIT, traceParent(TRACE_ID, "00"))).toBe(200);
  expect(await call(off, "limit", LIMIT, traceParent("1".repeat(32), "01"))).toBe(200);
  for (const server of [on, off]) expect((await server.stop()).code).toBe(0);
  expect(collector.spans.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual([[TRACE_ID, CALLER]]);
});

test("a request without a good key makes no span, whatever its caller or the share says", async () => {
  const server = await serve({ SLUICE_TRACES_SAMPLE: "1" });
  for (const authorization of ["", "Bearer somebody-elses-key"]) {
    expect(await call(server, "limit", LIMIT, { ...traceParent(TRACE_ID), authorization })).toBeGreaterThanOrEqual(400);
    expect(await call(server, "limit", LIMIT, { authorization })).toBeGreaterThanOrEqual(400);
  }
  expect(await call(server, "limit", LIMIT, traceParent("1".repeat(32)))).toBe(200);
  expect((await server.stop()).code).toBe(0);
  expect(collector.spans.map(({ traceId }) => traceId)).toEqual(["1".repeat(32)]);
});

describe("a collector that is away", () => {
  test("is told once in the log, and is felt by no request and no stop", async () => {
    const server = await serve({
      SLUICE_TRACES_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      SLUICE_TRACES_SAMPLE: "1",
    });
    const ask = async () => {
      for (let i = 0; i < 20; i++) expect(await call(server, "limit", LIMIT)).toBe(200);
    };
    await ask();
    await poll("a line", () => server.log("traces.away").length > 0);
    await ask();
    expect((await server.stop()).code).toBe(0);
    expect(server.log("traces.away")).toMatchObject([{ level: "warn", reason: "ECONNREFUSED" }]);
    expect(server.log("traces.back")).toEqual([]);
  });
});
