/**
 * The HTTP API as a server: what it needs, put together, on node:http. The way of a request is in pipeline/pipeline.ts, the table of routes in
 * routes/routes.ts.
 *
 * On node:http itself: every route is a POST to a fixed path, and a framework would take part of the throughput
 * (docs/decisions/0016-the-api-on-node-http.md).
 */
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Limiter } from "sluice";
import { Quota } from "../access/quota.ts";
import type { AdminStore } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import { Decisions } from "../decisions/decisions.ts";
import type { LiveDesk } from "../live/live-desk.ts";
import type { Log } from "../log/log.ts";
import type { Tally } from "../metrics/tally.ts";
import { SYSTEM } from "../system/system.ts";
import type { TopIdentifierDesk } from "../top-identifiers/top-identifier-desk.ts";
import type { Tracer } from "../traces/tracer.ts";
import type { UsageTally } from "../usage/usage-tally.ts";
import { brokenRequestAnswer } from "./pipeline/broken-request.ts";
import { Connections } from "./pipeline/connections.ts";
import { Pipeline, type PipelineSettings } from "./pipeline/pipeline.ts";
import type { RequestLog } from "./pipeline/request-log.ts";
import type { OverrideCaps } from "./routes/override-caps.ts";
import type { RouteParts, ServerFacts } from "./routes/route.ts";
import { Turnstile } from "./routes/turnstile.ts";

export interface ApiParts {
  readonly limiter: Limiter;
  readonly directory: Directory;
  readonly store: AdminStore;
  readonly log: Log;
  /** Null: requests are not logged. */
  readonly requestLog: RequestLog | null;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  /** Counts every decision and answer. */
  readonly tally: Tally;
  /** Counts every decision; null where nobody is to be ranked. */
  readonly topIdentifiers: TopIdentifierDesk | null;
  /** Counts every decision, by namespace and workspace. */
  readonly usage: UsageTally;
  readonly live: LiveDesk;
  readonly server: ServerFacts;
  readonly settings: ApiSettings;
  readonly wallMs: () => number;
}

export interface ApiSettings extends PipelineSettings {
  /** Maximum time to receive a complete request. */
  readonly requestTimeoutMs: number;
  /** Requests per window that a workspace may make, where it has no quota of its own; null: any number. */
  readonly quota: { readonly limit: number; readonly durationMs: number } | null;
  readonly overrideCaps: OverrideCaps;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

const HEADERS_MAX_BYTES = 16 * 1024;
/** Also for what comes before them, the handshake of TLS: Node would wait two minutes. */
const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** How often Node looks for requests that are late. */
const LATE_CHECK_MS = 500;
/** Maximum time for a client to read an answer: 1 MiB takes 20 s at 50 KiB/s. */
const SEND_TIMEOUT_MS = 20_000;

/** A server that does not listen yet. */
export function createApi(parts: ApiParts): Server {
  const { directory, tracer, tally, requestLog, log, settings, wallMs } = parts;
  const { tls, requestTimeoutMs, connectionsMax } = settings;
  const options = {
    maxHeaderSize: HEADERS_MAX_BYTES,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LATE_CHECK_MS,
  };
  const server =
    tls === null
      ? createServer(options)
      : createTlsServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout });
  server.maxConnections = connectionsMax;
  const connections = new Connections(server, tls !== null, {
    sendTimeoutMs: SEND_TIMEOUT_MS,
    idleMaxMs: KEEP_ALIVE_MS + options.headersTimeout,
    onCut: (reason) => tally.cut(reason),
  });
  const quota = new Quota(parts.limiter, settings.quota, wallMs);
  const routeParts = routePartsOf(parts, quota);
  const pipeline = new Pipeline({
    connections,
    directory,
    quota,
    routeParts,
    tracer,
    tally,
    requestLog,
    log,
    settings,
    wallMs,
  });
  server.on("request", (request, response) => pipeline.run(request, response));
  // Before Node's own listener, which reports it as "clientError": without a handshake nothing can be sent, and `end` would never finish.
  server.prependListener("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  server.on("clientError", brokenRequestAnswer(connections, requestLog));
  return server;
}

function routePartsOf(parts: ApiParts, quota: Quota): RouteParts {
  const { limiter, directory, store, tally, topIdentifiers, usage, live, server, settings, wallMs } = parts;
  return {
    decisions: new Decisions({ limiter, directory, store, quota, tally, topIdentifiers, usage }),
    directory,
    store,
    quota,
    topIdentifiers,
    turnstiles: { audit: new Turnstile(), rankings: new Turnstile() },
    overrideCaps: settings.overrideCaps,
    live,
    server,
    environment: SYSTEM,
    wallMs,
  };
}
