/** What a connection may hold: requests, answers and time, on a bare HTTP server. */
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Connections } from "../../packages/server/src/http/pipeline/connections.ts";
import type { CutReason } from "../../packages/server/src/metrics/tally.ts";
import { poll } from "../rig/poll.ts";

const SEND_TIMEOUT_MS = 20_000;
const IDLE_MAX_MS = 75_000;
const REQUEST = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const open: { readonly servers: Server[]; readonly clients: Socket[] } = { servers: [], clients: [] };
afterEach(async () => {
  for (const client of open.clients.splice(0)) client.destroy();
  for (const server of open.servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

class Listener {
  readonly cuts: CutReason[] = [];
  readonly connections: Connections;
  /** Requests that Node has reported. */
  seen = 0;
  /** Those that were not ignored. */
  begun = 0;
  /** Those that wait for an answer. */
  readonly waiting: ((text: string) => void)[] = [];
  readonly #server = createServer((request, response) => this.#hear(request, response));

  constructor() {
    open.servers.push(this.#server);
    this.connections = new Connections(this.#server, false, {
      sendTimeoutMs: SEND_TIMEOUT_MS,
      idleMaxMs: IDLE_MAX_MS,
      onCut: (reason) => this.cuts.push(reason),
    });
  }

  async client(): Promise<Client> {
    if (!this.#server.listening) await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return new Client((this.#server.address() as AddressInfo).port);
  }

  #hear(request: Parameters<Connections["begin"]>[0], response: ServerResponse): void {
    this.seen += 1;
    const turn = this.connections.begin(request, response);
    if (turn === null) return;
    this.begun += 1;
    this.waiting.push((text) => {
      turn.made(text.length);
      response.end(text);
    });
  }
}

class Client {
  readonly socket: Socket;
  received = "";
  isClosed = false;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    open.clients.push(this.socket);
    this.socket.on("data", (chunk) => {
      this.received += chunk.toString("latin1");
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }
}

describe("connections", () => {
  test("one that pipelines more requests than it may hold is cut, and the rest of its requests are ignored", async () => {
    const listener = new Listener();
    const client = await listener.client();
    client.socket.write(REQUEST.repeat(1_000));
    await poll("the cut", () => client.isClosed);
    expect(listener.cuts).toEqual(["pipelined"]);
    expect(listener.begun).toBe(32);
    // Node makes no request of what follows in the same packet.
    expect(listener.seen).toBe(33);
  });

  test("one that pipelines within its bounds is answered, in order, time and again", async () => {
    const listener = new Listener();
    const client = await listener.client();
    for (let round = 1; round <= 3; round++) {
      client.socket.write(REQUEST.repeat(32));
      await poll("the requests", () => listener.waiting.length === 32);
      listener.waiting.splice(0).forEach((answer, i) => {
        answer(`<${i}>`);
      });
      await poll("the answers", () => client.received.includes("<31>"));
      expect(client.received.match(/<\d+>/g)).toEqual(Array.from({ length: 32 }, (_, i) => `<${i}>`));
      client.received = "";
    }
    expect(listener.cuts).toEqual([]);
  });

  test("one that does not read several large answers is cut; a single one may be as large as it is", async () => {
    const listener = new Listener();
    const client = await listener.client();
    client.socket.pause();
    client.socket.write(REQUEST);
    await poll("the request", () => listener.waiting.length === 1);
    // More than the buffers of both kernels take.
    listener.waiting.pop()!("x".repeat(30_000_000));
    expect(listener.cuts).toEqual([]);
    const other = await listener.client();
    other.socket.pause();
    other.socket.write(REQUEST.repeat(3));
    await poll("the requests", () => listener.waiting.length === 3);
    for (const answer of listener.waiting.splice(0, 2)) answer("x".repeat(4_000_000));
    expect(listener.cuts).toEqual([]);
    listener.waiting.pop()!("x".repeat(4_000_000));
    expect(listener.cuts).toEqual(["pipelined"]);
  });

  test("together they hold a bounded number of bytes: the one that holds the most is cut", async () => {
    const listener = new Listener();
    const clients: Client[] = [];
    const hold = async (bytes: number) => {
      const client = await listener.client();
      clients.push(client);
      client.socket.pause();
      client.socket.write(REQUEST);
      await poll("the request", () => listener.waiting.length === 1);
      listener.waiting.pop()!("x".repeat(bytes));
    };
    // 64 MiB are 67.1 million bytes.
    for (const millions of [10, 10, 15, 10, 10, 10]) await hold(millions * 1_000_000);
    expect(listener.cuts).toEqual([]);
    await hold(5_000_000);
    expect(listener.cuts).toEqual(["unread"]);
    const isCut = ({ socket }: Client) => !socket.write("\r\n") && socket.errored !== null;
    await poll("the cut", () => isCut(clients[2]!));
    expect(clients.filter(({ socket }) => socket.errored !== null)).toHaveLength(1);
  });

  test("a client that does not read its answer is cut at the timeout, and not before", async () => {
    const listener = new Listener();
    const client = await listener.client();
    client.socket.pause();
    client.socket.write(REQUEST);
    await poll("the request", () => listener.waiting.length === 1);
    const nowMs = performance.now();
    // The server takes its time: nothing is unsent yet.
    listener.connections.sweepOnce(nowMs + 10 * SEND_TIMEOUT_MS);
    listener.waiting.pop()!("x".repeat(30_000_000));
    for (const atMs of [11, 12]) listener.connections.sweepOnce(nowMs + atMs * SEND_TIMEOUT_MS);
    expect(listener.cuts).toEqual([]);
    listener.connections.sweepOnce(nowMs + 12 * SEND_TIMEOUT_MS + 1);
    expect(listener.cuts).toEqual(["unread"]);
  });

  test("empty lines between requests do not keep an idle connection open", async () => {
    const listener = new Listener();
    const client = await listener.client();
    client.socket.write(REQUEST);
    await poll("the request", () => listener.waiting.length === 1);
    listener.connections.sweepOnce(performance.now() + 2 * IDLE_MAX_MS);
    listener.waiting.pop()!("answer");
    await poll("the answer", () => client.received.includes("answer"));
    client.socket.write("\r\n");
    listener.connections.sweepOnce(performance.now() + IDLE_MAX_MS - 5_000);
    expect(listener.cuts).toEqual([]);
    listener.connections.sweepOnce(performance.now() + IDLE_MAX_MS + 1);
    expect(listener.cuts).toEqual(["idle"]);
  });
});
