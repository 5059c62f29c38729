import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SYSTEM } from "../system/system.ts";
import type { Span } from "./span.ts";
import { SpanExporter } from "./span-exporter.ts";

const SPAN: Span = {
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  parentSpanId: null,
  name: "work",
  kind: "server",
  beganMs: 1_767_225_600_000.25,
  tookMs: 0.5,
  attributes: {},
  isError: false,
};

let server: Server;
/** How many spans each batch had. */
const batches: number[] = [];
const lines: string[] = [];
let statuses: number[] = [];
let nowMs = 1;
let dropped = 0;
/** Its timer, as if its time had come. */
let fire = () => {};
afterEach(() => {
  server.closeAllConnections();
  server.close();
  batches.length = 0;
  lines.length = 0;
  dropped = 0;
  statuses = [];
});

/** Its timer never fires: a test says when. */
async function exporter(
  answer: (response: ServerResponse) => void = (response) => response.end(),
): Promise<SpanExporter> {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      batches.push(JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.length);
      response.statusCode = statuses.shift() ?? 200;
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const hear = (event: string, fields: object = {}) => lines.push(`${event} ${JSON.stringify(fields)}`);
  return new SpanExporter({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/collector/`,
    headers: {},
    resource: {},
    scope: { name: "test", version: "0" },
    monoMs: () => nowMs,
    onDropped: (count) => {
      dropped += count;
    },
    log: { debug: hear, info: hear, warn: hear, error: hear },
    timers: {
      ...SYSTEM.timers,
      set: (callback, ms, keeps) => {
        if (keeps === true) return SYSTEM.timers.set(callback, ms, keeps);
        fire = callback;
        return 0;
      },
    },
  });
}

function addTo(one: SpanExporter, count: number): void {
  for (let i = 0; i < count; i++) one.add(SPAN);
}

describe("span exporter", () => {
  test("sends batches of a bounded size, and drops what its queue has no room for", async () => {
    const one = await exporter();
    addTo(one, 3_000);
    await one.flushOnce();
    expect(batches).toEqual(Array.from({ length: 8 }, () => 256));
    expect(dropped).toBe(3_000 - 2_048);
    expect(lines).toEqual(['traces.dropping {"queued":2048}']);
    await one.close(1_000);
    // Its connection has gone with it.
    await new Promise((resolve) => server.close(resolve));
  });

  test("a queue that is full again and again has one line per minute", async () => {
    const one = await exporter();
    for (const atMs of [100_000, 130_000, 160_001]) {
      nowMs = atMs;
      addTo(one, 2_050);
      await one.flushOnce();
    }
    expect(dropped).toBe(3 * 2);
    expect(lines).toEqual(['traces.dropping {"queued":2048}', 'traces.dropping {"queued":2048}']);
    await one.close(1_000);
  });

  test("a batch that a collector cannot take now is sent again, one that it refuses is not", async () => {
    const one = await exporter();
    statuses = [503, 200, 400, 200];
    addTo(one, 3);
    await one.flushOnce();
    await one.flushOnce();
    expect(batches).toEqual([3, 3]);
    addTo(one, 2);
    await one.flushOnce();
    addTo(one, 1);
    await one.flushOnce();
    expect(batches).toEqual([3, 3, 2, 1]);
    expect(lines).toEqual([
      'traces.away {"reason":"status 503","queued":3}',
      'traces.back {"dropped":0}',
      'traces.away {"reason":"status 400","queued":0}',
      'traces.back {"dropped":2}',
    ]);
    await one.close(1_000);
  });

  test("closes in time though the collector does not answer, and takes nothing more", async () => {
    const one = await exporter(() => {});
    addTo(one, 1);
    await one.close(50);
    addTo(one, 1);
    await one.flushOnce();
    expect(batches.length).toBeLessThanOrEqual(1);
    expect(lines).toEqual([expect.stringMatching(/^traces.away/)]);
  });

  test("closes in time though a call was under way, and begins no further one", async () => {
    const one = await exporter(() => {});
    addTo(one, 300);
    fire();
    await vi.waitUntil(() => batches.length > 0);
    await one.close(50);
    expect(batches).toEqual([256]);
  });
});
