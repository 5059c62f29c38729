/** Attacks by connections: they hold, they do not read, they do not end. None but the last needs a key. */
import { connect, type Socket } from "node:net";
import { type Attack, HOSTILE_ADDRESS, type Tally } from "./attack.ts";

/** A connection that was closed is opened again after this long. */
const AGAIN_MS = 250;
/** How long a connection that the server has ended is kept: longer than a server should hold it. */
const ENDED_MS = 5_000;
/** How long a connection that reads nothing is kept. */
const UNREAD_MS = 10_000;
const DRIP_MS = 500;
/** Requests in one write: more than a connection may have unanswered. */
const PIPELINED = 400;

/** Keeps so many connections open; `begin` makes each of them hostile. */
function hold(port: number, count: number, tally: Tally, begin: (socket: Socket) => void): void {
  const open = () => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: HOSTILE_ADDRESS, allowHalfOpen: true });
    socket.once("connect", () => {
      tally.count("opened");
      begin(socket);
    });
    socket.once("end", () => tally.count("ended"));
    socket.on("error", (error: NodeJS.ErrnoException) => tally.count(error.code ?? "error"));
    socket.once("close", () => {
      tally.count("closed");
      setTimeout(open, AGAIN_MS);
    });
  };
  for (let i = 0; i < count; i++) setTimeout(open, i * 2);
}

/** Reads what comes, and keeps its side open for a while after the server has ended its own. */
function ignoreTheEnd(socket: Socket): void {
  socket.resume();
  socket.once("end", () => setTimeout(() => socket.destroy(), ENDED_MS));
}

const HEALTH = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

export const CONNECTION_ATTACKS: readonly Attack[] = [
  {
    name: "idle connections",
    start: ({ port }, tally) => hold(port, 200, tally, ignoreTheEnd),
  },
  {
    name: "connections that ignore the end",
    start: ({ port }, tally) =>
      hold(port, 100, tally, (socket) => {
        ignoreTheEnd(socket);
        socket.write("this is not HTTP\r\n\r\n");
      }),
  },
  {
    name: "a request, then garbage",
    start: ({ port }, tally) =>
      hold(port, 10, tally, (socket) => {
        ignoreTheEnd(socket);
        socket.write(`${HEALTH}garbage\r\n\r\n`);
      }),
  },
  {
    name: "pipelined requests that nobody reads",
    start: ({ port }, tally) =>
      hold(port, 5, tally, (socket) => {
        socket.pause();
        // A connection that does not read does not notice that it was cut.
        setTimeout(() => socket.destroy(), UNREAD_MS);
        socket.write("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(PIPELINED));
      }),
  },
  {
    name: "empty lines, one after the other",
    start: ({ port }, tally) =>
      hold(port, 50, tally, (socket) => {
        ignoreTheEnd(socket);
        socket.write(HEALTH);
        const drip = setInterval(() => socket.write("\r\n"), DRIP_MS);
        socket.once("close", () => clearInterval(drip));
      }),
  },
  {
    name: "headers, byte by byte",
    start: ({ port }, tally) =>
      hold(port, 50, tally, (socket) => {
        ignoreTheEnd(socket);
        socket.write("POST /v2/ratelimit.limit HTTP/1.1\r\nHost: localhost\r\n");
        const drip = setInterval(() => socket.write("a: b\r\n"), DRIP_MS);
        socket.once("close", () => clearInterval(drip));
      }),
  },
  {
    name: "silent connections to the ops port",
    start: ({ opsPort }, tally) => hold(opsPort, 120, tally, ignoreTheEnd),
  },
  {
    name: "pipelined changes",
    start: ({ port, key }, tally) =>
      hold(port, 2, tally, (socket) => {
        ignoreTheEnd(socket);
        let change = 0;
        const text = () => {
          const body = JSON.stringify({ namespace: "queued", identifier: "x", limit: change++ % 2, duration: 60_000 });
          return `POST /v2/ratelimit.setOverride HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
        };
        const burst = () => socket.write(Array.from({ length: 100 }, text).join(""));
        burst();
        const more = setInterval(burst, 2_000);
        socket.once("close", () => clearInterval(more));
      }),
  },
];
