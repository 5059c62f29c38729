/**
 * The listener of its own for those who run the server: `/health`, `/ready` with every layer's state and reason, and
 * `/metrics`.
 *
 * Apart from the API, so that a firewall can keep them apart, and so that it answers when the API's connections are used up.
 *
 * Invariant: at most CONNECTIONS_MAX connections, and a new one is always accepted unless all of them wait for an answer. The one that
 * has been silent for the longest time gives way: a client that opens connections and sends nothing must not fail the liveness probes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { hasSeveralHosts, hostCheck, usualNames } from "../http/pipeline/host-check.ts";
import { Failure } from "../input/failure.ts";
import { listen } from "./listening.ts";
import type { Readiness } from "./readiness.ts";

export interface OpsListener {
  readonly port: number;
  close(): void;
}

export interface OpsOptions {
  readonly host: string;
  /** Null: the usual one, or any free one if that is taken. */
  readonly port: number | null;
  readonly readiness: () => Promise<Readiness>;
  /** The text for Prometheus. */
  readonly metrics: () => Promise<string>;
}

const OPS_PORT_USUAL = 9_080;
const TIMEOUTS = { requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
/** Without a byte in either direction, such as a client that does not read its answer. */
const STALLED_MS = 10_000;
const CONNECTIONS_MAX = 100;
/** Node answers further ones 503 itself: 1,500 pipelined requests for `/metrics` stopped the server for a second. */
const REQUESTS_PER_CONNECTION = 1;

export async function startOps({ host, port, ...sources }: OpsOptions): Promise<OpsListener> {
  const checkHost = hostCheck(usualNames(host));
  const server = createServer(TIMEOUTS, (request, response) => {
    if (hasSeveralHosts(request.rawHeaders)) {
      send(response, 400, { error: "the request has several Host headers" });
      return;
    }
    const misdirected = checkHost(request.headers.host);
    if (misdirected !== undefined) {
      send(response, misdirected.status, { error: misdirected.message });
      return;
    }
    answer(request, sources).then(
      ([status, body]) => send(response, status, body),
      () => send(response, 500, { error: "internal error" }),
    );
  });
  server.timeout = STALLED_MS;
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  makeRoom(server);
  const taken = await listenSomewhere(server, host, port);
  return {
    port: taken,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Destroys the connection that has been silent for the longest time when there is one too many. */
function makeRoom(server: Server): void {
  const open = new Set<Socket>();
  /** Those without a request under way, in the order in which they were opened or answered. */
  const silent = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    silent.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      silent.delete(socket);
    });
    if (open.size <= CONNECTIONS_MAX) return;
    const [longest = socket] = silent;
    // At once, not at the event "close": several may be opened before it.
    open.delete(longest);
    silent.delete(longest);
    longest.destroy();
  });
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    silent.delete(socket);
    response.once("close", () => {
      if (open.has(socket)) silent.add(socket);
    });
  });
}

async function listenSomewhere(server: Server, host: string, port: number | null): Promise<number> {
  if (port !== null) return listen(server, { host, port });
  try {
    return await listen(server, { host, port: OPS_PORT_USUAL });
  } catch (error) {
    // Another server on this machine has it, most likely. Nobody asked for this one.
    if (error instanceof Failure) return listen(server, { host, port: 0 });
    throw error;
  }
}

const PATHS = ["/health", "/ready", "/metrics"];

type OpsSources = Pick<OpsOptions, "readiness" | "metrics">;

async function answer(
  request: IncomingMessage,
  { readiness, metrics }: OpsSources,
): Promise<[number, object | string]> {
  const path = (request.url ?? "").split("?", 1)[0]!;
  if (!PATHS.includes(path)) return [404, { error: `the routes are ${PATHS.join(", ")}` }];
  if (request.method !== "GET" && request.method !== "HEAD")
    return [405, { error: "this route accepts GET and HEAD only" }];
  if (path === "/health") return [200, { status: "alive" }];
  if (path === "/metrics") return [200, await metrics()];
  const state = await readiness();
  return [state.ready ? 200 : 503, state];
}

/** A text is for Prometheus, everything else is JSON. */
function send(response: ServerResponse, status: number, body: object | string): void {
  const type = typeof body === "string" ? "text/plain; version=0.0.4; charset=utf-8" : "application/json";
  const headers = { "content-type": type, "cache-control": "no-store" };
  response.writeHead(status, status === 405 ? { ...headers, allow: "GET, HEAD" } : headers);
  response.end(typeof body === "string" ? body : `${JSON.stringify(body)}\n`);
}
