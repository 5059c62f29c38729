/** Clients that misuse a connection: each is answered or let go in bounded time, and none of their requests is lost on the way. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { makeCertificate } from "../rig/certificate.ts";
import { removeFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";

/** The least that Node's checks, twice a second, can tell apart. */
const REQUEST_TIMEOUT_MS = 500;
const LIMIT = { namespace: "api", identifier: "user", limit: 1_000, duration: 3_600_000 };

let server: ApiServer;
let tlsServer: ApiServer;
let folder = "";
beforeAll(async () => {
  server = await startApi({ requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const { keyFile, certFile, ...made } = makeCertificate();
  folder = made.folder;
  const tls = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  tlsServer = await startApi({ requestTimeoutMs: REQUEST_TIMEOUT_MS, tls });
});
afterAll(async () => {
  await server.close();
  await tlsServer.close();
  removeFolder(folder);
});

const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

interface Stubborn {
  readonly text: () => string;
  /** Resolves when the server has closed its side. */
  readonly ended: Promise<void>;
}

/** A client that never closes its side. */
function stubborn(port: number, ...bytes: (string | Buffer)[]): Stubborn {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  clients.push(socket);
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  const ended = new Promise<void>((resolve) => socket.once("end", resolve));
  for (const one of bytes) socket.write(one);
  return { text: () => text, ended };
}

function request(body: string, token = ROOT): string {
  const headers = `host: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json`;
  return `POST /v2/ratelimit.limit HTTP/1.1\r\n${headers}\r\n${body}`;
}

function whole(token = ROOT): string {
  const body = JSON.stringify(LIMIT);
  return request(`content-length: ${body.length}\r\n\r\n${body}`, token);
}

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const counted = () => server.limiter.stats().decisions.allowed;
const allReleased = (one: ApiServer) => poll("their release", async () => (await one.connections()) === 0);

describe("a connection that is never closed by its client", () => {
  test("is released after a 408, and after a 400", async () => {
    const silent = stubborn(server.port);
    const slow = stubborn(server.port, request("content-length: 500\r\n\r\n{"));
    const broken = stubborn(server.port, "nonsense\r\n\r\n");
    await Promise.all([silent, slow, broken].map(({ ended }) => ended));
    expect([silent, slow, broken].map(({ text }) => statusesIn(text()))).toEqual([[408], [408], [400]]);
    await allReleased(server);
  });

  test("is released if it speaks to a TLS port without a handshake", async () => {
    const hello = Buffer.from([0x16, 0x03, 0x01]);
    for (const bytes of [[], [hello], ["GET / HTTP/1.1\r\n\r\n"]]) stubborn(tlsServer.port, ...bytes);
    await poll("the connections", async () => (await tlsServer.connections()) > 0);
    await allReleased(tlsServer);
    const client = connectTls({ port: tlsServer.port, host: "127.0.0.1", rejectUnauthorized: false });
    clients.push(client);
    await new Promise((resolve) => client.once("secureConnect", resolve));
  });
});

describe("requests before bytes that are not a request", () => {
  test("in one packet are counted and answered, before the 400", async () => {
    const before = counted();
    const client = stubborn(server.port, `${whole().repeat(3)}GARBAGE\r\n\r\n`);
    await client.ended;
    await allReleased(server);
    expect(statusesIn(client.text())).toEqual([200, 200, 200, 400]);
    expect(counted() - before).toBe(3);
  });

  test("are answered if the body of the last one is broken, which is not counted", async () => {
    const before = counted();
    const client = stubborn(server.port, whole() + request("transfer-encoding: chunked\r\n\r\nzz\r\n"));
    await client.ended;
    await allReleased(server);
    expect(statusesIn(client.text())).toEqual([200, 400]);
    expect(counted() - before).toBe(1);
  });

  test("one that was refused by its headers has one answer, though its body is broken", async () => {
    const client = stubborn(server.port, request("transfer-encoding: chunked\r\n\r\n", "unknown"));
    await poll("the answer", () => client.text().includes("401"));
    clients.at(-1)!.write("zz\r\n");
    await client.ended;
    await allReleased(server);
    expect(statusesIn(client.text())).toEqual([401]);
  });
});

describe("pipelined requests", () => {
  test("that nobody reads the answers of cut their connection, without a key", async () => {
    const socket = connect(server.port, "127.0.0.1").pause();
    clients.push(socket);
    let isCut = false;
    socket.once("error", () => {
      isCut = true;
    });
    socket.write("GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1_000));
    await poll("the cut", () => {
      // A client that does not read learns of it when it writes.
      if (!isCut) socket.write("\r\n");
      return isCut;
    });
  });
});
