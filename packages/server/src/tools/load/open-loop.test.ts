/** The generator against a real server of the test's own, which answers, refuses, cuts and falls silent as it is told. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { SYSTEM } from "../../system/system.ts";
import { type LoadResult, LoadTally } from "./load-result.ts";
import { loadText } from "./load-text.ts";
import { type LoadOptions, OpenLoop } from "./open-loop.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, index: number) => void;

const OPENING = "opening";

let server: Server;
let opened = 0;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** The body of request i is i. */
async function listen(handler: Handler): Promise<URL> {
  opened = 0;
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      if (body === OPENING) opened++;
      if (body === OPENING) allow(response);
      else handler(request, response, Number(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix/`);
}

const allow = (response: ServerResponse, success = true) => response.end(JSON.stringify({ data: { success } }));

async function load(url: URL, options: Partial<LoadOptions> = {}): Promise<LoadResult> {
  const tally = new LoadTally();
  const loop = loopOf(url, tally, options);
  await loop.open();
  return tally.result(await loop.run());
}

function loopOf(url: URL, sink: LoadTally, options: Partial<LoadOptions>): OpenLoop {
  // On a machine that has other things to do, what is due must still be sent.
  const patience = { timeoutMs: 60_000, drainMs: 60_000 };
  const all = { rate: 500, durationMs: 200, connections: 4, ...patience, key: "a key", bodyOf: String };
  return new OpenLoop({ openingBody: OPENING, ...all, url, sink, ...options }, SYSTEM);
}

describe("open loop", () => {
  test("every request that is due is asked once, with the key, and told once", async () => {
    const asked: number[] = [];
    const seen = new Set<string>();
    const url = await listen((request, response, index) => {
      asked.push(index);
      seen.add(`${request.method} ${request.url} ${request.headers.authorization}`);
      allow(response, index % 4 !== 0);
    });
    const result = await load(url);
    expect(opened).toBe(4);
    expect(asked.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect([...seen]).toEqual(["POST /prefix/v2/ratelimit.limit Bearer a key"]);
    expect(result).toMatchObject({ due: 100, sent: 100, answered: 100, unsent: 0, allowed: 75, denied: 25 });
    expect(result).toMatchObject({ httpErrors: {}, connectionErrors: {} });
  });

  test("what is no decision is counted by its status, what has no answer by what went wrong", async () => {
    const url = await listen((_request, response, index) => {
      if (index % 4 === 0) response.writeHead(503, { connection: "close" }).end("no");
      else if (index % 4 === 1) response.socket?.destroy();
      else if (index % 4 === 2) response.end("<html>");
      else allow(response);
    });
    const result = await load(url);
    expect(result).toMatchObject({ due: 100, sent: 100, answered: 75, allowed: 25, denied: 0 });
    expect(result.httpErrors).toEqual({ 200: 25, 503: 25 });
    // Which of the two a client sees is the system's choice.
    const { closed = 0, ECONNRESET = 0, ...others } = result.connectionErrors;
    expect([closed + ECONNRESET, others]).toEqual([25, {}]);
  });

  test("a request that is never answered is given up after its time, and those that found no connection are unsent", async () => {
    const url = await listen(() => {});
    const result = await load(url, { timeoutMs: 1_500, drainMs: 1_000 });
    expect(result).toMatchObject({ due: 100, sent: 4, answered: 0, unsent: 96, connectionErrors: { timeout: 4 } });
  });

  test("requests that wait for a connection are counted from when they were due", async () => {
    const held: ServerResponse[] = [];
    let answered = 0;
    const url = await listen((_request, response) => {
      answered++;
      if (answered === 20) setTimeout(() => allow(held.pop()!), 300);
      if (answered === 20) held.push(response);
      else allow(response);
    });
    const { answered: all, latencyMs } = await load(url, { connections: 1, durationMs: 400 });
    expect(all).toBe(200);
    // Three quarters of all were due while one was held for 300 ms; that one alone was sent then.
    expect(latencyMs.corrected.p50).toBeGreaterThan(50);
    expect(latencyMs.service.p50).toBeLessThan(latencyMs.corrected.p50);
    expect(latencyMs.service.max).toBeGreaterThan(290);
  });

  test("a server that takes connections and says nothing is told before the load", async () => {
    const url = await listen(() => {});
    const loop = loopOf(url, new LoadTally(), { openingBody: "0", timeoutMs: 200 });
    await expect(loop.open()).rejects.toThrow("timeout");
  });

  test("stopped while connections open, it ends at once with nothing due", async () => {
    const tally = new LoadTally();
    const url = await listen(() => loop.stop());
    const loop = loopOf(url, tally, { openingBody: "0", durationMs: 3_600_000, timeoutMs: 3_600_000 });
    await loop.open();
    expect(tally.result(await loop.run())).toMatchObject({ due: 0, sent: 0, answeredPerSecond: 0 });
  });

  test("what was never sent is laid to the server only where nothing else explains it", async () => {
    const tally = new LoadTally();
    const result = tally.result({ startMs: 0, loadMs: 1_000, due: 100, unsent: 90 });
    const late = { ...result, generator: { ...result.generator, late: 50 } };
    expect(loadText({ ...result, connectionErrors: { timeout: 10 } })).toMatch(/\nnever sent: 90, .* does not keep up/);
    expect(loadText({ ...late, connectionErrors: { ECONNREFUSED: 10 } })).toMatch(
      /\nsent late .*\nthis is high.*\nnever sent: 90, .*: connections failed, see above$/,
    );
    expect(loadText(late)).toMatch(/never sent: 90, .*: the generator was late/);
  });

  test("stopped, it tells of what was due until then", async () => {
    const tally = new LoadTally();
    let asked = 0;
    const url = await listen((_request, response) => {
      if (++asked === 20) loop.stop();
      allow(response);
    });
    const loop = loopOf(url, tally, { durationMs: 3_600_000 });
    await loop.open();
    const result = tally.result(await loop.run());
    expect(result.due).toBeGreaterThanOrEqual(20);
    expect(result).toMatchObject({ sent: result.due, answered: result.due, allowed: result.due });
    expect(asked).toBe(result.due);
    expect(result.elapsedMs).toBeLessThan(3_600_000);
  });
});
