/** `ratelimit.live` over HTTP: snapshots that follow the counts, and streams that are bounded and end when they must. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { STREAMS_OF_KEY_MAX } from "../../packages/server/src/live/live-desk.ts";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { poll } from "../rig/poll.ts";

let server: ApiServer;
beforeAll(async () => {
  server = await startApi();
  await server.store.saveWorkspace({ id: "ws_other", name: "other", isDisabled: false, quota: null }, "test");
});
afterAll(() => server.close());

const LIMIT = { namespace: "live", identifier: "user_1", limit: 2, duration: 3_600_000 };

interface LiveEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: an event is whatever the server sends; the assertions say what it should be.
  readonly data: any;
}

/** A stream that is read as it comes. */
class Stream {
  readonly events: LiveEvent[] = [];
  isOver = false;
  readonly #abort = new AbortController();

  static async open(at: ApiServer, token = ROOT): Promise<Stream> {
    const stream = new Stream();
    const response = await fetch(`${at.url}/v2/ratelimit.live`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: "{}",
      signal: stream.#abort.signal,
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    void stream.#read(response).catch(() => {});
    return stream;
  }

  close(): void {
    this.#abort.abort();
  }

  next(isMeant: (event: LiveEvent) => boolean): Promise<LiveEvent> {
    return poll("an event of the stream", () => this.events.find(isMeant));
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event)!;
        this.events.push({ name: name!, data: JSON.parse(data!) });
      }
    }
    this.isOver = true;
  }
}

describe("ratelimit.live", () => {
  test("a snapshot at once, then one per second, whose totals are what was decided", async () => {
    const stream = await Stream.open(server);
    const first = await stream.next(() => true);
    for (let i = 0; i < 5; i++) await server.post("limit", LIMIT);
    const { data } = await stream.next(({ data: { totals } }) => totals.denied === first.data.totals.denied + 3);
    expect(data.totals.allowed).toBe(first.data.totals.allowed + 2);
    expect(data.namespaces).toMatchObject([{ name: "live", denied: 3, rule: { limit: 2, duration: 3_600_000 } }]);
    expect(data.server.layers.admin).toEqual({ status: "ok" });
    stream.close();
    await poll("the end of the stream", () => (server.live.open === 0 ? true : undefined));
  });

  test("a workspace sees its own numbers alone, and the server only with * in default", async () => {
    const theirs = await Stream.open(server, await server.createKey(["*"], { workspaceId: "ws_other" }));
    const reader = await Stream.open(server, await server.createKey(["ratelimit.*.read_namespace"]));
    expect((await theirs.next(() => true)).data).toEqual({
      at: expect.any(Number),
      totals: { allowed: 0, denied: 0, shadowed: 0, degraded: 0, cost: 0 },
      namespaces: [],
    });
    const { data } = await reader.next(() => true);
    expect(data.namespaces).toHaveLength(1);
    expect(data).not.toHaveProperty("server");
    theirs.close();
    reader.close();
  });

  test.each(["revoked", "disabled"])("a stream ends within a second after its key is %s", async (how) => {
    const token = await server.createKey(["ratelimit.*.read_namespace"]);
    const key = server.directory.keyById(server.directory.keyOf(token)!.id)!;
    const stream = await Stream.open(server, token);
    await stream.next(() => true);
    const beganMs = performance.now();
    // Not through this server: it learns of it by reading the store.
    if (how === "revoked") await server.store.deleteKey(key.id, "test");
    else await server.store.saveKey({ ...key, isDisabled: true }, "key.disable", "test");
    await poll("the end of the stream", () => stream.isOver || undefined);
    // Half a second for the directory, a quarter for the check; the rest is for a busy machine.
    expect(performance.now() - beganMs).toBeLessThan(1_000 + SLOW_MS);
    expect(stream.events.at(-1)).toMatchObject({ name: "end", data: { detail: expect.stringMatching(/key/) } });
  });

  test("a key has at most so many streams, and gets another when it closes one", async () => {
    const token = await server.createKey(["ratelimit.*.read_namespace"]);
    const streams: Stream[] = [];
    for (let i = 0; i < STREAMS_OF_KEY_MAX; i++) streams.push(await Stream.open(server, token));
    const refused = await server.post("live", {}, token);
    expect([refused.status, refused.body.error.type]).toEqual([429, "/errors/limits/stream_limit_reached"]);
    streams[0]!.close();
    await poll("room for a stream", async () =>
      (await server.post("live", {}, token)).status === 200 ? true : undefined,
    );
    for (const stream of streams) stream.close();
  });

  test("all streams end when the server stops, and no connection has to be cut", async () => {
    const own = await startApi();
    const streams = [await Stream.open(own), await Stream.open(own)];
    await streams[1]!.next(() => true);
    const beganMs = performance.now();
    await own.close();
    for (const stream of streams) {
      await poll("the end of the stream", () => stream.isOver || undefined);
      expect(stream.events.at(-1)).toMatchObject({ name: "end", data: { detail: "The server is stopping." } });
    }
    expect(performance.now() - beganMs).toBeLessThan(1_000 + SLOW_MS);
  });
});

/** What a machine that runs many suites at once may take in addition. */
const SLOW_MS = 1_000;
