/** The listener for operators: it answers probes even if a client takes all of its connections. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OpsListener, startOps } from "../../packages/server/src/serve/ops-listener.ts";
import { poll } from "../rig/poll.ts";
import { RawConnection } from "../rig/raw-http.ts";

/** More than it holds, 100. */
const FLOOD = 150;
const LAYER = { status: "ok" } as const;

let ops: OpsListener;
let pagesMade = 0;
const flood = new Set<Socket>();
let isOver = false;
beforeAll(async () => {
  const readiness = async () => ({ ready: true, layers: { admin: LAYER, region: LAYER, global: LAYER } });
  const metrics = async () => {
    pagesMade++;
    return "up 1\n";
  };
  ops = await startOps({ host: "127.0.0.1", port: 0, readiness, metrics });
});
afterAll(() => {
  isOver = true;
  for (const socket of flood) socket.destroy();
  ops.close();
});

let opened = 0;
/** Sends nothing, and is opened again whenever it was closed. */
function openSilent(): void {
  if (isOver) return;
  const socket = connect(ops.port, "127.0.0.1", () => {
    opened += 1;
  });
  flood.add(socket);
  socket.on("error", () => {});
  socket.on("close", () => {
    flood.delete(socket);
    setTimeout(openSilent, 5);
  });
}

async function probe(path: string): Promise<number | null> {
  const connection = new RawConnection(ops.port);
  const { status } = await connection.send(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  connection.close();
  return status;
}

describe("the listener for operators", () => {
  test("answers HEAD without a body, and other methods with 405", async () => {
    const url = `http://127.0.0.1:${ops.port}/health`;
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
  });

  test("answers one request of a connection: pipelined ones make no work", async () => {
    const madeBefore = pagesMade;
    const connection = new RawConnection(ops.port);
    await connection.send("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(500));
    connection.close();
    expect(pagesMade - madeBefore).toBe(1);
  });

  test("refuses several Host headers", async () => {
    const connection = new RawConnection(ops.port);
    const hosts = "host: localhost\r\nhost: localhost";
    expect((await connection.send(`GET /health HTTP/1.1\r\n${hosts}\r\n\r\n`)).status).toBe(400);
    connection.close();
  });

  test("answers probes while a client opens more connections than it holds", async () => {
    for (let i = 0; i < FLOOD; i++) openSilent();
    await poll("the flood", () => opened >= FLOOD);
    for (let i = 0; i < 20; i++) {
      for (const path of ["/health", "/ready", "/metrics"]) expect([path, await probe(path)]).toEqual([path, 200]);
    }
  });
});
